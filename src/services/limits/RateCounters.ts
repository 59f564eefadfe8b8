import { Cache, Clock, Context, Duration, Effect, Layer } from "effect"
import { RateLimiter } from "effect/persistence"
import { RATE_WINDOW_SECONDS } from "../../schema/Limits.ts"
import { ownText } from "../keys/OwnText.ts"

export class CounterState extends Context.Service<CounterState, {
  readonly get: Effect.Effect<"process" | "redis" | "redis-away">
}>()("route-planning-service/CounterState") {}

const MAX_KEYS = 100_000

const WINDOW = Duration.seconds(RATE_WINDOW_SECONDS)

interface Counter {
  used: number
  readonly endsAt: number
}

/**
 * Fixed windows that begin with the first request. Effect's store in memory never forgets a key: a client with many
 * addresses could fill it. Refused requests do not count.
 */
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
