import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Context, Effect, Layer, Logger } from "effect"
import { rateCountersLayer } from "../../src/layers/Redis.ts"
import { CounterState, RateLimits } from "../../src/services/admission/RateLimits.ts"
import { hasRedis, RedisServer } from "../support/RedisServer.ts"
import { until } from "../support/Waiting.ts"

/** Starts one process of several that count in one Redis. */
const replica = Effect.gen(function*() {
  const { url } = yield* RedisServer
  const context = yield* Layer.build(
    Layer.fresh(RateLimits.layer.pipe(
      Layer.provideMerge(rateCountersLayer),
      Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ REDIS_URL: url })))
    ))
  )
  return { count: Context.get(context, RateLimits).count, state: Context.get(context, CounterState).get }
})

type Replica = Effect.Success<typeof replica>

const count = (replica: Replica, subject: string) => replica.count("moderate", subject, "GET /x")

/** Returns how many of many requests at once, half to each replica, are let through. */
const admitted = Effect.fnUntraced(function*(replicas: ReadonlyArray<Replica>, subject: string) {
  const calls = Array.from({ length: 200 }, (_, n) => replicas[n % replicas.length])
  const limits = yield* Effect.forEach(
    calls.filter((replica) => replica !== undefined),
    (replica) => count(replica, subject),
    { concurrency: "unbounded" }
  )
  return limits.filter((limit) => limit !== undefined && !limit.isExceeded).length
})

const statesOf = (replicas: ReadonlyArray<Replica>) => Effect.forEach(replicas, ({ state }) => state)

/** Both replicas are connected when a count of one is seen by the other. */
const connected = (replicas: ReadonlyArray<Replica>, label: string) =>
  Effect.gen(function*() {
    const subject = `${label}-${yield* Effect.sync(() => performance.now())}`
    const limits = yield* Effect.forEach(replicas, (replica) => count(replica, subject))
    return limits.at(-1)?.remaining === 60 - replicas.length
  }).pipe(until)

describe.skipIf(!hasRedis)("limits counted in Redis (skipped where there is no redis-server)", () => {
  it.live("are exact over several processes, go on without Redis, and go back to it", () =>
    Effect.gen(function*() {
      const redis = yield* RedisServer
      const replicas = [yield* replica, yield* replica]
      yield* connected(replicas, "start")
      assert.strictEqual(yield* admitted(replicas, "user:1"), 60)
      assert.deepStrictEqual(yield* statesOf(replicas), ["redis", "redis"])

      yield* redis.stop
      assert.strictEqual(yield* admitted(replicas, "user:2"), 120)
      assert.deepStrictEqual(yield* statesOf(replicas), ["redis-away", "redis-away"])

      yield* redis.start
      yield* connected(replicas, "again")
      assert.strictEqual(yield* admitted(replicas, "user:3"), 60)
    }).pipe(Effect.provide([RedisServer.layer, Logger.layer([])]), Effect.scoped))

  it.live("begin without Redis, and use it when it comes", () =>
    Effect.gen(function*() {
      const redis = yield* RedisServer
      yield* redis.stop
      const replicas = [yield* replica, yield* replica]
      assert.strictEqual(yield* admitted(replicas, "user:1"), 120)
      yield* redis.start
      yield* connected(replicas, "late")
      assert.strictEqual(yield* admitted(replicas, "user:2"), 60)
    }).pipe(Effect.provide([RedisServer.layer, Logger.layer([])]), Effect.scoped))
})
