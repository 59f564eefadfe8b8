import { PgClient } from "@effect/sql-pg"
import { assert, it, layer } from "@effect/vitest"
import { ConfigProvider, Effect, Fiber, Layer, Logger, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Client } from "pg"
import { inject } from "vitest"
import repairedSchema from "../../migrations/0063_repaired_schema.ts"
import { databaseLive } from "../../src/layers/Database.ts"
import { catalogue } from "../support/Catalogue.ts"
import { clonedDatabase, databaseAt, emptyDatabase, onServer } from "../support/Databases.ts"
import { untilLocked, whileLocked } from "../support/Locks.ts"
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
    }).pipe(Effect.scoped)
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

/** Writes a migration of a newer version into a database, which names the oldest version that may run on it. */
const becomesNewer = (url: string, oldest: number) =>
  run(
    url,
    `INSERT INTO effect_sql_migrations (migration_id, name) VALUES (9000, 'of_tomorrow');
    UPDATE oldest_version SET migration = ${oldest}`
  )

it.live("a database of a newer version that this one may not run beside is refused", () =>
  Effect.gen(function*() {
    const url = yield* clonedDatabase
    yield* becomesNewer(url, 9000)
    const refusal = yield* Effect.flip(Effect.provide(tables, started(url)))
    assert.include(refusal.message, "the database has migration 9000 (of_tomorrow) of a newer version")
    assert.include(refusal.message, "needs a version that knows migration 9000")
  }).pipe(Effect.scoped))

it.live("a process starts on a database of a newer version that names it, so that a rollout can be undone", () =>
  Effect.gen(function*() {
    const url = yield* clonedDatabase
    const [newest = 0] = (yield* numbers.pipe(Effect.provide(onDatabase(url)))).slice(-1)
    yield* becomesNewer(url, newest)
    assert.isAbove((yield* Effect.provide(tables, started(url))).length, 3)
  }).pipe(Effect.scoped))

it.live("a migration needs the address past a pooler, and a process that has nothing to migrate starts without it", () =>
  Effect.gen(function*() {
    const past = (url: string) => started(url, { DATABASE_LISTEN_URL: "postgres://nobody@127.0.0.1:1/none" })
    assert.isAbove((yield* Effect.provide(tables, past(yield* clonedDatabase))).length, 3)
    assert.strictEqual((yield* Effect.exit(Effect.provide(tables, past(yield* emptyDatabase))))._tag, "Failure")
  }).pipe(Effect.scoped))

it.live("a migration by the address of another database is refused, and changes neither", () =>
  Effect.gen(function*() {
    const [url, other] = [yield* emptyDatabase, yield* emptyDatabase]
    const refusal = yield* Effect.flip(Effect.provide(tables, started(url, { DATABASE_LISTEN_URL: other })))
    assert.include(refusal.message, "DATABASE_LISTEN_URL: it leads to another database than DATABASE_URL")
    for (const each of [url, other]) assert.isEmpty(yield* Effect.provide(tables, onDatabase(each)))
  }).pipe(Effect.scoped))

it.live("a process that has nothing to migrate starts beside a backup", () =>
  Effect.gen(function*() {
    const url = yield* clonedDatabase
    yield* whileLocked(
      (sql) => sql`LOCK TABLE effect_sql_migrations IN ACCESS SHARE MODE`,
      Effect.provide(tables, started(url))
    ).pipe(Effect.provide(onDatabase(url)))
  }).pipe(Effect.scoped))

