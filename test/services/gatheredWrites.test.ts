import { assert, layer } from "@effect/vitest"
import { ConfigProvider, Effect, Exit, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { databaseLive } from "../../src/layers/Database.ts"
import { Overloaded } from "../../src/schema/DomainErrors.ts"
import { UserId } from "../../src/schema/Ids.ts"
import { gatheredWrites } from "../../src/services/limits/GatheredWrites.ts"
import { RunningRequests } from "../../src/services/limits/RunningRequests.ts"
import { WriterTurns } from "../../src/services/limits/WriterTurns.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { untilLocked, whileLocked } from "../support/Locks.ts"
import { configLayer } from "../support/TestServer.ts"

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n + 1)

const [ANNA, BEN] = [UserId.make(1), UserId.make(2)]

/** Each attempt to write a row takes a number, also if it fails. */
const filled = Layer.effectDiscard(SqlClient.SqlClient.use((sql) =>
  Effect.gen(function*() {
    yield* sql`CREATE TABLE owners (id bigint PRIMARY KEY)`
    yield* sql`INSERT INTO owners VALUES (1), (2)`
    yield* sql`CREATE SEQUENCE tried`
    yield* sql`
      CREATE FUNCTION checked(code text) RETURNS text LANGUAGE plpgsql AS $$
        BEGIN
          PERFORM nextval('tried');
          IF code <> '' THEN RAISE EXCEPTION 'fails' USING ERRCODE = code; END IF;
          RETURN code;
        END $$`
    yield* sql`CREATE TABLE notes (place bigint GENERATED ALWAYS AS IDENTITY, owner bigint, text text, code text)`
  })
))

const onDatabase = Layer.unwrap(
  Effect.map(clonedDatabase, (url) =>
    Layer.provideMerge(
      Layer.merge(filled, WriterTurns.layer),
      Layer.provideMerge(databaseLive, configLayer(url, { DATABASE_POOL_SIZE: "10" }))
    ))
)

interface Note {
  readonly owner: UserId
  readonly text: string
  /** The error that the database raises for it. */
  readonly code?: string
}

interface Written {
  readonly text: string
  /** The same for all rows of a statement. */
  readonly statement: string
}

/** Writes notes with their owner locked, in statements of their own rows. */
const noteWriter = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const gathered = yield* gatheredWrites
  const write = gathered((notes: ReadonlyArray<Note>) =>
    sql<Written>`
      WITH locked AS MATERIALIZED (SELECT id FROM owners WHERE id = ${notes[0]?.owner ?? 0} FOR UPDATE)
      INSERT INTO notes (owner, text, code)
      SELECT locked.id, text, checked(code) FROM locked CROSS JOIN unnest(
        ${notes.map(({ text }) => text)}::text[], ${notes.map(({ code = "" }) => code)}::text[]
      ) WITH ORDINALITY n(text, code, place) ORDER BY place
      RETURNING text, pg_current_xact_id()::text AS statement`
  )
  return (note: Note) => write(note.owner, note)
})

const textsOf = (owner: UserId) =>
  SqlClient.SqlClient.use((sql) =>
    Effect.map(
      sql<{ text: string }>`SELECT text FROM notes WHERE owner = ${owner} ORDER BY place`,
      (rows) => rows.map(({ text }) => text)
    )
  )

const tried = Effect.map(
  SqlClient.SqlClient.use((sql) => sql<{ tried: number }>`SELECT last_value::int AS tried FROM tried`),
  ([row]) => row?.tried ?? 0
)

const emptied = SqlClient.SqlClient.use((sql) => sql`TRUNCATE notes`)

/** While another transaction has the owner locked, and the first statement waits for it. */
const behindLocked = <A, E, R>(
  owner: UserId,
  first: Effect.Effect<unknown, unknown, R>,
  work: Effect.Effect<A, E, R>
) =>
  Effect.gen(function*() {
    const [running, result] = yield* whileLocked(
      (sql) => sql`SELECT FROM owners WHERE id = ${owner} FOR UPDATE`,
      Effect.gen(function*() {
        const running = yield* Effect.forkChild(Effect.exit(first))
        yield* untilLocked(1)
        return [running, yield* work] as const
      })
    )
    yield* Fiber.join(running)
    return result
  })

