import { Effect, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { NotFound, ServiceError } from "../../schema/Errors.ts"
import { HEADERS } from "../api/Headers.ts"

export const encodeError = Schema.encodeSync(ServiceError)

/** Renders an error in the one shape. */
export const toResponse = (error: ServiceError): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(encodeError(error), { status: error.statusCode })

/** The `Retry-After` of an error whose details say when to try again. */
export const retryAfter = (details: Readonly<Record<string, unknown>> = {}) =>
  typeof details["retryAfterSeconds"] === "number"
    ? { [HEADERS.retryAfter.key]: String(details["retryAfterSeconds"]) }
    : {}

/** Whether an error is a fault of the service, or of a part behind it. */
export const isFault = (error: ServiceError): boolean => error.statusCode >= 500

/** Renders an error. A fault names the trace by which an operator finds the rest, and when to try again, if known. */
export const respond = Effect.fnUntraced(function*(error: ServiceError) {
  if (!isFault(error)) return toResponse(error)
  const { traceId } = yield* Effect.orDie(Effect.currentParentSpan)
  const encoded = encodeError(error)
  return HttpServerResponse.jsonUnsafe({ ...encoded, details: { ...encoded.details, traceId } }, {
    status: error.statusCode,
    headers: retryAfter(encoded.details)
  })
})

/** What every unknown path is answered with, whatever finds that it is unknown. */
export const unknownPath = () => new NotFound({ message: "No such path" })
