import { Context, Effect, Function, Layer, Option, Schema } from "effect"
import { HttpMethod, HttpServerRequest, HttpServerResponse } from "effect/http"
import { type HttpApiEndpoint, HttpApiError } from "effect/http-api"
import { type Unavailable, UnsupportedMediaType, ValidationFailed } from "../../schema/Errors.ts"
import type { ValidationIssue } from "../../schema/Issues.ts"
import { JSON_LIMITS } from "../../schema/Limits.ts"
import { MEDIA_TYPES, mediaTypeOf } from "../../schema/MediaTypes.ts"
import type { HeavyJob } from "../../services/admission/HeavyJob.ts"
import { HeavyWork } from "../../services/admission/HeavyWork.ts"
import { digestOf, ignoredMembers, type LongBody, refusalsBy } from "../../services/bodies/BoundedJson.ts"
import { excessOf, type TextLimits } from "../../services/bodies/JsonScanner.ts"
import { readBareLine, readNewRoute, readRoutePatch } from "../../services/routes/RouteJobs.ts"
import { readTrace } from "../../services/routing/EngineJobs.ts"
import { readRouteBatch } from "../../services/sync/BatchJobs.ts"
import { withText } from "../../upstream/RequestText.ts"
import { HEADERS } from "../api/Headers.ts"
import { BodyLimit, JsonBody, LongBodies, type LongBodyKind } from "../api/Requests.ts"
import { BodyParts, decodeUtf8, type Parts, RequestBodies } from "../request/RequestBodies.ts"
import { changeResponse } from "../request/ResponseChange.ts"
import { worded } from "../response/PublicErrors.ts"

const OTHER_CHARSET = /;\s*charset\s*=(?!\s*"?(?:utf-?8|us-ascii)"?\s*(?:;|$))/i

const isUtf8Json = (contentType = "") =>
  mediaTypeOf(contentType) === MEDIA_TYPES.json && !OTHER_CHARSET.test(contentType)

const checkType = ({ headers }: HttpServerRequest.HttpServerRequest) =>
  isUtf8Json(headers["content-type"])
    ? Effect.void
    : Effect.fail(new UnsupportedMediaType({ message: `Content-Type: expected ${MEDIA_TYPES.json}, in UTF-8` }))

interface ReadBody {
  readonly text: string
  readonly parts: Parts
  /** Returns all issues of a text that the framework's decoder refused. */
  readonly refusals: () => ReadonlyArray<ValidationIssue>
}

const LONG_BODIES: Record<LongBodyKind, HeavyJob<ArrayBuffer, LongBody<Omit<Parts, "digest">>>> = {
  line: readBareLine,
  newRoute: readNewRoute,
  routeBatch: readRouteBatch,
  routePatch: readRoutePatch,
  trace: readTrace
}

/** Finds the issues where the body is read, so that no long value returns from a thread. */
const readByJob = Effect.fnUntraced(function*(
  heavy: HeavyWork["Service"],
  bytes: ArrayBuffer,
  kind: LongBodyKind
): Effect.fn.Return<ReadBody, Unavailable> {
  const { digest, issues, parts, text } = yield* worded(
    heavy.run(LONG_BODIES[kind], bytes, bytes.byteLength, [bytes])
  )
  return { text, parts: { ...parts, digest: () => digest }, refusals: () => issues }
})

const refusalsOf = Function.memoize(({ payload }: HttpApiEndpoint.Top) => {
  const schemas = [...payload.values()].flatMap(({ schemas }) => schemas)
  const [only] = schemas
  // A union of one schema would report less about a value of another type.
  return refusalsBy(only !== undefined && schemas.length === 1 ? only : Schema.Union(schemas))
})

/** A short body has fewer values than the schema of a long one leaves to spare. */
const SHORT: TextLimits = { depth: JSON_LIMITS.depth, values: JSON_LIMITS.spareValues }

const readShort = Effect.fnUntraced(function*(
  bytes: ArrayBuffer,
  endpoint: HttpApiEndpoint.Top
): Effect.fn.Return<ReadBody, ValidationFailed> {
  const excess = excessOf(new Uint8Array(bytes), SHORT)
  if (excess !== undefined) return yield* ValidationFailed.of("body", [excess])
  const text = yield* decodeUtf8(bytes)
  return { text, parts: { digest: () => digestOf(bytes) }, refusals: () => refusalsOf(endpoint)(text) }
})

const parsed = Option.liftThrowable((text: string): unknown => JSON.parse(text))

/** A line of numbers has most of the bytes of a route, and no members. */
const LINE = /"geometry"\s*:\s*\[[-+.\deE,[\]\s]*\]/g

const parsedWithoutLines = (bytes: ArrayBuffer) => {
  const text = new TextDecoder().decode(bytes)
  return Option.orElse(parsed(text.replace(LINE, "\"geometry\":[]")), () => parsed(text))
}

/** A longer body is read in a thread, which returns no more of it than is known. */
const NAMED_BYTES = 64 * 1024

const ignoredIn = Function.memoize((endpoint: HttpApiEndpoint.Top) =>
  ignoredMembers([...endpoint.payload.values()].flatMap(({ schemas }) => schemas), [...endpoint.success])
)

/** A proxy refuses a response whose headers have more than 4 KiB, although the write was made. */
const MAX_HEADER_LENGTH = 1024

/** A client may have misspelt a member that is ignored. */
const nameIgnored = Effect.fnUntraced(function*(endpoint: HttpApiEndpoint.Top, bytes: ArrayBuffer) {
  const ignored = bytes.byteLength > NAMED_BYTES ? [] : Option.match(parsedWithoutLines(bytes), {
    onNone: () => [],
    onSome: ignoredIn(endpoint)
  })
  if (ignored.length === 0) return
  const words = ignored.map(({ meant, path }) =>
    `${encodeURI(path.toWellFormed())}${meant === undefined ? "" : ` (did you mean ${meant}?)`}`
  )
  const named = words.join(", ").slice(0, MAX_HEADER_LENGTH)
  yield* changeResponse(HttpServerResponse.setHeader(HEADERS.ignoredMembers.key, named))
})

const refused = (issues: ReadonlyArray<ValidationIssue>) =>
  issues.length === 0 ? Effect.void : Effect.fail(ValidationFailed.of("body", issues))

/** The framework accepts any type, any size and invalid UTF-8, and stops at the first issue. */
export const jsonBodyLayer = Layer.effect(
  JsonBody,
  Effect.gen(function*() {
    const heavy = yield* HeavyWork
    const bodies = yield* RequestBodies
    return (httpEffect, { endpoint }) => {
      if (!HttpMethod.hasBody(endpoint.method) || endpoint.payload.size === 0) return httpEffect
      const limitBytes = Context.get(endpoint.annotations, BodyLimit)
      const kind = Context.get(endpoint.annotations, LongBodies)
      return Effect.gen(function*() {
        const request = yield* HttpServerRequest.HttpServerRequest
        yield* checkType(request)
        const bytes = yield* bodies.read(request, limitBytes)
        yield* nameIgnored(endpoint, bytes)
        const { parts, refusals, text } = kind === undefined
          ? yield* readShort(bytes, endpoint)
          : yield* readByJob(heavy, bytes, kind)
        return yield* httpEffect.pipe(
          Effect.provideService(HttpServerRequest.HttpServerRequest, withText(request, text)),
          Effect.provideService(BodyParts, parts),
          Effect.tapError((error) =>
            HttpApiError.HttpApiSchemaError.is(error) && error.kind === "Payload" ? refused(refusals()) : Effect.void
          )
        )
      })
    }
  })
)
