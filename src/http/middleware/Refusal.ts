import { Context, Effect } from "effect"
import { HttpRouter, type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { ServiceError } from "../../schema/Errors.ts"
import { respond } from "../response/ErrorResponse.ts"

/** Violations of HTTP that are checked before the path, such as a second `Host` header. */
export const TransportRules = Context.Reference<
  (request: HttpServerRequest.HttpServerRequest) => ServiceError | undefined
>("route-planning-service/TransportRules", { defaultValue: () => () => undefined })

export const Refusal = Context.Reference<ServiceError | undefined>("route-planning-service/Refusal", {
  defaultValue: () => undefined
})

/** Closes the connection: the bytes after such a request cannot be trusted. */
const closing = (error: ServiceError) => Effect.map(respond(error), HttpServerResponse.setHeader("connection", "close"))

export const refusalLayer = HttpRouter.middleware(
  (httpEffect) => Effect.flatMap(Refusal, (error) => error === undefined ? httpEffect : closing(error)),
  { global: true }
)
