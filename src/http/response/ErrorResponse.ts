import { Duration, Effect, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { Internal, NotFound, ServiceError, Unavailable } from "../../schema/Errors.ts"
import { RequestNotes } from "../../services/operations/RequestNotes.ts"
import { HEADERS } from "../api/Headers.ts"

export const encodeError = Schema.encodeSync(ServiceError)

const allow = ({ details, statusCode }: ServiceError) =>
  statusCode === 405 ? { allow: details?.allowed?.join(", ") ?? "" } : {}

export const noteError = (error: ServiceError): Effect.Effect<ServiceError> =>
  Effect.map(RequestNotes, (notes) => {
    const { code, details: { reason } = {} } = error
    notes.error = reason === undefined ? { code } : { code, reason }
    return error
  })

/** Writes a cause that a response hides into the notes of the request. */
export const noteCause = (cause: string): Effect.Effect<void> =>
  Effect.map(RequestNotes, (notes) => void (notes.fault = { cause }))

export const retryAfter = (details: Readonly<Record<string, unknown>> = {}) =>
  typeof details["retryAfterSeconds"] === "number"
    ? { [HEADERS.retryAfter.key]: String(details["retryAfterSeconds"]) }
    : {}

export const isFault = (error: ServiceError): boolean => error.statusCode >= 500

/** Renders an error, a 5xx with its trace id and, if known, `Retry-After`. Each run reuses the encoded error. */
export const respond = (error: ServiceError): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const encoded = encodeError(error)
  const headers = isFault(error) ? retryAfter(encoded.details) : allow(error)
  const bodyWith = (traceId: string) =>
    isFault(error) ? { ...encoded, details: { ...encoded.details, traceId } } : encoded
  return Effect.andThen(
    noteError(error),
    Effect.map(
      RequestNotes,
      ({ id }) => HttpServerResponse.jsonUnsafe(bodyWith(id), { status: error.statusCode, headers })
    )
  )
}

export const internalError = () => new Internal({ message: "Internal error" })

export const unknownPath = (meant?: string) =>
  new NotFound({ message: meant === undefined ? "No such path" : `No such path: expected ${meant}` })

export const DATABASE_RETRY_AFTER = Duration.seconds(1)

export const databaseUnavailable = () => Unavailable.retryAfter("The database is not available", DATABASE_RETRY_AFTER)