it.live("a migration that waits for a report lets reads pass, logs what holds its lock, and ends after the report", () =>
  Effect.gen(function*() {
    const url = yield* databaseBefore
    const lines: Array<string> = []
    const logger = Logger.make(({ message }) => void lines.push(JSON.stringify(message)))
    const migrating = Effect.provide(numbers, Layer.provide(started(url), Logger.layer([logger])))
    const read = SqlClient.SqlClient.use((sql) =>
      sql.withTransaction(Effect.andThen(sql`SET LOCAL lock_timeout = '2s'`, sql`SELECT count(*) FROM users`))
    )
    const process = yield* whileLocked(
      (sql) => sql`SELECT count(*) FROM users`,
      Effect.gen(function*() {
        const process = yield* Effect.forkChild(migrating)
        // Each read begins while the migration is before it in the queue for the lock.
        for (let reads = 0; reads < 3; reads++) yield* Effect.andThen(untilLocked(1), read)
        yield* until(Effect.sync(() => lines.some((line) => line.includes("migration waits for a lock"))))
        return process
      })
    ).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 3, applicationName: "a report" })))
    const all = yield* Fiber.join(process)
    assert.deepStrictEqual(all.slice(0, 3), [40, 42, 43])
    const wait = lines.find((line) => line.includes("migration waits for a lock")) ?? ""
    assert.include(wait, "\"application\":\"a report\"")
    assert.include(wait, "\"state\":\"idle in transaction\"")
    const migrated = lines.filter((line) => line.includes("database migrated"))
    assert.strictEqual(migrated.length, all.length - 1)
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
    }).pipe(Effect.scoped)
)

/** Does what the service does with a database at its start. */
const started = (url: string, others: Readonly<Record<string, string>> = {}) =>
  Layer.fresh(databaseLive).pipe(
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ DATABASE_URL: url, ...others })))
  )

const onDatabase = (url: string) => PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })

