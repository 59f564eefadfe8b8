import { NodeServices } from "@effect/platform-node"
import { PgClient, PgMigrator } from "@effect/sql-pg"
import { assert, it, layer } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { fromFileSystem } from "effect/sql/MigratorFileSystem"
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { inject } from "vitest"
import distanceLimit from "../migrations/0012_distance_limit.ts"
import { databaseLive } from "../src/layers/Database.ts"
import { clonedDatabase, databaseAt, emptyDatabase, onServer } from "./support/Databases.ts"

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

it.live(
  "the role that Compose makes owns its database, is no superuser, and can migrate it",
  () =>
    Effect.gen(function*() {
      const name = `service_${randomUUID().replaceAll("-", "")}`
      const made = readFileSync(new URL("../deploy/postgres/role.sql", import.meta.url), "utf8")
        .replaceAll("service", name).replace(":'password'", "'a password'").split("\n")
        .filter((line) => line.startsWith("CREATE"))
      assert.strictEqual(made.length, 2)
      yield* Effect.acquireRelease(
        onServer((sql) => Effect.forEach(made, (statement) => sql.unsafe(statement))),
        () =>
          onServer((sql) => Effect.andThen(sql`DROP DATABASE ${sql(name)} WITH (FORCE)`, sql`DROP ROLE ${sql(name)}`))
      )
      const url = new URL(databaseAt(inject("postgresUrl"), name))
      url.username = name
      url.password = "a password"
      const attributes = yield* SqlClient.SqlClient.use((sql) =>
        sql`
          SELECT current_user AS role, rolsuper, rolcreaterole, rolcreatedb, rolbypassrls, rolreplication
          FROM pg_roles WHERE rolname = current_user`
      ).pipe(
        Effect.provide(
          Layer.provide(databaseLive, ConfigProvider.layer(ConfigProvider.fromUnknown({ DATABASE_URL: url.href })))
        )
      )
      assert.deepStrictEqual<unknown>(attributes, [{
        role: name,
        rolsuper: false,
        rolcreaterole: false,
        rolcreatedb: false,
        rolbypassrls: false,
        rolreplication: false
      }])
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

const migrateBelow = (id: number) => {
  const all = fromFileSystem(join(import.meta.dirname, "../migrations"))
  return PgMigrator.run({ loader: Effect.map(all, (list) => list.filter(([each]) => each < id)) })
}

it.live("usage counts what accounts had before it was counted", () =>
  Effect.gen(function*() {
    const url = yield* emptyDatabase
    yield* Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* migrateBelow(13)
      yield* sql`
        INSERT INTO users (email, email_key, name, handle, created_at, updated_at)
        SELECT h || '@example.com', h || '@example.com', h, h, now(), now() FROM unnest(array['ada', 'bob']) h`
      yield* sql`
        INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, geometry, simplified, polyline6,
          description, provenance, share_token, created_at, updated_at, deleted_at)
        SELECT id, 'x', 'private', '{}', false, '[1]', '[22]', '[3]', NULL, 'é', 'generation', md5(n::text), now(), now(),
          CASE WHEN n = 1 THEN now() END
        FROM users, generate_series(1, 2) n WHERE handle = 'ada'`
      yield* sql`
        INSERT INTO collections (user_id, name, visibility, share_token, created_at, updated_at)
        SELECT id, 'x', 'private', md5(handle), now(), now() FROM users WHERE handle = 'ada'`
      yield* sql`
        INSERT INTO idempotency_keys (user_id, endpoint, key, request_hash, body, headers, created_at)
        SELECT id, 'e', 'k', 'h', '{}', '{"a":1}', now() FROM users WHERE handle = 'ada'`
      yield* migrateBelow(Infinity)
      const usage = yield* sql`
        SELECT u.handle, r.routes::int, r.stored_bytes::int, c.collections::int
        FROM users u LEFT JOIN route_usage r ON r.user_id = u.id LEFT JOIN collection_usage c ON c.user_id = u.id
        ORDER BY u.handle`
      assert.deepStrictEqual(usage, [
        { handle: "ada", routes: 2, stored_bytes: 2 * (3 + 4 + 3 + 2) + 2 + 7, collections: 1 },
        { handle: "bob", routes: 0, stored_bytes: 0, collections: 0 }
      ])
    }).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })))
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))
