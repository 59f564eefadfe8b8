import { Schema } from "effect"
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

/** What every unknown path is answered with, whatever finds that it is unknown. */
export const unknownPath = () => new NotFound({ message: "No such path" })