/** Runs several statements at once, as only this client sends them. */
const run = (url: string, statements: string) =>
  Effect.acquireUseRelease(
    Effect.promise(async () => {
      const client = new Client(url)
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.query(statements)),
    (client) => Effect.promise(() => client.end())
  )

/** Makes an empty database as the last version before the baseline left it. */
const databaseBefore = Effect.gen(function*() {
  const url = yield* emptyDatabase
  const structure = readFileSync(join(import.meta.dirname, "../support/schemaAt40.sql"), "utf8")
  yield* run(url, structure)
  yield* run(
    url,
    "INSERT INTO effect_sql_migrations (migration_id, name) VALUES (40, 'plain_names'); INSERT INTO change_epochs DEFAULT VALUES"
  )
  return url
})

const numbers = SqlClient.SqlClient.use((sql) =>
  sql<{ id: number }>`SELECT migration_id AS id FROM effect_sql_migrations ORDER BY id`
).pipe(Effect.map((rows) => rows.map(({ id }) => id)))

it.live("migrations lead from the version before to the schema that an empty database is built from", () =>
  Effect.gen(function*() {
    const before = yield* databaseBefore
    const old = yield* catalogue.pipe(Effect.provide(onDatabase(before)))
    const built = yield* Effect.all([catalogue, numbers]).pipe(Effect.provide(started(yield* emptyDatabase)))
    const migrated = yield* Effect.all([catalogue, numbers]).pipe(Effect.provide(started(before)))
    assert.isAbove(built[0].length, 200)
    assert.notDeepEqual(old, built[0])
    assert.deepStrictEqual(migrated[0], built[0])
    assert.deepStrictEqual(built[1], migrated[1].slice(-1))
    assert.deepStrictEqual(migrated[1].slice(0, 2), [40, 42])
  }).pipe(Effect.scoped))

it.live("a database of the version before keeps what it stores, and counts, finds and records on", () =>
  Effect.gen(function*() {
    const url = yield* databaseBefore
    yield* run(
      url,
      `
      INSERT INTO users (email, email_key, email_verified_at, password_hash, name, handle, created_at, updated_at)
      SELECT h || '@example.com', h || '@example.com', proven, 'digest of ' || h, h, h, '2026-01-01Z', '2026-01-02Z'
      FROM (VALUES ('ada', '2026-01-01'::timestamptz), ('unproven', NULL)) people(h, proven);
      INSERT INTO sessions (id, user_id, created_at, last_seen_at, expires_at)
      SELECT gen_random_uuid(), id, now(), now(), 'infinity' FROM users;
      INSERT INTO email_tokens (token_hash, user_id, purpose, created_at, expires_at)
      SELECT handle, id, 'reset-password', now(), 'infinity' FROM users;
      INSERT INTO personal_access_tokens (user_id, name, scope, token_hash, hint, created_at)
      SELECT id, 'x', 'read', handle, 'x', now() FROM users;
      INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, geometry, simplified, polyline6, cues, description,
        distance, provenance, share_token, created_at, updated_at, deleted_at)
      SELECT id, 'Gravel ' || n, 'private', '{}', false, '[1]', '[22]', '[3]', NULL, '[4]', 'é', n + 0.1, 'generation',
        md5(handle || n), now(), now(), CASE WHEN n = 1 THEN now() END
      FROM users, generate_series(1, 3) n;
      UPDATE routes SET name = 'طريق ١٢', bounds = '(1e-200,46),(-1e-200,45)' WHERE name = 'Gravel 3';
      INSERT INTO collections (user_id, name, visibility, share_token, created_at, updated_at)
      SELECT id, 'x', 'private', md5(handle), now(), now() FROM users;
      INSERT INTO idempotency_keys (user_id, endpoint, key, request_hash, body, headers, created_at)
      SELECT id, 'e', 'k', 'h', '{}', '{"a":1}', now() FROM users;
      DELETE FROM route_words WHERE route_id % 2 = 0;
      INSERT INTO route_words_due DEFAULT VALUES`
    )
    yield* Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const found = (word: string) =>
        sql<{ found: number }>`
        SELECT count(*)::int AS found FROM users u JOIN routes r ON r.user_id = u.id JOIN route_words w ON w.route_id = r.id
        WHERE w.words @@ search_query(u.id || '/', ${word}, '&')`
      const usage = sql`
        SELECT u.handle, r.routes::int, r.stored_bytes::int, r.live_routes::int, r.live_distance::text, c.collections::int,
          (SELECT count(*)::int FROM pending_changes p WHERE p.user_id = u.id) AS changes
        FROM users u JOIN route_usage r ON r.user_id = u.id JOIN collection_usage c ON c.user_id = u.id ORDER BY u.handle`
      const stored = {
        routes: 3,
        stored_bytes: 3 * (3 + 4 + 3 + 3 + 2) + 2 + 7,
        live_routes: 2,
        live_distance: "5.2",
        collections: 1,
        changes: 4
      }
      assert.deepStrictEqual([...yield* usage], [{ handle: "ada", ...stored }, { handle: "unproven", ...stored }])
      assert.deepStrictEqual([...yield* found("grav")], [{ found: 4 }])
      assert.deepStrictEqual([...yield* found("12")], [{ found: 2 }])
      assert.deepStrictEqual(
        [
          ...yield* sql`SELECT DISTINCT bounds::text, to_regclass('routes_bounds_idx') IS NOT NULL AS has FROM routes
          WHERE bounds IS NOT NULL`
        ],
        [{ bounds: "(0,46),(0,45)", has: true }]
      )
      const credentials = yield* sql`
        SELECT handle, email_verified_at, password_hash,
          (SELECT count(*)::int FROM sessions s WHERE s.user_id = u.id)
            + (SELECT count(*)::int FROM email_tokens t WHERE t.user_id = u.id)
            + (SELECT count(*)::int FROM personal_access_tokens p WHERE p.user_id = u.id) AS others
        FROM users u ORDER BY handle`
      assert.deepStrictEqual<unknown>([...credentials], [
        {
          handle: "ada",
          email_verified_at: new Date("2026-01-01Z").toISOString(),
          password_hash: "digest of ada",
          others: 3
        },
        { handle: "unproven", email_verified_at: new Date("2026-01-02Z").toISOString(), password_hash: null, others: 0 }
      ])

      yield* sql`UPDATE routes SET cues = NULL, version = version + 1 WHERE deleted_at IS NULL`
      yield* sql`UPDATE collections SET deleted_at = now(), version = version + 1`
      yield* sql`DELETE FROM routes WHERE deleted_at IS NOT NULL`
      yield* sql`DELETE FROM idempotency_keys`
      const left = {
        routes: 2,
        stored_bytes: 2 * (3 + 4 + 3 + 2),
        live_routes: 2,
        live_distance: "5.2",
        collections: 0,
        changes: 8
      }
      assert.deepStrictEqual([...yield* usage], [{ handle: "ada", ...left }, { handle: "unproven", ...left }])
    }).pipe(Effect.provide(started(url)))
  }).pipe(Effect.scoped))

