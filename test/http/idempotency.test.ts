import { assert, layer } from "@effect/vitest"
import { ConfigProvider, Deferred, Duration, Effect, Exit, Fiber, Layer, Random, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { databaseLive } from "../../src/layers/Database.ts"
import { UserId } from "../../src/schema/Ids.ts"
import {
  IdempotencyKeys,
  LongestWait,
  type RepeatableCall,
  type StoredResponse
} from "../../src/services/admission/IdempotencyKeys.ts"
import { Lanes } from "../../src/services/admission/Lanes.ts"
import { signedIn } from "../support/Actors.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const RESPONSE: StoredResponse = { status: 201, headers: { etag: "\"1\"" }, body: "{\"made\":1}" }

const keysLayer = Layer.unwrap(Effect.map(clonedDatabase, (url) =>
  IdempotencyKeys.layer.pipe(
    Layer.provideMerge(Lanes.layer),
    Layer.provideMerge(databaseLive),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ DATABASE_URL: url, DATABASE_POOL_SIZE: "4" })))
  )))

/** Makes a call of a new user. */
const callOf = Effect.fnUntraced(function*(key: string) {
  const sql = yield* SqlClient.SqlClient
  const [user] = yield* sql<{ id: number }>`
    INSERT INTO users (email, email_key, email_verified_at, name, handle, created_at, updated_at)
    VALUES (${key}, ${key}, now(), 'Rider', ${key}, now(), now()) RETURNING id`
  const call: RepeatableCall = {
    userId: UserId.make(Number(user?.id)),
    endpoint: "POST /things",
    key,
    requestHash: "the same request"
  }
  return call
})

/** The work has an effect in the database; it begins, and ends when it is let. */
const heldWork = Effect.fnUntraced(function*({ userId }: RepeatableCall) {
  const sql = yield* SqlClient.SqlClient
  const begun = yield* Deferred.make<void>()
  const letGo = yield* Deferred.make<void>()
  const work = sql`UPDATE users SET name = name || '+' WHERE id = ${userId}`.pipe(
    Effect.andThen(Deferred.succeed(begun, undefined)),
    Effect.andThen(Deferred.await(letGo)),
    Effect.as(RESPONSE),
    Effect.orDie
  )
  const name = Effect.map(
    sql<{ name: string }>`SELECT name FROM users WHERE id = ${userId}`,
    ([row]) => row?.name
  )
  return { work, begun: Deferred.await(begun), letGo: Deferred.succeed(letGo, undefined), name }
})

layer(keysLayer)("a call with an Idempotency-Key", (it) => {
  it.effect("goes on when its client hangs up, and has its response when the client repeats it", () =>
    Effect.gen(function*() {
      const keys = yield* IdempotencyKeys
      const call = yield* callOf("goes-away")
      const held = yield* heldWork(call)
      const first = yield* Effect.forkChild(keys.once(call, held.work))
      yield* held.begun
      yield* Fiber.interrupt(first)
      yield* held.letGo
      yield* until(Effect.map(held.name, (name) => name === "Rider+"))
      assert.deepStrictEqual(yield* keys.once(call, held.work), RESPONSE)
      assert.strictEqual(yield* held.name, "Rider+")
    }))

  it.effect("that is cut off with its connection leaves nothing, and its key is free at once", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const keys = yield* IdempotencyKeys
      const call = yield* callOf("cut-off")
      const held = yield* heldWork(call)
      const first = yield* Effect.forkChild(keys.once(call, held.work))
      yield* held.begun
      yield* sql`
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND state = 'idle in transaction'`
      yield* held.letGo
      assert.isTrue(Exit.isFailure(yield* Fiber.await(first)))
      assert.strictEqual(yield* held.name, "Rider")
      assert.deepStrictEqual(yield* keys.once(call, held.work), RESPONSE)
      assert.strictEqual(yield* held.name, "Rider+")
    }))

  it.effect("that a process ends with leaves nothing, and another process does it at once", () =>
    Effect.gen(function*() {
      const keys = yield* IdempotencyKeys
      const call = yield* callOf("shutdown")
      const held = yield* heldWork(call)
      const scope = yield* Scope.make()
      const ending = yield* Layer.buildWithScope(Layer.fresh(IdempotencyKeys.layer), scope)
      const first = yield* IdempotencyKeys.use(({ once }) => once(call, held.work)).pipe(
        Effect.provideContext(ending),
        Effect.forkChild
      )
      yield* held.begun
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(Exit.isFailure(yield* Fiber.await(first)))
      assert.strictEqual(yield* held.name, "Rider")
      yield* held.letGo
      assert.deepStrictEqual(yield* keys.once(call, held.work), RESPONSE)
      assert.strictEqual(yield* held.name, "Rider+")
    }))

  it.effect("waits for the first with its key, and gets the same response", () =>
    Effect.gen(function*() {
      const keys = yield* IdempotencyKeys
      const call = yield* callOf("waits")
      const held = yield* heldWork(call)
      const first = yield* Effect.forkChild(keys.once(call, held.work))
      yield* held.begun
      const second = yield* Effect.forkChild(keys.once(call, Effect.die("done twice")))
      yield* held.letGo
      yield* Fiber.join(first)
      assert.deepStrictEqual(yield* Fiber.join(second), RESPONSE)
    }))

  it.effect("waits no longer than it may", () =>
    Effect.gen(function*() {
      const keys = yield* IdempotencyKeys
      const call = yield* callOf("waits-long")
      const held = yield* heldWork(call)
      const first = yield* Effect.forkChild(keys.once(call, held.work))
      yield* held.begun
      const refusal = keys.once(call, Effect.die("done twice")).pipe(
        Effect.flip,
        Effect.provideService(LongestWait, Duration.millis(300))
      )
      assert.strictEqual((yield* refusal)._tag, "KeyInUse")
      yield* held.letGo
      yield* Fiber.join(first)
    }))
})

layer(TestServer.layer({ RATE_LIMIT_ENABLED: "false" }))(
  "a client that aborts and repeats its call until it gets a response",
  (it) => {
    it.effect("has each of its calls done exactly once", () =>
      Effect.gen(function*() {
        const { origin } = yield* TestServer
        const rider = yield* signedIn
        const calls = 40

        const mostAborted = 4

        // The last attempt waits for its response, so that the test ends on a busy machine too.
        const attempt = Effect.fnUntraced(function*(key: string, count: number) {
          const longest = yield* Random.nextIntBetween(1, 60)
          return yield* Effect.promise(() =>
            fetch(`${origin}/api/v1/routes`, {
              method: "POST",
              headers: { cookie: rider.cookie, "content-type": "application/json", "idempotency-key": key },
              body: JSON.stringify(newRoute({ name: key })),
              ...(count > mostAborted ? {} : { signal: AbortSignal.timeout(longest) })
            }).then(({ status }) => status, () => undefined)
          )
        })
        const untilAnswered = (key: string, count = 1): Effect.Effect<number> =>
          Effect.flatMap(
            attempt(key, count),
            (status) => status === undefined ? untilAnswered(key, count + 1) : Effect.succeed(status)
          )

        const keys = Array.from({ length: calls }, (_, n) => `aborted-${n}`)
        const statuses = yield* Effect.forEach(keys, (key) => untilAnswered(key), { concurrency: 10 })
        assert.deepStrictEqual([...new Set(statuses)], [201])
        assert.strictEqual((yield* rider.get("/routes?limit=1")).headers.get("x-total-count"), `${calls}`)
      }))
  }
)
