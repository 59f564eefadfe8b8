import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Health } from "../../services/admission/Health.ts"
import { RoutingEngine } from "../../services/routing/Engine.ts"
import { Api } from "../api/Api.ts"
import { worded } from "../response/PublicErrors.ts"

export const HealthHandlers = HttpApiBuilder.group(
  Api,
  "health",
  Effect.fn(function*(handlers) {
    const health = yield* Health
    const engine = yield* RoutingEngine

    const ready = () =>
      Effect.all([health.ready, engine.status], { concurrency: 2 }).pipe(
        Effect.map(([state, routingEngine]) => ({ status: "ok" as const, ...state, routingEngine })),
        worded
      )

    return handlers.handleAll({
      health: ready,
      ready,
      live: () => Effect.succeed({ status: "ok" as const })
    })
  })
)
