import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { spawnSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inject } from "vitest"
import { postgresOwner } from "../../development/PostgresBinaries.ts"
import { signedIn, signedInAs } from "../support/Actors.ts"
import { databaseAt, onServer, TEMPLATE } from "../support/Databases.ts"
import { created, newRoute, shareTokenOf } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint, scriptOf } from "../support/Tokens.ts"

const ADMIN = "full@admins.example"

const FULL = { statusCode: 503, code: "INTERNAL", message: "The database is not available" }

const tables = SqlClient.SqlClient.use((sql) =>
  sql<{ name: string }>`
    SELECT c.oid::regclass::text AS name FROM pg_class c
    WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND c.relname <> 'effect_sql_migrations'`
)

/** Every write fails as on a full disk. */
const fill = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN
      RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100';
    END $$`
  for (const { name } of yield* tables) {
    yield* sql`CREATE TRIGGER no_room BEFORE INSERT OR UPDATE ON ${sql(name)} EXECUTE FUNCTION no_room()`
  }
})

const free = SqlClient.SqlClient.use((sql) => sql`DROP FUNCTION no_room() CASCADE`)

layer(TestServer.layer({ ADMIN_EMAILS: ADMIN }), { excludeTestServices: true })(
  "a database without room",
  (it) => {
    it.effect(
      "is 503 to writes and 200 to reads, those that note their use among them, and is used again at once",
      () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const rider = yield* signedIn
          const admin = yield* signedInAs({ email: ADMIN })
          const script = yield* scriptOf(rider, "read")
          yield* mint(rider, "write")
          const route = created((yield* rider.post("/routes", newRoute({ visibility: "public" }))).body)
          yield* sql`UPDATE sessions SET last_seen_at = last_seen_at - interval '1 hour'`
          yield* sql`UPDATE personal_access_tokens SET last_used_at = NULL`
          yield* fill

          const reads = yield* Effect.all([
            rider.get("/users/me"),
            rider.get("/routes"),
            rider.get(`/routes/${route.id}`),
            rider.get(`/routes/${shareTokenOf(route)}/gpx`),
            rider.get("/routes/public"),
            rider.get("/auth/tokens"),
            script.get("/routes"),
            admin.get("/admin/users"),
            admin.get(`/admin/users/${rider.id}`),
            admin.get("/admin/routes"),
            admin.get("/admin/deletions"),
            admin.get("/admin/audit"),
            admin.get("//health/ready")
          ])
          assert.deepStrictEqual(reads.map(({ status }) => status), reads.map(() => 200))
          const writes = yield* Effect.all([
            rider.post("/routes", newRoute({})),
            rider.post("/routes", newRoute({}), { headers: { "idempotency-key": "no-room" } }),
            rider.patch(`/routes/${route.id}`, { name: "y" }),
            rider.delete(`/routes/${route.id}`),
            rider.post("/collections", { name: "x" }),
            rider.delete("/users/me")
          ])
          for (const { body, headers, status } of writes) {
            assert.strictEqual(status, 503)
            assert.deepInclude(body, FULL)
            assert.strictEqual(headers.get("retry-after"), "1")
          }

          yield* free
          const again = yield* rider.post("/routes", newRoute({}), { headers: { "idempotency-key": "no-room" } })
          assert.strictEqual(again.status, 201)
        })
    )
  }
)

/** The disk is larger than a migrated database, and soon full. */
const SIZE = "64m"

const mount = (directory: string) =>
  spawnSync("mount", ["-t", "tmpfs", "-o", `size=${SIZE}`, "tmpfs", directory]).status === 0

/** Makes a file system of its own, where this machine lets us have one. */
const makeDisk = () => {
  const directory = mkdtempSync(join(tmpdir(), "disk-"))
  chmodSync(directory, 0o755)
  if (process.geteuid?.() === 0 && mount(directory)) return directory
  rmSync(directory, { recursive: true })
  return undefined
}

const removeDisk = (directory: string) => {
  spawnSync("umount", ["--lazy", directory])
  rmSync(directory, { recursive: true, force: true })
}

const canMount = (() => {
  const disk = makeDisk()
  if (disk !== undefined) removeDisk(disk)
  return disk !== undefined
})()

const disk = Effect.acquireRelease(
  Effect.promise(async () => {
    const directory = makeDisk() ?? ""
    const owner = await postgresOwner()
    const { gid, uid } = owner ?? statSync(directory)
    mkdirSync(join(directory, "space"))
    chownSync(join(directory, "space"), uid, gid)
    return directory
  }),
  (directory) => Effect.sync(() => removeDisk(directory))
)

/** Makes a migrated database on a file system of its own. */
const databaseOnDisk = Effect.gen(function*() {
  const directory = yield* disk
  const name = `small_${randomUUID().replaceAll("-", "")}`
  yield* Effect.acquireRelease(
    onServer((sql) =>
      Effect.andThen(
        sql`CREATE TABLESPACE ${sql(name)} LOCATION ${sql.literal(`'${join(directory, "space")}'`)}`,
        sql`CREATE DATABASE ${sql(name)} TEMPLATE ${sql(TEMPLATE)} TABLESPACE ${sql(name)} STRATEGY file_copy`
      )
    ),
    () =>
      onServer((sql) => Effect.andThen(sql`DROP DATABASE ${sql(name)} WITH (FORCE)`, sql`DROP TABLESPACE ${sql(name)}`))
  )
  return databaseAt(inject("postgresUrl"), name)
})

const onSmallDisk = Layer.unwrap(Effect.map(databaseOnDisk, (url) => TestServer.on(url, {})))

/** The line is hardly compressible, and short enough to be read without a thread. */
const LONG_LINE = Array.from({ length: 1000 }, (_, n) => [
  9 + Math.cos(n * 104_729) * 0.1,
  47 + Math.sin(n * 7919) * 0.1
])

describe.skipIf(!canMount)("a disk that is full (skipped where no file system can be mounted)", () => {
  layer(onSmallDisk, { excludeTestServices: true })((it) => {
    it.effect("is 503 to writes and 200 to reads, and is used again once there is room", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const rider = yield* signedIn
        const long = newRoute({ geometry: LONG_LINE })
        const first = yield* rider.post("/routes", long)
        assert.strictEqual(first.status, 201)
        yield* sql`CREATE TABLE filler (bytes text)`
        const more = sql`INSERT INTO filler SELECT md5(n::text) || md5((-n)::text) FROM generate_series(1, 10000) n`
        const { reason } = yield* Effect.flip(Effect.forever(more))
        assert.include(JSON.stringify(reason.cause), "53100")

        const refused = yield* Effect.repeat(rider.post("/routes", long), { until: ({ status }) => status !== 201 })
        assert.strictEqual(refused.status, 503)
        assert.deepInclude(refused.body, FULL)
        for (const path of ["/routes", `/routes/${created(first.body).id}`, "/users/me", "//health/ready"]) {
          assert.strictEqual((yield* rider.get(path)).status, 200)
        }

        yield* sql`DROP TABLE filler`
        assert.strictEqual((yield* rider.post("/routes", long)).status, 201)
      }))
  })
})
