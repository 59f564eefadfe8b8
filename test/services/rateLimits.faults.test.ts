import { assert, it } from "@effect/vitest"
import { Clock, ConfigProvider, Context, Effect, Fiber, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { rateCountersLayer } from "../../src/layers/Redis.ts"
import { CounterState, RateLimits } from "../../src/services/admission/RateLimits.ts"
import { type RedisMode, StandInRedis } from "../support/StandInRedis.ts"
import { until } from "../support/Waiting.ts"

/** Starts a process that counts in the stand-in, whether it can be reached or not. */
const counting = Effect.gen(function*() {
  const { url } = yield* StandInRedis
  const context = yield* Layer.build(
    RateLimits.layer.pipe(
      Layer.provideMerge(rateCountersLayer),
      Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ REDIS_URL: url })))
    )
  )
  return { count: Context.get(context, RateLimits).count, state: Context.get(context, CounterState).get }
})

const become = (mode: RedisMode) => Effect.flatMap(StandInRedis, (redis) => redis.become(mode))

const FAULTS: ReadonlyArray<readonly [string, Effect.Effect<void, never, StandInRedis>]> = [
  ["hangs", become("hang")],
  ["refuses connections", Effect.flatMap(StandInRedis, ({ down }) => down)],
  ["sends a byte each 100 ms", become("drip")],
  ["sends what is not RESP", become("garbage")],
  ["replies with what is no count", become("wrong")],
  ["sends a reply without end", become("endless")]
]

const onStandIn = Effect.provide([StandInRedis.layer, Logger.layer([])])

/** Lets the time pass in which connections are checked and replaced. */
const passing = TestClock.adjust("250 millis")

for (const [fault, begin] of FAULTS) {
  it.effect(`a Redis that ${fault} delays the first requests alone, and is used again when it is back`, () =>
    Effect.gen(function*() {
      const redis = yield* StandInRedis
      const { count, state } = yield* counting
      yield* until(Effect.map(state, (state) => state === "redis"))

      yield* begin
      const first = yield* Effect.forkChild(count("moderate", "somebody", "GET /x"))
      yield* until(Effect.andThen(passing, Effect.sync(() => first.pollUnsafe() !== undefined)))
      assert.isFalse((yield* Fiber.join(first))?.isExceeded)
      assert.strictEqual(yield* state, "redis-away")

      // The clock stands still: a request that waited for Redis would never end.
      for (let n = 0; n < 100; n++) yield* count("moderate", `visitor ${n}`, "GET /x")
      // Nothing that hangs is kept, and nothing piles up.
      for (let n = 0; n < 40; n++) {
        yield* passing
        yield* Effect.yieldNow
      }
      assert.isAtMost(yield* redis.connections, 1)

      yield* become("serve")
      yield* redis.up
      yield* until(Effect.andThen(passing, Effect.map(state, (state) => state === "redis")))
      const before = yield* redis.counts
      yield* count("moderate", "somebody", "GET /x")
      assert.isAbove(yield* redis.counts, before)
    }).pipe(onStandIn, Effect.scoped))
}

it.effect("a request waits for a Redis that hangs for at most 0.1 seconds", () =>
  Effect.gen(function*() {
    const redis = yield* StandInRedis
    const { count, state } = yield* counting
    yield* until(Effect.map(state, (state) => state === "redis"))
    yield* redis.become("hang")
    const first = yield* Effect.forkChild(count("moderate", "somebody", "GET /x"))
    const began = yield* Clock.currentTimeMillis
    yield* until(
      Effect.andThen(TestClock.adjust("10 millis"), Effect.sync(() => first.pollUnsafe() !== undefined))
    )
    assert.isAtMost((yield* Clock.currentTimeMillis) - began, 100)
  }).pipe(onStandIn, Effect.scoped))

it.effect("a process that ends while Redis hangs does not wait for its replies", () =>
  Effect.gen(function*() {
    const redis = yield* StandInRedis
    yield* Effect.scoped(Effect.gen(function*() {
      const { count, state } = yield* counting
      yield* until(Effect.map(state, (state) => state === "redis"))
      yield* redis.become("hang")
      const pending = yield* Effect.forkChild(count("moderate", "somebody", "GET /x"))
      yield* Effect.yieldNow
      yield* Fiber.interrupt(pending)
    }))
    yield* until(Effect.map(redis.connections, (connections) => connections === 0))
  }).pipe(onStandIn, Effect.scoped))
