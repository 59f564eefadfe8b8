import { Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { ServiceError } from "../schema/Errors.ts"

const encode = Schema.encodeSync(ServiceError)

/** Renders an error in the one shape. */
export const toResponse = (error: ServiceError): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(encode(error), { status: error.statusCode })
