import { assert, it, layer } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import distanceLimit from "../migrations/0012_distance_limit.ts"
import { databaseLive } from "../src/layers/Database.ts"
import { clonedDatabase, emptyDatabase } from "./support/Databases.ts"

const tables = SqlClient.SqlClient.use((sql) =>
  sql<{ name: string }>`SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'`
)

it.live(
  "several processes that start at once migrate a new database once, and all of them start",
  () =>
    Effect.gen(function*() {
      const url = yield* emptyDatabase
      const started = Layer.fresh(databaseLive).pipe(
        Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ DATABASE_URL: url, DATABASE_POOL_SIZE: "2" })))
      )
      const counts = yield* Effect.all(
        Array.from({ length: 6 }, () => Effect.map(tables.pipe(Effect.provide(started)), (rows) => rows.length)),
        { concurrency: "unbounded" }
      )
      assert.isAbove(counts[0] ?? 0, 3)
      assert.deepStrictEqual(new Set(counts).size, 1)
    }).pipe(Effect.scoped),
  30_000
)

const migrated = Layer.unwrap(Effect.map(clonedDatabase, (url) =>
  databaseLive.pipe(
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ DATABASE_URL: url })))
  )))

layer(migrated)("the schema", (it) => {
  it.effect("deletes with a user whatever is theirs, and finds it by an index, so that an erasure scans no table", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const references = yield* sql<{ reference: string; goes_too: boolean; is_indexed: boolean }>`
        SELECT c.confdeltype = 'c' AS goes_too, c.conrelid::regclass || '.' || a.attname AS reference, EXISTS (
          SELECT 1 FROM pg_index i
          WHERE i.indrelid = c.conrelid AND i.indpred IS NULL AND i.indisvalid AND i.indkey[0] = c.conkey[1]
        ) AS is_indexed
        FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
        WHERE c.contype = 'f' AND c.confrelid = 'users'::regclass ORDER BY reference`
      assert.isAbove(references.length, 9)
      const kept = references.filter(({ goes_too }) => !goes_too).map(({ reference }) => reference)
      assert.deepStrictEqual(kept, ["audit_events.subject_id"])
      assert.deepStrictEqual(references.filter(({ is_indexed }) => !is_indexed).map(({ reference }) => reference), [])
    }))

  it.effect("cuts a distance that no route may have, and has no room for another", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql`ALTER TABLE routes DROP CONSTRAINT routes_distance_max`
      yield* sql`
        INSERT INTO users (email, email_key, name, handle, created_at, updated_at)
        VALUES ('a@b.c', 'a@b.c', 'a', 'abc', now(), now())`
      const insert = (distance: number, token: string) =>
        sql`
          INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, provenance, share_token, distance,
            created_at, updated_at)
          SELECT id, 'x', 'private', '{}', false, '[]', 'generation', repeat(${token}, 32), ${distance}, now(), now()
          FROM users`
      yield* insert(1.7e308, "a")
      yield* insert(5, "b")
      yield* sql.withTransaction(distanceLimit)
      const rows = yield* sql`SELECT distance, version::int FROM routes ORDER BY distance`
      assert.deepStrictEqual([...rows], [{ distance: 5, version: 1 }, {
        distance: 1e8,
        version: 2
      }])
      const constraints = yield* sql`SELECT 1 FROM pg_constraint WHERE conname = 'routes_distance_max' AND convalidated`
      assert.strictEqual(constraints.length, 1)
      const { reason } = yield* Effect.flip(insert(1e8 + 1, "c"))
      assert.strictEqual(reason._tag, "ConstraintError")
    }))
})
