import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Schema, SchemaAST } from "effect"
import { SqlClient } from "effect/sql"
import * as fc from "fast-check"
import { databaseLive } from "../../src/layers/Database.ts"
import { RouteId } from "../../src/schema/Ids.ts"
import { DateColumn, TimestampColumn } from "../../src/services/db/Tables.ts"
import { RouteRow } from "../../src/services/routes/RouteRow.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { configLayer } from "../support/TestServer.ts"

const onDatabase = Layer.unwrap(
  Effect.map(clonedDatabase, (url) => Layer.provide(databaseLive, configLayer(url, {})))
)

const sampled = <A>(values: fc.Arbitrary<A>) => fc.sample(values, 500)

layer(onDatabase)("what the database returns", (it) => {
  it.effect("of bigint are numbers, exact wherever a number can be, alone and in arrays", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const safe = sampled(fc.maxSafeInteger())
      const written = [...safe, 0, 1, -1, 2 ** 32, -(2 ** 32), Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]
      const rows = yield* sql<{ n: number; all: ReadonlyArray<number | null> }>`
        SELECT n, ARRAY[n, NULL] AS all FROM unnest(${written.map(BigInt)}) n`
      assert.deepStrictEqual(rows, written.map((n) => ({ n, all: [n, null] })))
    }))

  it.effect("of bigint that are no safe integers are refused by the schemas of columns", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const max = 2n ** 63n - 1n
      const unsafe = [max, -max - 1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n), -(2n ** 53n) - 1n]
      const rows = yield* sql<{ n: number }>`SELECT n FROM unnest(${unsafe}) n`
      assert.deepStrictEqual(
        rows.map(({ n }) => Schema.is(RouteId)(n) || Schema.is(Schema.Int)(n)),
        unsafe.map(() => false)
      )
    }))

  it.effect("of varchar are the UTF-8 of the text, and stay so when the connection reads more", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const texts = [...sampled(fc.string({ unit: "grapheme" })), "", "[[0,0]]".repeat(20_000)]
        .map((text) => text.replaceAll("\0", ""))
      const rows = yield* sql<{ bytes: Uint8Array | null }>`
        SELECT t::varchar AS bytes FROM unnest(${[...texts, null]}::text[]) WITH ORDINALITY u(t, n) ORDER BY n`
      yield* sql`SELECT repeat('x', 1000000)`
      assert.deepStrictEqual(
        rows.map(({ bytes }) => bytes === null ? null : new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)),
        [...texts, null]
      )
    }))

  it.effect("of timestamptz are ISO 8601 texts in UTC, cut to the millisecond, alone and in arrays", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const range = { min: new Date("0001-01-01"), max: new Date("9999-12-31"), noInvalidDate: true }
      const written = [
        ...sampled(fc.date(range)),
        new Date(0),
        new Date("2000-01-01"),
        new Date("1999-12-31T23:59:59.999Z")
      ]
      const rows = yield* sql<{ at: string; all: ReadonlyArray<string | null> }>`
        SELECT at, ARRAY[at, NULL] AS all FROM unnest(${
        written.map((date) => date.toISOString())
      }::text[]::timestamptz[]) at`
      assert.deepStrictEqual(rows, written.map((date) => ({ at: date.toISOString(), all: [date.toISOString(), null] })))
      const [row] = yield* sql`
        SELECT '2026-05-01 10:00:00.123999+02'::timestamptz AS late, '1990-05-01 10:00:00.123999+02'::timestamptz AS early`
      assert.deepStrictEqual(row, { late: "2026-05-01T08:00:00.123Z", early: "1990-05-01T08:00:00.124Z" })
    }))

  it.effect("of timestamptz that are no Date are refused by the schemas of columns, and keep their connection", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const connection = sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`
      yield* Effect.gen(function*() {
        const before = yield* connection
        const rows = yield* sql<{ at: string }>`
          SELECT at FROM unnest(ARRAY['infinity', '-infinity', '294276-12-31']::timestamptz[]) at`
        assert.deepStrictEqual(rows.map(({ at }) => Schema.is(TimestampColumn)(at)), [false, false, false])
        for (const { at } of rows) {
          assert.isTrue((yield* Effect.exit(Schema.decodeUnknownEffect(DateColumn)(at)))._tag === "Failure")
        }
        assert.deepStrictEqual(yield* connection, before)
      }).pipe(sql.withTransaction)
    }))
})

describe("the row of a route", () => {
  // With one such column Effect decodes a row column by column.
  it("has no column that is transformed or a class", () => {
    const isClass = (ast: SchemaAST.AST): boolean =>
      SchemaAST.isUnion(ast) ? ast.types.some(isClass) : SchemaAST.isDeclaration(ast)
    const columns = Object.entries(RouteRow.fields).filter(([, { ast }]) => ast.encoding !== undefined || isClass(ast))
    assert.deepStrictEqual(columns.map(([name]) => name), [])
  })
})
