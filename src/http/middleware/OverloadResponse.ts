import { Duration, Effect } from "effect"
import { Unavailable } from "../../schema/Errors.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import { HEADERS } from "../api/Headers.ts"
import { encodeError, retryAfter } from "../response/ErrorResponse.ts"
import { corsHeaders, type CorsRequest } from "./Cors.ts"
import { defaultHeaders } from "./ResponseHeaders.ts"

const RETRY_AFTER = Duration.seconds(1)

const overloaded = Unavailable.retryAfter("The service has too many requests: try again", RETRY_AFTER)

type Headers = Readonly<Record<string, string | number>>

export const overloadResponse = Effect.gen(function*() {
  const cors = yield* corsHeaders
  const error = encodeError(overloaded)
  // Node sends a string in one write with the headers, which saves a fifth of the work.
  const body = JSON.stringify(error)
  const headers: Headers = {
    ...(yield* defaultHeaders),
    ...retryAfter(error.details),
    "content-type": MEDIA_TYPES.json,
    "content-length": Buffer.byteLength(body),
    [HEADERS.vary.key]: cors.varies.join(", ")
  }
  return { body, headersFor: (request: CorsRequest): Headers => ({ ...headers, ...cors.headersFor(request) }) }
})
