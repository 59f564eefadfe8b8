import { NodeRedis } from "@effect/platform-node"
import { Clock, Config, Context, Effect, Exit, Layer, Option, Redacted, Ref, Schedule, Schema, Scope } from "effect"
import { RateLimiter } from "effect/persistence"
import { CounterState, processCountersLayer } from "../services/limits/RateCounters.ts"

/** A count that Redis does not give soon is worth less than the request that waits for it. */
const PATIENCE = "250 millis"

const COMPLAINT_INTERVAL = 60_000

type Store = RateLimiter.RateLimiterStore["Service"]

/** Commands fail at once while Redis is away; the client reconnects by itself once it was connected. */
const connect = Effect.fnUntraced(function*(url: Redacted.Redacted) {
  const scope = yield* Scope.fork(yield* Effect.scope)
  const layer = RateLimiter.layerStoreRedis({ prefix: "route-planning-service:limit:" }).pipe(
    Layer.provide(NodeRedis.layer({ url: Redacted.value(url), disableOfflineQueue: true }))
  )
  const context = yield* Layer.buildWithScope(layer, scope).pipe(
    Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
  )
  return Context.get(context, RateLimiter.RateLimiterStore)
})

/**
 * Counters that several processes share. While Redis is away this process counts alone, says so once a minute, and goes
 * back when it can.
 */
const sharedStore = Effect.fnUntraced(function*(url: Redacted.Redacted) {
  const own = yield* RateLimiter.RateLimiterStore
  const shared = yield* Ref.make(Option.none<Store>())
  const lastComplaint = yield* Ref.make(-COMPLAINT_INTERVAL)
  const isAway = yield* Ref.make(true)

  // Its cause may hold the address of Redis, and with it a password.
  const complain = Effect.gen(function*() {
    yield* Ref.set(isAway, true)
    const now = yield* Clock.currentTimeMillis
    const last = yield* Ref.getAndUpdate(lastComplaint, (last) => now - last >= COMPLAINT_INTERVAL ? now : last)
    if (now - last >= COMPLAINT_INTERVAL) {
      yield* Effect.logWarning("Redis is not reachable: this process counts its rate limits alone")
    }
  })

  yield* connect(url).pipe(
    Effect.flatMap((store) => Ref.set(shared, Option.some(store))),
    Effect.andThen(Ref.set(isAway, false)),
    Effect.tapError(() => complain),
    Effect.retry(Schedule.spaced("2 seconds")),
    Effect.forkScoped
  )

  const store = RateLimiter.RateLimiterStore.of({
    ...own,
    fixedWindow: (options) =>
      Effect.flatMap(
        Ref.get(shared),
        Option.match({
          onNone: () => own.fixedWindow(options),
          onSome: (store) =>
            store.fixedWindow(options).pipe(
              Effect.timeout(PATIENCE),
              Effect.tap(() => Ref.set(isAway, false)),
              Effect.catch(() => Effect.andThen(complain, own.fixedWindow(options)))
            )
        })
      )
  })
  return Context.make(RateLimiter.RateLimiterStore, store).pipe(
    Context.add(CounterState, { get: Effect.map(Ref.get(isAway), (away) => away ? "redis-away" : "redis") })
  )
})

const RedisUrl = Schema.String.check(
  Schema.makeFilter((text) =>
    URL.canParse(text) && /^rediss?:$/.test(new URL(text).protocol) ? undefined : "Expected a redis or rediss URL"
  )
)

/** Where several processes count together (`REDIS_URL`). */
export const redisUrl = Config.option(Config.map(Config.schema(RedisUrl, "REDIS_URL"), (url) => Redacted.make(url)))

/** In Redis where `REDIS_URL` is set, in this process where not. */
export const rateCountersLayer = Layer.unwrap(
  Effect.map(redisUrl, (url) =>
    Option.isNone(url)
      ? processCountersLayer
      : Layer.effectContext(sharedStore(url.value)).pipe(Layer.provide(processCountersLayer)))
)