it.live("batches of rows may take longer than a statement of a request", () =>
  Effect.gen(function*() {
    const url = yield* databaseBefore
    yield* run(
      url,
      `
      INSERT INTO users (email, email_key, name, handle, created_at, updated_at) VALUES ('a', 'a', 'a', 'ada', now(), now());
      INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, provenance, share_token, created_at, updated_at)
      SELECT id, 'طريق', 'private', '{}', false, '[]', 'generation', md5(handle), now(), now() FROM users;
      DELETE FROM route_words;
      INSERT INTO route_words_due DEFAULT VALUES;
      CREATE FUNCTION sleep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1.1); RETURN NEW; END';
      CREATE TRIGGER sleep BEFORE INSERT OR UPDATE ON route_words FOR EACH ROW EXECUTE FUNCTION sleep();
      DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET statement_timeout = 1000'; END $$`
    )
    assert.isNotEmpty(yield* numbers.pipe(Effect.provide(started(url))))
  }).pipe(Effect.scoped))

it.live("a database of a commit that lacked a part of a migration gets it", () =>
  Effect.gen(function*() {
    const url = yield* clonedDatabase
    const built = yield* catalogue.pipe(Effect.provide(onDatabase(url)))
    yield* run(
      url,
      `
      ALTER TABLE routes DROP client_digest;
      ALTER TABLE collections DROP client_digest;
      ALTER TABLE share_links DROP client_digest;
      DROP TRIGGER keep_on_number ON change_counters;
      DROP FUNCTION keep_last_number, current_run;
      DROP TABLE kept_changes, server_runs`
    )
    const repaired = Effect.andThen(repairedSchema, catalogue)
    assert.deepStrictEqual(yield* repaired.pipe(Effect.provide(onDatabase(url))), built)
  }).pipe(Effect.scoped))

it.live("a database of an older version is refused, with the version that migrates it", () =>
  Effect.gen(function*() {
    const url = yield* databaseBefore
    yield* run(url, "UPDATE effect_sql_migrations SET migration_id = 39, name = 'collection_trash'")
    const refusal = yield* Effect.flip(Effect.provide(tables, started(url)))
    assert.include(refusal.message, "the database has migration 39 (collection_trash) of an earlier version")
    assert.match(
      refusal.message,
      /Start the version of commit [0-9a-f]{10} once, which migrates the database, then this one/
    )
  }).pipe(Effect.scoped))

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
  it.effect("has no gaps beyond a line, which a process of a version without gaps has replaced", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        INSERT INTO users (email, email_key, email_verified_at, name, handle, created_at, updated_at)
        VALUES ('a', 'a', now(), 'a', 'ada', now(), now())`
      yield* sql`
        INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, geometry, position_count, segments,
          simplified_segments, provenance, share_token, created_at, updated_at)
        SELECT id, n, 'private', '{}', false, '[]', '[]', 60, '[0,30]', '[0,3]', 'generation', md5(n), now(), now()
        FROM users, unnest('{long,short,none}'::text[]) n`
      yield* sql`
        UPDATE routes SET geometry = '[]', position_count = CASE name WHEN 'long' THEN 31 WHEN 'short' THEN 30 ELSE 0 END`
      assert.deepStrictEqual<unknown>(
        [...yield* sql`SELECT name, segments, simplified_segments AS simplified FROM routes ORDER BY id`],
        [
          { name: "long", segments: "[0,30]", simplified: "[0,3]" },
          { name: "short", segments: null, simplified: null },
          { name: "none", segments: null, simplified: null }
        ]
      )
    }))
})
