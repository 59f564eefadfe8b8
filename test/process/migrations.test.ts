import { NodeServices } from "@effect/platform-node"
import { PgClient, PgMigrator } from "@effect/sql-pg"
import { assert, it, layer } from "@effect/vitest"
import { ConfigProvider, Effect, Fiber, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { fromFileSystem } from "effect/sql/MigratorFileSystem"
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { inject } from "vitest"
import distanceLimit from "../../migrations/0012_distance_limit.ts"
import { databaseLive } from "../../src/layers/Database.ts"
import { clonedDatabase, databaseAt, emptyDatabase, onServer } from "../support/Databases.ts"
import { until } from "../support/Waiting.ts"

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
  60_000
)

it.live("a process waits for the migrations of another for longer than a request may wait for a lock", () =>
  Effect.gen(function*() {
    const url = yield* clonedDatabase
    const other = PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })
    const started = Layer.fresh(databaseLive).pipe(
      Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ DATABASE_URL: url })))
    )
    const waiting = onServer((sql) =>
      sql<{ count: number }>`
        SELECT count(*)::int AS count FROM pg_stat_activity
        WHERE datname = ${new URL(url).pathname.slice(1)} AND wait_event_type = 'Lock'
          AND query_start < now() - interval '2500 milliseconds'`
    ).pipe(Effect.map(([row]) => (row?.count ?? 0) > 0))
    const process = yield* SqlClient.SqlClient.use((sql) =>
      sql.withTransaction(Effect.gen(function*() {
        yield* sql`LOCK TABLE effect_sql_migrations IN ACCESS EXCLUSIVE MODE`
        const process = yield* Effect.forkDetach(Effect.provide(tables, started))
        yield* until(waiting)
        return process
      }))
    ).pipe(Effect.provide(other))
    assert.isAbove((yield* Fiber.join(process)).length, 3)
  }).pipe(Effect.scoped))

it.live("a database with a migration of a newer version is refused", () =>
  Effect.gen(function*() {
    const url = yield* clonedDatabase
    const started = Layer.fresh(databaseLive).pipe(
      Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ DATABASE_URL: url })))
    )
    const newer = SqlClient.SqlClient.use((sql) =>
      sql`INSERT INTO effect_sql_migrations (migration_id, name) VALUES (9000, 'of_tomorrow')`
    )
    yield* Effect.provide(newer, started)
    const refusal = yield* Effect.flip(Effect.provide(tables, started))
    assert.include(refusal.message, "the database has migration 9000 (of_tomorrow) of a newer version")
  }).pipe(Effect.scoped))

it.live(
  "the role that Compose makes owns its database, is no superuser, and can migrate it",
  () =>
    Effect.gen(function*() {
      const name = `service_${randomUUID().replaceAll("-", "")}`
      const made = readFileSync(new URL("../../deploy/postgres/role.sql", import.meta.url), "utf8")
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
  60_000
)

/** Brings a database up to before a migration. */
const migrateBelow = (id: number) => {
  const all = fromFileSystem(join(import.meta.dirname, "../../migrations"))
  return PgMigrator.run({ loader: Effect.map(all, (list) => list.filter(([each]) => each < id)) })
}

/** The database as it was before a migration. */
const databaseBefore = (url: string, migration: number) =>
  Layer.effectDiscard(migrateBelow(migration)).pipe(
    Layer.provide(NodeServices.layer),
    Layer.provideMerge(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 }))
  )

