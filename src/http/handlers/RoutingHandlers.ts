import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Routing } from "../../services/routing/Routing.ts"
import { TraceMatching } from "../../services/routing/TraceMatching.ts"
import { Api } from "../api/Api.ts"

export const RoutingHandlers = HttpApiBuilder.group(
  Api,
  "routing",
  Effect.fn(function*(handlers) {
    const routing = yield* Routing
    const traces = yield* TraceMatching
    return handlers.handleAll({
      route: Effect.fnUntraced(function*({ payload }) {
        const { answer, isCached } = yield* routing.route(payload)
        return HttpServerResponse.jsonUnsafe(answer, { headers: { "x-cache": isCached ? "hit" : "miss" } })
      }),
      // Not through the schema: its encoder doubles the time that a response of 50,000 points takes (69 ms rather than 33).
      traceAttributes: ({ payload }) =>
        Effect.map(traces.match(payload), (match) => HttpServerResponse.jsonUnsafe(match))
    })
  })
)
