import { Effect, Option } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Health } from "../../services/Health.ts"
import { type EngineStatus, RoutingEngine } from "../../services/RoutingEngine.ts"
import { Api } from "../api/Api.ts"

/** A probe does not wait for what it can do without. */
const PATIENCE = "300 millis"

export const HealthHandlers = HttpApiBuilder.group(
  Api,
  "health",
  Effect.fn(function*(handlers) {
    const health = yield* Health
    const engine = yield* RoutingEngine

    const ready = () =>
      Effect.all([health.ready, Effect.timeoutOption(engine.status, PATIENCE)], { concurrency: 2 }).pipe(
        Effect.map(([, status]) => ({ status: "ok" as const, routingEngine: toState(Option.flatten(status)) }))
      )

    return handlers.handleAll({ health: ready, ready, live: () => Effect.succeed({ status: "ok" as const }) })
  })
)

const toState = (status: Option.Option<EngineStatus>) =>
  Option.match(status, {
    onNone: () => ({ status: "away" as const }),
    onSome: ({ tileset_last_modified, version }) => ({
      status: "ok" as const,
      version,
      tiles: new Date(tileset_last_modified * 1000).toISOString()
    })
  })
