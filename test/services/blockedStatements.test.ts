import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Ref } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { databaseLive } from "../../src/layers/Database.ts"
import { BlockedStatements } from "../../src/layers/database/BlockedStatements.ts"
import { clonedDatabase, onServer } from "../support/Databases.ts"
import { whileLocked } from "../support/Locks.ts"
import { configLayer } from "../support/TestServer.ts"
import { until, untilFound } from "../support/Waiting.ts"

const failedBy = (Reason: typeof SqlError.LockTimeoutError | typeof SqlError.ConstraintError) =>
  Exit.fail(new SqlError.SqlError({ reason: new Reason({ cause: "test", operation: "query" }) }))

const TEXT = "SELECT 1"

const blockedAt = (now: number) => {
  const blocked = new BlockedStatements()
  blocked.block(TEXT, now)
  return blocked
}

describe("a statement that is blocked", () => {
  it("fails for a second, then one tries while the others fail", () => {
    const blocked = blockedAt(0)
    assert.deepStrictEqual([blocked.admit(TEXT, 0), blocked.admit(TEXT, 999)], ["fails", "fails"])
    assert.strictEqual(blocked.admit("SELECT 2", 0), "runs")
    assert.deepStrictEqual([blocked.admit(TEXT, 1000), blocked.admit(TEXT, 1000)], ["tries", "fails"])
    assert.strictEqual(blocked.admit(TEXT, 5999), "fails")
    assert.strictEqual(blocked.admit(TEXT, 6000), "tries", "the end of the first was lost")
  })

  it("fails with any number of rows and values", () => {
    const blocked = new BlockedStatements()
    const written = (rows: string, owner: string) =>
      `INSERT INTO routes ("name", "tags") VALUES ${rows} RETURNING id, lower(name) = ${owner}`
    blocked.block(written("($1, $2)", "$3"), 0)
    assert.strictEqual(blocked.admit(written("($1, $2), ($3, $4), ($5, $6)", "$7"), 0), "fails")
    assert.strictEqual(blocked.admit(written("(DEFAULT, $1)", "$2"), 0), "runs")
    blocked.block("SELECT id FROM routes WHERE id IN ($1,$2) AND user_id = $3", 0)
    assert.strictEqual(blocked.admit("SELECT id FROM routes WHERE id IN ($1) AND user_id = $2", 0), "fails")
    assert.strictEqual(blocked.admit("SELECT id FROM users WHERE id IN ($1) AND user_id = $2", 0), "runs")
  })

  for (
    const [title, exit] of [["interrupted", Exit.interrupt()], ["late", failedBy(SqlError.LockTimeoutError)]] as const
  ) {
    it(`is blocked for another second after one that tried was ${title}`, () => {
      const blocked = blockedAt(0)
      blocked.admit(TEXT, 1000)
      blocked.ended(TEXT, true, exit, 3000)
      assert.deepStrictEqual([blocked.admit(TEXT, 3999), blocked.admit(TEXT, 4000)], ["fails", "tries"])
    })
  }

  it("stays so after one that began before ended late", () => {
    const blocked = blockedAt(0)
    blocked.admit(TEXT, 1000)
    blocked.ended(TEXT, false, failedBy(SqlError.LockTimeoutError), 1500)
    assert.deepStrictEqual([blocked.admit(TEXT, 2500), blocked.isEmpty], ["fails", false])
  })

  for (const exit of [Exit.void, failedBy(SqlError.ConstraintError)]) {
    for (const isTry of [true, false]) {
      it(`runs again after ${isTry ? "the try" : "one before"} got a response (${exit._tag})`, () => {
        const blocked = blockedAt(0)
        blocked.ended(TEXT, isTry, exit, 500)
        assert.deepStrictEqual([blocked.admit(TEXT, 500), blocked.isEmpty], ["runs", true])
      })
    }
  }

  it("is forgotten 5 seconds after nothing tried", () => {
    const blocked = blockedAt(0)
    blocked.forget(5999)
    assert.isFalse(blocked.isEmpty)
    blocked.forget(6000)
    assert.isTrue(blocked.isEmpty)
  })
})

const POOL = 6

/** For longer than the 2 seconds that a statement waits for a lock. */
const SAMPLES = 70

const onDatabase = Layer.unwrap(Effect.map(
  clonedDatabase,
  (url) => Layer.provideMerge(databaseLive, configLayer(url, { DATABASE_POOL_SIZE: String(POOL) }))
))

layer(onDatabase, { excludeTestServices: true, timeout: "60 seconds" })("a table that is locked for long", (it) => {
  it.effect(
    "is waited for by half of the pool and one that tries, however long it takes",
    () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const [{ name = "" } = {}] = yield* sql<{ name: string }>`SELECT current_database() AS name`
        const waiting = Effect.map(
          onServer((server) =>
            server`SELECT FROM pg_stat_activity WHERE datname = ${name} AND wait_event_type = 'Lock' AND wait_event = 'relation'`
          ),
          ({ length }) => length
        )
        const failed = yield* Ref.make(0)
        const reading = sql`SELECT count(*) FROM routes`.pipe(
          Effect.catch(() => Effect.andThen(Ref.update(failed, (count) => count + 1), Effect.sleep("10 millis"))),
          Effect.forever
        )
        yield* whileLocked(
          () => sql`LOCK TABLE routes IN ACCESS EXCLUSIVE MODE`,
          Effect.gen(function*() {
            const readers = yield* Effect.forkChild(
              Effect.all(Array.from({ length: 4 * POOL }, () => reading), { concurrency: "unbounded" })
            )
            yield* until(Effect.map(Ref.get(failed), (count) => count > POOL))
            yield* untilFound(waiting, (count) => count <= POOL / 2)
            const counts = yield* Effect.replicateEffect(Effect.delay(waiting, "50 millis"), SAMPLES)
            assert.isAtMost(Math.max(...counts), POOL / 2 + 1)
            yield* Fiber.interrupt(readers)
          })
        )
        yield* untilFound(Effect.exit(sql`SELECT count(*) FROM routes`), Exit.isSuccess)
      }),
    60_000
  )
})