layer(onDatabase, { excludeTestServices: true })("writes of an account", (it) => {
  it.effect("that wait together are one statement, of 8 rows at most, in their order; each gets its own row", () =>
    Effect.gen(function*() {
      yield* emptied
      const write = yield* noteWriter
      const rows = yield* Effect.forEach(numbers(20), (n) => write({ owner: ANNA, text: `${n}` }), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(rows.map(({ text }) => text), numbers(20).map(String))
      assert.deepStrictEqual(yield* textsOf(ANNA), numbers(20).map(String))
      assert.strictEqual(new Set(rows.map(({ statement }) => statement)).size, 3)
    }))

  it.effect("wait for its statement that runs; those of others go on", () =>
    Effect.gen(function*() {
      yield* emptied
      const write = yield* noteWriter
      const later = yield* behindLocked(
        ANNA,
        write({ owner: ANNA, text: "first" }),
        Effect.gen(function*() {
          const later = yield* Effect.forEach(
            ["second", "third"],
            (text) => Effect.forkChild(write({ owner: ANNA, text }))
          )
          assert.strictEqual((yield* write({ owner: BEN, text: "other" })).text, "other")
          return later
        })
      )
      const rows = yield* Effect.forEach(later, Fiber.join)
      assert.strictEqual(new Set(rows.map(({ statement }) => statement)).size, 1)
      assert.deepStrictEqual(yield* textsOf(ANNA), ["first", "second", "third"])
    }))

  it.effect("are not made where the caller left before the statement; one that has begun ends", () =>
    Effect.gen(function*() {
      yield* emptied
      const write = yield* noteWriter
      const stays = yield* behindLocked(
        ANNA,
        Effect.timeoutOption(write({ owner: ANNA, text: "begun" }), "300 millis"),
        Effect.gen(function*() {
          const leaves = yield* Effect.forkChild(write({ owner: ANNA, text: "waiting" }))
          const stays = yield* Effect.forkChild(write({ owner: ANNA, text: "stays" }))
          yield* Effect.sleep("50 millis")
          yield* Fiber.interrupt(leaves)
          yield* Effect.sleep("400 millis")
          return stays
        })
      )
      assert.strictEqual((yield* Fiber.join(stays)).text, "stays")
      assert.deepStrictEqual(yield* textsOf(ANNA), ["begun", "stays"])
    }))

  it.effect("fail by themselves where one row breaks a rule", () =>
    Effect.gen(function*() {
      yield* emptied
      const write = yield* noteWriter
      const exits = yield* Effect.forEach(
        numbers(5),
        (n) => Effect.exit(write({ owner: ANNA, text: `${n}`, code: n === 3 ? "23514" : "" })),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, true, false, true, true])
      assert.deepStrictEqual(yield* textsOf(ANNA), ["1", "2", "4", "5"])
    }))

  it.effect("fail together, and are not tried twice, where the database is at fault", () =>
    Effect.gen(function*() {
      yield* emptied
      const write = yield* noteWriter
      const before = yield* tried
      const exits = yield* Effect.forEach(
        numbers(3),
        (n) => Effect.exit(write({ owner: ANNA, text: `${n}`, code: n === 3 ? "57014" : "" })),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(exits.map(Exit.isFailure), [true, true, true])
      assert.strictEqual((yield* tried) - before, 3)
      assert.strictEqual((yield* write({ owner: ANNA, text: "after" })).text, "after")
      assert.deepStrictEqual(yield* textsOf(ANNA), ["after"])
    }))
})

layer(WriterTurns.layer.pipe(
  Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ DATABASE_POOL_SIZE: "5" })))
))("gathered writes without a turn", (it) => {
  /** All turns of the account are taken. */
  const taken = Effect.fnUntraced(function*(owner: UserId) {
    const { run } = yield* WriterTurns
    const holders = yield* Effect.replicateEffect(Effect.forkChild(run(owner, Effect.never)), 2)
    yield* Effect.yieldNow
    const write = (yield* gatheredWrites)((values: ReadonlyArray<{ readonly n: number }>) => Effect.succeed(values))
    return { holders, write }
  })

  it.effect("are refused after 2 seconds, and written once there is one", () =>
    Effect.gen(function*() {
      const owner = UserId.make(1)
      const { holders, write } = yield* taken(owner)
      const fibers = yield* Effect.forEach(numbers(3), (n) => Effect.forkChild(Effect.flip(write(owner, { n }))))
      yield* TestClock.adjust("2 seconds")
      const refusals = yield* Effect.forEach(fibers, Fiber.join)
      assert.deepEqual(refusals, numbers(3).map(() => new Overloaded({ reason: "writes", retryAfterSeconds: 2 })))
      const later = yield* Effect.forkChild(write(owner, { n: 4 }))
      yield* Fiber.interruptAll(holders)
      assert.deepStrictEqual(yield* Fiber.join(later), { n: 4 })
    }))

  it.effect("wait with 256 of an account, and 8 while the process has many requests; more are refused at once", () =>
    Effect.gen(function*() {
      const refusedOf = Effect.fnUntraced(function*(owner: UserId, count: number, areMany: boolean) {
        const { write } = yield* taken(owner)
        const counted = Effect.provideService(RunningRequests, { add: () => undefined, areMany: () => areMany })
        const fibers = yield* Effect.forEach(
          numbers(count),
          (n) => Effect.forkChild(counted(Effect.exit(write(owner, { n }))))
        )
        yield* TestClock.adjust("1 second")
        return fibers.filter((fiber) => fiber.pollUnsafe() !== undefined).length
      })
      assert.strictEqual(yield* refusedOf(UserId.make(3), 257, false), 1)
      assert.strictEqual(yield* refusedOf(UserId.make(4), 10, true), 2)
    }))
})