it.live(
  "accounts that nobody has proven become sign-ups, with their links and waiting mails; others stay as they are",
  () =>
    Effect.gen(function*() {
      const url = yield* emptyDatabase
      yield* SqlClient.SqlClient.use((sql) =>
        Effect.gen(function*() {
          yield* sql`
            INSERT INTO users (email, email_key, email_verified_at, name, handle, created_at, updated_at)
            SELECT initcap(name) || '@example.com', name || '@example.com', proven, name, name, '2026-01-01Z', '2026-01-01Z'
            FROM (VALUES ('proven', '2026-01-01'::timestamptz), ('pending', NULL), ('linkless', NULL), ('rich', NULL))
              AS people(name, proven)`
          yield* sql`
            INSERT INTO email_tokens (token_hash, user_id, purpose, password_hash, created_at, expires_at)
            SELECT hash, u.id, 'verify-email', 'password of ' || hash, made::timestamptz, made::timestamptz + '1 day'
            FROM users u, (VALUES ('one', '2026-01-01Z'), ('two', '2026-01-09Z')) AS links(hash, made)
            WHERE u.name = 'pending'`
          yield* sql`
            INSERT INTO outbox (payload, created_at, next_attempt_at, expires_at, user_id)
            SELECT 'a mail', now(), now(), now() + interval '1 day', id FROM users WHERE name = 'pending'`
          yield* sql`
            INSERT INTO audit_events (created_at, event, user_id)
            SELECT now(), 'sign_in.failed', id FROM users WHERE name = 'pending'`
          yield* sql`
            INSERT INTO collections (user_id, name, visibility, share_token, created_at, updated_at)
            SELECT id, 'x', 'private', md5('x'), now(), now() FROM users WHERE name = 'rich'`
        })
      ).pipe(Effect.provide(databaseBefore(url, 14)))

      yield* SqlClient.SqlClient.use((sql) =>
        Effect.gen(function*() {
          const users = yield* sql<{ name: string }>`SELECT name FROM users ORDER BY id`
          assert.deepStrictEqual(users.map(({ name }) => name), ["proven", "rich"])
          const signUps = yield* sql`
            SELECT s.email, s.name, s.password_hash, t.token_hash, t.user_id, s.expires_at
            FROM sign_ups s LEFT JOIN email_tokens t ON t.sign_up_id = s.id ORDER BY s.name, t.token_hash`
          assert.deepStrictEqual<unknown>(signUps, [
            {
              email: "Linkless@example.com",
              name: "linkless",
              password_hash: null,
              token_hash: null,
              user_id: null,
              expires_at: new Date("2026-01-08").toISOString()
            },
            ...[["one", "2026-01-08"], ["two", "2026-01-16"]].map(([hash = "", until = ""]) => ({
              email: "Pending@example.com",
              name: "pending",
              password_hash: `password of ${hash}`,
              token_hash: hash,
              user_id: null,
              expires_at: new Date(until).toISOString()
            }))
          ])
          assert.lengthOf(yield* sql`SELECT 1 FROM outbox WHERE user_id IS NULL`, 1)
          assert.lengthOf(yield* sql`SELECT 1 FROM audit_events WHERE user_id IS NULL`, 1)
        })
      ).pipe(
        Effect.provide(
          Layer.provide(databaseLive, ConfigProvider.layer(ConfigProvider.fromUnknown({ DATABASE_URL: url })))
        )
      )
    }).pipe(Effect.scoped),
  60_000
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

it.live("usage and statistics count what accounts had before they were counted", () =>
  Effect.gen(function*() {
    const url = yield* emptyDatabase
    yield* Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* migrateBelow(13)
      yield* sql`
        INSERT INTO users (email, email_key, email_verified_at, name, handle, created_at, updated_at)
        SELECT h || '@example.com', h || '@example.com', now(), h, h, now(), now() FROM unnest(array['ada', 'bob']) h`
      yield* sql`
        INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, geometry, simplified, polyline6,
          description, distance, provenance, share_token, created_at, updated_at, deleted_at)
        SELECT id, 'x', 'private', '{}', false, '[1]', '[22]', '[3]', NULL, 'é', n + 0.1, 'generation', md5(n::text), now(),
          now(), CASE WHEN n = 1 THEN now() END
        FROM users, generate_series(1, 3) n WHERE handle = 'ada'`
      yield* sql`
        INSERT INTO collections (user_id, name, visibility, share_token, created_at, updated_at)
        SELECT id, 'x', 'private', md5(handle), now(), now() FROM users WHERE handle = 'ada'`
      yield* sql`
        INSERT INTO idempotency_keys (user_id, endpoint, key, request_hash, body, headers, created_at)
        SELECT id, 'e', 'k', 'h', '{}', '{"a":1}', now() FROM users WHERE handle = 'ada'`
      yield* migrateBelow(Infinity)
      const usage = yield* sql`
        SELECT u.handle, r.routes::int, r.stored_bytes::int, r.live_routes::int, r.live_distance::text, c.collections::int
        FROM users u LEFT JOIN route_usage r ON r.user_id = u.id LEFT JOIN collection_usage c ON c.user_id = u.id
        ORDER BY u.handle`
      assert.deepStrictEqual(usage, [
        {
          handle: "ada",
          routes: 3,
          stored_bytes: 3 * (3 + 4 + 3 + 2) + 2 + 7,
          live_routes: 2,
          live_distance: "5.2",
          collections: 1
        },
        { handle: "bob", routes: 0, stored_bytes: 0, live_routes: 0, live_distance: "0", collections: 0 }
      ])
    }).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })))
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))

