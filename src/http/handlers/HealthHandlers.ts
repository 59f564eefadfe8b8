import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Health } from "../../services/Health.ts"
import { Api } from "../api/Api.ts"

const ok = { status: "ok" } as const

export const HealthHandlers = HttpApiBuilder.group(
  Api,
  "health",
  Effect.fn(function*(handlers) {
    const health = yield* Health
    const ready = () => Effect.as(health.ready, ok)
    return handlers.handleAll({ health: ready, ready, live: () => Effect.succeed(ok) })
  })
)
