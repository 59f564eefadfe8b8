import { Context, Duration, Effect, Layer, Metric } from "effect"
import { RateLimiter } from "effect/persistence"
import { RATE_TIERS, RATE_WINDOW_SECONDS, type RateTier } from "../../schema/Limits.ts"
import { counterBy } from "../metrics/Counters.ts"
import { settings } from "../settings/Registry.ts"

export interface RateLimit {
  readonly tier: RateTier
  readonly limit: number
  readonly remaining: number
  readonly resetSeconds: number
  readonly isExceeded: boolean
}

const refusalsOf = counterBy<RateTier>(
  "rate_limit_refusals_total",
  "tier",
  "Requests that were refused because there were too many"
)

const REFUSALS: Readonly<Record<RateTier, Metric.Counter<number>>> = {
  auth: refusalsOf("auth"),
  strict: refusalsOf("strict"),
  moderate: refusalsOf("moderate"),
  default: refusalsOf("default")
}

export class RateLimits extends Context.Service<RateLimits, {
  /** Up to `factor` times the limit. Refused requests do not count. Undefined when limits are off. */
  readonly count: (
    tier: RateTier,
    subject: string,
    endpoint: string,
    factor?: number
  ) => Effect.Effect<RateLimit | void>
}>()("route-planning-service/RateLimits") {
  static readonly layer = Layer.effect(
    RateLimits,
    Effect.gen(function*() {
      const isEnabled = yield* settings.RATE_LIMITS_ENABLED
      const limiter = yield* RateLimiter.RateLimiter
      yield* Effect.forEach(Object.values(REFUSALS), (counter) => Metric.update(counter, 0), { discard: true })

      const consume = (tier: RateTier, limit: number, key: string) =>
        limiter.consume({ window: Duration.seconds(RATE_WINDOW_SECONDS), limit, key }).pipe(
          Effect.map(({ remaining, resetAfter }) => toRateLimit(tier, limit, remaining, resetAfter, false)),
          Effect.catch(({ reason }) =>
            reason._tag === "RateLimitExceeded"
              ? Effect.as(Metric.update(REFUSALS[tier], 1), toRateLimit(tier, limit, 0, reason.retryAfter, true))
              : Effect.die(reason)
          )
        )

      return RateLimits.of({
        count: (tier, subject, endpoint, factor = 1) =>
          isEnabled ? consume(tier, RATE_TIERS[tier] * factor, `${endpoint} ${subject}`) : Effect.void
      })
    })
  ).pipe(Layer.provide(RateLimiter.layer))
}

/** Rounded up: a client that waits so long is never refused. */
const toRateLimit = (
  tier: RateTier,
  limit: number,
  remaining: number,
  reset: Duration.Duration,
  isExceeded: boolean
): RateLimit => ({
  tier,
  limit,
  remaining,
  resetSeconds: Math.max(1, Math.ceil(Duration.toSeconds(reset))),
  isExceeded
})
