import { Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { NotFound, ServiceError } from "../schema/Errors.ts"

const encode = Schema.encodeSync(ServiceError)

/** Renders an error in the one shape. */
export const toResponse = (error: ServiceError): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(encode(error), { status: error.statusCode })

/** What every unknown path is answered with, whatever finds that it is unknown. */
export const unknownPath = () => new NotFound({ message: "No such path" })
