import { Cache, Clock, Context, Duration, Effect, Layer, Metric, Struct } from "effect"
import { RateLimiter } from "effect/persistence"
import { RATE_TIERS, RATE_WINDOW_SECONDS, type RateTier } from "../../schema/Limits.ts"
import { ownText } from "../operations/Keys.ts"
import { atZero, countersBy } from "../operations/Metrics.ts"
import { settings } from "../operations/SettingsRegistry.ts"

export class CounterState extends Context.Service<CounterState, {
  readonly get: Effect.Effect<"process" | "redis" | "redis-away">
}>()("route-planning-service/CounterState") {}

const MAX_KEYS = 100_000

const WINDOW = Duration.seconds(RATE_WINDOW_SECONDS)

interface Counter {
  used: number
  readonly endsAt: number
}

/** Fixed windows begin with the first request. Effect's store never forgets a key, so many addresses could fill it. */
const boundedStore = Effect.gen(function*() {
  const store = yield* RateLimiter.RateLimiterStore
  const counters = yield* Cache.make({
    capacity: MAX_KEYS,
    timeToLive: WINDOW,
    lookup: (_key: string) =>
      Effect.map(
        Clock.currentTimeMillis,
        (now): Counter => ({ used: 0, endsAt: now + Duration.toMillis(WINDOW) })
      )
  })
  return RateLimiter.RateLimiterStore.of({
    ...store,
    fixedWindow: Effect.fnUntraced(function*({ key, limit, tokens }) {
      const counter = yield* Cache.get(counters, ownText(key))
      const remaining = counter.endsAt - (yield* Clock.currentTimeMillis)
      const used = counter.used + tokens
      if (limit === undefined || used <= limit) counter.used = used
      return [used, remaining]
    })
  })
})

export const processCountersLayer = Layer.effect(RateLimiter.RateLimiterStore, boundedStore).pipe(
  Layer.provide(RateLimiter.layerStoreMemory),
  Layer.merge(Layer.succeed(CounterState, { get: Effect.succeed("process" as const) }))
)

export interface RateLimit {
  readonly tier: RateTier
  readonly limit: number
  readonly remaining: number
  readonly resetSeconds: number
  readonly isExceeded: boolean
}

const REFUSALS = countersBy(
  "rate_limit_refusals_total",
  "tier",
  Struct.keys(RATE_TIERS),
  "Requests that were refused because there were too many"
)

export class RateLimits extends Context.Service<RateLimits, {
  /** Counts up to `factor` times the limit, without refused requests. Returns undefined when limits are off. */
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
      yield* atZero(Object.values(REFUSALS))

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

/** The time is rounded up: a client that waits so long is never refused. */
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
