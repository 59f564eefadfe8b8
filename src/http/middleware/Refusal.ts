import { Context, Effect } from "effect"
import { HttpRouter, type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { ServiceError } from "../../schema/Errors.ts"
import { respond } from "../response/ErrorResponse.ts"

/**
 * What a transport finds wrong with a request before its path is looked at, such as a second `Host` header. A request that
 * never was bytes on a socket has no such faults.
 */
export const TransportRules = Context.Reference<
  (request: HttpServerRequest.HttpServerRequest) => ServiceError | undefined
>("route-planning-service/TransportRules", { defaultValue: () => () => undefined })

/** Why the current request is refused before its path is looked at; usually undefined. */
export const Refusal = Context.Reference<ServiceError | undefined>("route-planning-service/Refusal", {
  defaultValue: () => undefined
})

/** The connection closes: whatever follows such a request on it cannot be relied on. */
const closing = (error: ServiceError) => Effect.map(respond(error), HttpServerResponse.setHeader("connection", "close"))

export const refusalLayer = HttpRouter.middleware(
  (httpEffect) => Effect.flatMap(Refusal, (error) => error === undefined ? httpEffect : closing(error)),
  { global: true }
)
