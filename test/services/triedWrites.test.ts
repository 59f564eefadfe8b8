import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { SqlError } from "effect/sql"
import { TestClock } from "effect/testing"
import { makeTriedWrites } from "../../src/services/limits/TriedWrites.ts"

const failing = (code: string) =>
  Effect.die(
    new SqlError.SqlError({ reason: new SqlError.UnknownError({ cause: { code }, message: code, operation: "query" }) })
  )

const full = failing("53100")

const REFUSED = "refused"

const makeWrites = () => makeTriedWrites(Effect.fail(REFUSED))

/** How many of so many writes, one after the other, were worked on. */
const workedOn = (tried: ReturnType<typeof makeWrites>, write: Effect.Effect<unknown>, count: number) =>
  Effect.map(
    Effect.all(Array.from({ length: count }, () => Effect.exit(tried(write)))),
    (exits) => exits.filter((exit) => !Exit.hasFails(exit)).length
  )

describe("writes to a full disk", () => {
  it.effect("are worked on 16 times a second", () =>
    Effect.gen(function*() {
      const tried = makeWrites()
      assert.strictEqual(yield* workedOn(tried, full, 100), 16)
      assert.strictEqual(yield* workedOn(tried, full, 100), 0)
      yield* TestClock.adjust("63 millis")
      assert.strictEqual(yield* workedOn(tried, full, 100), 1)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(yield* workedOn(tried, full, 100), 16)
    }))

  it.effect("are all worked on once there is room, 48 at once for ten seconds", () =>
    Effect.gen(function*() {
      const tried = makeWrites()
      yield* workedOn(tried, full, 100)
      yield* TestClock.adjust("63 millis")
      assert.strictEqual(yield* workedOn(tried, Effect.void, 100), 100)
      yield* TestClock.adjust("1 second")
      const done = yield* Deferred.make<void>()
      const slow = yield* Effect.forkChild(Effect.all(Array.from({ length: 48 }, () => tried(Deferred.await(done))), {
        concurrency: "unbounded"
      }))
      yield* Effect.yieldNow
      assert.strictEqual(yield* workedOn(tried, Effect.void, 100), 0)
      yield* TestClock.adjust("9 seconds")
      assert.strictEqual(yield* workedOn(tried, Effect.void, 100), 100)
      yield* Deferred.succeed(done, undefined)
      yield* Fiber.join(slow)
    }))

  it.effect("are not those that fail for another reason", () =>
    Effect.gen(function*() {
      const tried = makeWrites()
      assert.strictEqual(yield* workedOn(tried, failing("23505"), 100), 100)
      assert.strictEqual(yield* workedOn(tried, failing("53300"), 100), 100)
      assert.strictEqual(yield* workedOn(tried, Effect.die(new Error("another")), 100), 100)
    }))
})
