import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Option, Schema, Tracer } from "effect"
import { SqlClient } from "effect/sql"
import { databaseLive } from "../../src/layers/Database.ts"
import { gatheredRead } from "../../src/services/db/GatheredReads.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { configLayer } from "../support/TestServer.ts"

const ids = (count: number) => Array.from({ length: count }, (_, n) => n + 1)

/** Each statement takes a number, also if it fails. */
const filled = Layer.effectDiscard(SqlClient.SqlClient.use((sql) =>
  Effect.gen(function*() {
    yield* sql`CREATE TABLE things (id bigint PRIMARY KEY, name text NOT NULL, secret text NOT NULL)`
    yield* sql`INSERT INTO things SELECT n, 'thing ' || n, 'secret' FROM generate_series(1, 100) n`
    yield* sql`CREATE SEQUENCE asked`
    yield* sql`
      CREATE FUNCTION fail_with(code text) RETURNS int LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'fails' USING ERRCODE = code; END $$`
  })
))

const onDatabase = Layer.unwrap(
  Effect.map(clonedDatabase, (url) => Layer.provideMerge(filled, Layer.provide(databaseLive, configLayer(url, {}))))
)

const Thing = Schema.Struct({ name: Schema.String, statement: Schema.String })

const thingReader = Effect.map(SqlClient.SqlClient, (sql) =>
  gatheredRead(sql, {
    key: { id: "bigint" },
    Result: Thing,
    select:
      sql`SELECT name, pg_backend_pid() || ' ' || extract(epoch FROM statement_timestamp()) AS statement FROM things WHERE id = k.id`
  }))

/** Counts the statements that read these rows. */
const statementsOf = (rows: ReadonlyArray<Option.Option<typeof Thing.Type>>) =>
  new Set(rows.map((row) => Option.getOrThrow(row).statement)).size

const asked = Effect.map(
  SqlClient.SqlClient.use((sql) => sql<{ asked: number }>`SELECT nextval('asked')::int AS asked`),
  ([row]) => row?.asked ?? 0
)

/** Fails by `code` where the id is 3. */
const failingReader = (code: string) =>
  Effect.map(SqlClient.SqlClient, (sql) =>
    gatheredRead(sql, {
      key: { id: "bigint" },
      Result: Schema.Struct({ name: Schema.String }),
      select: sql`
        SELECT CASE WHEN nextval('asked') > 0 AND k.id = 3 THEN fail_with(${
        sql.literal(`'${code}'`)
      })::text ELSE name END AS name
        FROM things WHERE id = k.id`
    }))

layer(onDatabase, { excludeTestServices: true })("reads by a key", (it) => {
  it.effect("that begin together are one statement, of 16 keys at most, and each gets its own row", () =>
    Effect.gen(function*() {
      const read = yield* thingReader
      const rows = yield* Effect.forEach(ids(40), (id) => read({ id }), { concurrency: "unbounded" })
      assert.deepStrictEqual(rows.map((row) => Option.getOrThrow(row).name), ids(40).map((id) => `thing ${id}`))
      assert.isAtMost(statementsOf(rows), 3)
    }))

  it.effect("may have the same key, or one without a row", () =>
    Effect.gen(function*() {
      const read = yield* thingReader
      const rows = yield* Effect.forEach([7, 1000, 7, 2 ** 40], (id) => read({ id }), { concurrency: "unbounded" })
      assert.deepStrictEqual(
        rows.map(Option.map(({ name }) => name)),
        [Option.some("thing 7"), Option.none(), Option.some("thing 7"), Option.none()]
      )
    }))

  it.effect("see what was written before they began", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const read = yield* thingReader
      yield* Effect.forEach(ids(30), (n) =>
        Effect.gen(function*() {
          const before = yield* Effect.forkChild(read({ id: 50 }))
          yield* sql`UPDATE things SET name = ${`change ${n}`} WHERE id = 50`
          assert.strictEqual(Option.getOrThrow(yield* read({ id: 50 })).name, `change ${n}`)
          yield* Fiber.join(before)
        }))
    }))

  it.effect("are statements of their own in a transaction, which see its changes", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const read = yield* thingReader
      const changed = yield* Deferred.make<void>()
      const outside = yield* Effect.forkChild(Effect.andThen(Deferred.await(changed), read({ id: 60 })))
      const [mine, theirs] = yield* Effect.gen(function*() {
        yield* sql`UPDATE things SET name = 'mine' WHERE id = 60`
        yield* Deferred.succeed(changed, undefined)
        return yield* Effect.all([read({ id: 60 }), Fiber.join(outside)], { concurrency: 2 })
      }).pipe(sql.withTransaction)
      assert.strictEqual(Option.getOrThrow(mine).name, "mine")
      assert.strictEqual(Option.getOrThrow(theirs).name, "thing 60")
    }))

  it.effect("are one statement where they are traced, too, with a span for each in the trace of its caller", () =>
    Effect.gen(function*() {
      const read = yield* thingReader
      const began: Array<Tracer.Span> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = Tracer.nativeTracer.span(options)
          began.push(span)
          return span
        }
      })
      const callers = Array.from({ length: 5 }, (_, n) => Effect.withSpan(read({ id: 1 }), `caller ${n}`))
      const rows = yield* Effect.withTracer(Effect.all(callers, { concurrency: "unbounded" }), tracer)
      assert.strictEqual(statementsOf(rows), 1)
      const reads = began.filter(({ kind }) => kind === "client")
      assert.sameMembers(
        reads.map(({ parent }) => Option.getOrUndefined(parent)?.spanId),
        began.filter(({ kind }) => kind !== "client").map(({ spanId }) => spanId)
      )
      for (const { attributes } of reads) assert.include(String(attributes.get("db.query.text")), "FROM things")
    }))

  it.effect("fail by themselves where only their row cannot be read", () =>
    Effect.gen(function*() {
      const read = yield* failingReader("22012")
      const exits = yield* Effect.forEach(ids(5), (id) => Effect.exit(read({ id })), { concurrency: "unbounded" })
      assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, true, false, true, true])
    }))

  it.effect("of a row that does not decode fail alone", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const read = gatheredRead(sql, {
        key: { id: "bigint" },
        Result: Schema.Struct({ name: Schema.Literals(["thing 1", "thing 2"]) }),
        select: sql`SELECT name FROM things WHERE id = k.id`
      })
      const exits = yield* Effect.forEach(ids(3), (id) => Effect.exit(read({ id })), { concurrency: "unbounded" })
      assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, true, false])
    }))

  it.effect("fail together, without another statement, where the database is at fault", () =>
    Effect.gen(function*() {
      const read = yield* failingReader("57014")
      const before = yield* asked
      const exits = yield* Effect.forEach([3, 4, 5], (id) => Effect.exit(read({ id })), { concurrency: "unbounded" })
      assert.deepStrictEqual(exits.map(Exit.isFailure), [true, true, true])
      assert.isAtMost((yield* asked) - before, 4)
    }))

  it.effect("go on where another of the same statement is interrupted", () =>
    Effect.gen(function*() {
      const read = yield* thingReader
      const fibers = yield* Effect.forEach(ids(5), (id) => Effect.forkChild(read({ id }), { startImmediately: true }))
      const [first, ...others] = fibers
      if (first !== undefined) yield* Fiber.interrupt(first)
      const rows = yield* Effect.forEach(others, Fiber.join)
      assert.deepStrictEqual(rows.map((row) => Option.getOrThrow(row).name), ids(5).slice(1).map((id) => `thing ${id}`))
    }))
})