it.live("a public route of before gets the instant at which it was published, and none is stored without", () =>
  Effect.gen(function*() {
    const url = yield* emptyDatabase
    yield* Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* migrateBelow(38)
      yield* sql`
        INSERT INTO users (email, email_key, email_verified_at, name, handle, created_at, updated_at)
        VALUES ('a@example.com', 'a@example.com', now(), 'a', 'ada', now(), now())`
      const insert = (visibility: string, publishedAt: string | null) =>
        sql`
          INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, provenance, share_token, published_at,
            created_at, updated_at)
          SELECT id, 'x', ${visibility}, '{}', false, '[]', 'generation', md5(random()::text), ${publishedAt}::timestamptz,
            '2026-01-01Z', '2026-02-01Z' FROM users`
      yield* insert("public", null)
      yield* insert("public", "2026-01-02T00:00:00Z")
      yield* insert("private", null)
      yield* migrateBelow(Infinity)
      const routes = yield* sql`SELECT visibility, published_at, version::int FROM routes ORDER BY id`
      assert.deepStrictEqual<unknown>(routes, [
        { visibility: "public", published_at: new Date("2026-02-01T00:00:00Z"), version: 1 },
        { visibility: "public", published_at: new Date("2026-01-02T00:00:00Z"), version: 1 },
        { visibility: "private", published_at: null, version: 1 }
      ])
      const publish = sql`UPDATE routes SET visibility = 'public' WHERE visibility = 'private'`
      for (const write of [insert("public", null), publish]) {
        assert.strictEqual((yield* Effect.flip(write)).reason._tag, "ConstraintError")
      }
    }).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })))
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))

it.live("addresses and names of before get their exact key and lose format characters, and mails are counted on", () =>
  Effect.gen(function*() {
    const url = yield* emptyDatabase
    yield* Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* migrateBelow(30)
      const people = [
        ["\u212Aim@example.com", "kim@example.com", "Ki\u200Dm\u202E n\u{1D173}hoJ\u200B\u{E0001}"],
        ["J\u00D6RG@example.com", "j\u00F6rg@example.com", "\u202E"],
        ["j\u00F6rg@b\u00FCcher.example", "j\u00F6rg@xn--bcher-kva.example", "J\u00F6rg"],
        ["Ada@example.com", "ada@example.com", "Ada"]
      ]
      for (const [n, [email, key, name]] of people.entries()) {
        yield* sql`
          INSERT INTO users (email, email_key, email_verified_at, name, handle, created_at, updated_at)
          VALUES (${email}, ${key}, now(), ${name}, ${`rider-${n}`}, now(), now())`
        yield* sql`
          INSERT INTO sign_ups (email, email_key, name, created_at, expires_at)
          SELECT ${email}, ${key}, ${name}, now(), now() FROM generate_series(1, 2)`
      }
      yield* sql`
        INSERT INTO users (email, email_key, email_verified_at, name, handle, created_at, updated_at)
        SELECT h || '@example.com', h || '@example.com', now(), h, h, now(), now()
        FROM (SELECT 'rider' || n AS h FROM generate_series(1, 5000) n) many`
      yield* sql`INSERT INTO mail_quotas (recipient, sent_at, expires_at) VALUES ('x', ARRAY[now()], now())`
      yield* Effect.void.pipe(Effect.provide(
        Layer.fresh(databaseLive).pipe(
          Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ DATABASE_URL: url })))
        )
      ))
      const columns = sql`SELECT email_key AS key, name`
      const keys = [
        "\u212Aim@example.com",
        "J\u00D6RG@example.com",
        "j\u00F6rg@xn--bcher-kva.example",
        "ada@example.com"
      ]
      const expected = (nameless: string) =>
        ["Kim nhoJ", nameless, "J\u00F6rg", "Ada"].map((name, n) => ({ key: keys[n], name }))
      assert.deepStrictEqual<unknown>([...yield* sql`${columns} FROM users ORDER BY id LIMIT 4`], expected("rider-1"))
      assert.deepStrictEqual<unknown>(
        [...yield* sql`${columns} FROM sign_ups WHERE network IS NULL AND id % 2 = 1 ORDER BY id`],
        expected("rider")
      )
      assert.deepStrictEqual<unknown>([...yield* sql`SELECT sent_from FROM mail_quotas`], [{ sent_from: [] }])
    }).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })))
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))
