import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Api } from "../api/Api.ts"
import { Status } from "../api/HealthApi.ts"

const { live } = Api.groups.health.endpoints

/**
 * Responds to what never differs before it is routed, decoded and encoded: a quarter of the work of `GET /health/live`
 * (decision 0015). Anything else about it, such as a query, is for its handler.
 */
export const preparedResponsesLayer = HttpRouter.middleware(
  Effect.gen(function*() {
    const alive = Effect.succeed(yield* Effect.orDie(HttpServerResponse.schemaJson(Status)({ status: "ok" })))
    return (httpEffect) =>
      Effect.flatMap(
        HttpServerRequest.HttpServerRequest,
        ({ method, url }) => url === live.path && method === live.method ? alive : httpEffect
      )
  }),
  { global: true }
)
