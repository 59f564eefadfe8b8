import { PgClient } from "@effect/sql-pg"
import { assert, describe, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { execFile, spawn, spawnSync } from "node:child_process"
import { chmodSync, chownSync, globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { freePort } from "../../development/FreePort.ts"
import { postgresOwner } from "../../development/PostgresBinaries.ts"
import { type Actor, anonymous, signedUp, withHeaders } from "../support/Actors.ts"
import { databaseAt } from "../support/Databases.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { created, newRoute } from "../support/Routes.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint, withToken } from "../support/Tokens.ts"
import { until } from "../support/Waiting.ts"

/**
 * Debian has the programs of PostgreSQL here: those of the npm package lack pg_dump, and an older one refuses its
 * server.
 */
const BIN = globSync("/usr/lib/postgresql/*/bin").find((bin) => globSync(join(bin, "{initdb,pg_dump}")).length === 2)

const documented = (file: string) =>
  /## Backup and restore[\s\S]*?```sh\n([\s\S]*?)```/.exec(
    readFileSync(join(import.meta.dirname, "../../docs/operations.md"), "utf8")
  )?.[1]?.replaceAll("backup.dump", file) ?? ""

const query = (url: string, statement: string) =>
  SqlClient.SqlClient.use((sql) => sql.unsafe<Readonly<Record<string, unknown>>>(statement)).pipe(
    Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 }))
  )

/** Runs one of the documented commands, by which a database is dumped and restored into another. */
const execute = (bin: string, command: string, url: string, restored: string) =>
  Effect.callback<{ readonly code: unknown; readonly stderr: string }>((resume) => {
    const env = { PATH: `${bin}:${process.env["PATH"]}`, DATABASE_URL: url, RESTORED_URL: restored }
    execFile(
      "sh",
      ["-euc", command],
      { cwd: "/", env },
      (error, _, stderr) => resume(Effect.succeed({ code: error?.code ?? 0, stderr }))
    )
  })

/** Starts a PostgreSQL of Debian, on a directory that one of its programs makes. */
const serverBy = Effect.fnUntraced(
  function*(bin: string, data: string, program: string, options: ReadonlyArray<string>) {
    const owner = yield* Effect.promise(postgresOwner)
    const made = spawnSync(join(bin, program), ["-D", data, "--no-sync", ...options], { ...owner, cwd: "/" })
    assert.strictEqual(made.status, 0, String(made.stderr))
    const port = yield* Effect.promise(() => freePort())
    yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(join(bin, "postgres"), ["-D", data, "-h", "127.0.0.1", "-p", String(port), "-k", "", "-c", "fsync=off"], {
          ...owner,
          cwd: "/",
          stdio: "ignore"
        })
      ),
      (child) =>
        Effect.promise(() => {
          const ended = new Promise<void>((resolve) => child.once("close", () => resolve()))
          child.kill("SIGQUIT")
          return ended
        })
    )
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`
    yield* until(Effect.match(query(url, "SELECT 1"), { onFailure: () => false, onSuccess: () => true }))
    return url
  }
)

/** The server has an empty database, and another that a backup can be restored to. */
class Primary extends Context.Service<Primary, {
  readonly bin: string
  readonly directory: string
  /** They are the addresses of the server's own database and of these two. */
  readonly root: string
  readonly url: string
  readonly restored: string
}>()("test/Primary") {
  static readonly layer = Layer.effect(
    Primary,
    Effect.gen(function*() {
      const bin = BIN ?? ""
      const directory = yield* temporaryDirectory
      const owner = yield* Effect.promise(postgresOwner)
      chmodSync(directory, 0o755)
      if (owner !== undefined) chownSync(directory, owner.uid, owner.gid)
      const options = ["-U", "postgres", "--auth=trust", "--encoding=UTF8"]
      const root = yield* serverBy(bin, join(directory, "data"), "initdb", options)
      yield* query(root, "CREATE DATABASE service")
      yield* query(root, "CREATE DATABASE restored")
      return { bin, directory, root, url: databaseAt(root, "service"), restored: databaseAt(root, "restored") }
    })
  )
}

const cursorOf = Effect.fnUntraced(function*(actor: Pick<Actor, "get">) {
  const { body } = yield* actor.get("/sync")
  return (yield* Schema.decodeUnknownEffect(Schema.Struct({ cursor: Schema.String }))(body).pipe(Effect.orDie)).cursor
})

/** Returns every row of every table, and where every sequence is. */
const contents = Effect.fnUntraced(function*(url: string) {
  const tables = yield* query(
    url,
    `SELECT c.oid::regclass::text AS name FROM pg_class c
     WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace ORDER BY name`
  )
  assert.isAbove(tables.length, 10)
  const sequences = yield* query(
    url,
    "SELECT sequencename AS name, last_value::text FROM pg_sequences WHERE schemaname = 'public' ORDER BY name"
  )
  const rows = yield* Effect.forEach(
    tables,
    ({ name }) =>
      Effect.map(
        query(
          url,
          `SELECT count(*)::int AS rows, md5(string_agg(t::text, '|' ORDER BY t::text)) AS digest FROM ${name} t`
        ),
        (rows) => [name, rows[0]] as const
      )
  )
  return { rows, sequences }
})

const statusOf = Effect.fnUntraced(function*(headers: Readonly<Record<string, string>>, path: string) {
  return (yield* (yield* withHeaders(headers)).get(path)).status
})

describe.skipIf(BIN === undefined)(
  "a backup by the documented commands (skipped where /usr/lib/postgresql has no programs)",
  () => {
    layer(Primary.layer, { excludeTestServices: true })((it) => {
      it.effect(
        "loses nothing, and what was ended since then is live again until JWT_SECRET is another",
        () =>
          Effect.gen(function*() {
            const { bin, directory, restored, url } = yield* Primary
            const run = (command: string) => execute(bin, command, url, restored)
            const [dump = "", restore = ""] = documented(join(directory, "backup.dump")).trim().split("\n")

            const rider = yield* Effect.gen(function*() {
              const rider = yield* signedUp
              const route = created((yield* rider.post("/routes", newRoute({ name: "é \\ \t \"" }))).body)
              yield* rider.post("/collections", { name: "x", routeIds: [route.id] })
              const { token } = yield* mint(rider, "read")
              const visitor = yield* anonymous
              yield* visitor.post("/auth/request-password-reset", { email: rider.email })
              const link = yield* (yield* Mailbox).tokenAfter(rider.email, 1)
              const cursor = yield* cursorOf(rider)
              const before = yield* contents(url)
              assert.deepStrictEqual(yield* run(dump), { code: 0, stderr: "" })
              assert.strictEqual((yield* rider.post("/auth/logout")).status, 200)
              assert.strictEqual((yield* rider.get("/users/me")).status, 401)
              return { before, bearer: { authorization: `Bearer ${rider.token}` }, cursor, link, route, token }
            }).pipe(Effect.provide(TestServer.on(url, {})))

            assert.deepStrictEqual(yield* run(restore), { code: 0, stderr: "" })
            assert.deepStrictEqual(yield* contents(restored), rider.before)

            yield* Effect.gen(function*() {
              assert.strictEqual(yield* statusOf(rider.bearer, "/users/me"), 200)
              assert.strictEqual((yield* (yield* withToken(rider.token)).get(`/routes/${rider.route.id}`)).status, 200)
              const caller = yield* withHeaders(rider.bearer)
              assert.strictEqual((yield* caller.get(`/sync?cursor=${rider.cursor}`)).status, 410)
              const next = created((yield* caller.post("/routes", newRoute({}))).body)
              assert.isAbove(next.id, rider.route.id)
              const reset = { token: rider.link, password: "another long password" }
              assert.strictEqual((yield* (yield* anonymous).post("/auth/reset-password", reset)).status, 200)
            }).pipe(Effect.provide(TestServer.on(restored, {})))

            yield* Effect.gen(function*() {
              assert.strictEqual(yield* statusOf(rider.bearer, "/users/me"), 401)
              const token = yield* withToken(rider.token)
              assert.strictEqual((yield* token.get("/routes")).status, 200)
              assert.strictEqual((yield* token.get(`/sync?cursor=${rider.cursor}`)).status, 410)
            }).pipe(Effect.provide(TestServer.on(restored, { JWT_SECRET: "another secret, 32 characters or more" })))
          })
      )

      it.effect(
        "has all that was acknowledged before it, while writes go on",
        () =>
          Effect.gen(function*() {
            const { bin, directory, root, url } = yield* Primary
            const restored = databaseAt(root, "busy")
            yield* query(root, "CREATE DATABASE busy")
            const [dump = "", restore = ""] = documented(join(directory, "busy.dump")).trim().split("\n")
            const acknowledged: Array<number> = []
            const before = yield* Effect.gen(function*() {
              const rider = yield* signedUp
              const writing = rider.post("/routes", newRoute({})).pipe(
                Effect.map(({ body }) => void acknowledged.push(created(body).id)),
                Effect.forever
              )
              const writers = Effect.all([writing, writing, writing], { concurrency: 3, discard: true })
              yield* Effect.raceFirst(until(Effect.sync(() => acknowledged.length > 10)), writers)
              const before = [...acknowledged]
              const dumped = yield* Effect.raceFirst(execute(bin, dump, url, restored), writers)
              assert.deepStrictEqual<unknown>(dumped, { code: 0, stderr: "" })
              return before
            }).pipe(Effect.provide(TestServer.on(url, {})))
            assert.isAbove(acknowledged.length, before.length)
            assert.deepStrictEqual(yield* execute(bin, restore, url, restored), { code: 0, stderr: "" })
            const rows = yield* query(restored, "SELECT id::int FROM routes")
            assert.includeMembers(rows.map(({ id }) => id), before)
          })
      )

      it.effect(
        "that follows the database, and takes its place, leaves clients their copies where nothing is lost",
        () =>
          Effect.gen(function*() {
            const { bin, directory, root, url } = yield* Primary
            const { bearer, cursor } = yield* Effect.gen(function*() {
              const rider = yield* signedUp
              yield* rider.post("/routes", newRoute({}))
              const cursor = yield* cursorOf(rider)
              assert.strictEqual((yield* rider.get(`/sync?cursor=${cursor}`)).status, 200)
              return { bearer: { authorization: `Bearer ${rider.token}` }, cursor }
            }).pipe(Effect.provide(TestServer.on(url, {})))
            const standby = yield* serverBy(bin, join(directory, "standby"), "pg_basebackup", [
              "-R",
              "--checkpoint=fast",
              "--dbname",
              root
            ])
            yield* query(standby, "SELECT pg_promote()")
            yield* Effect.gen(function*() {
              const rider = yield* withHeaders(bearer)
              const { body, status } = yield* rider.get(`/sync?cursor=${cursor}`)
              assert.strictEqual(status, 200)
              assert.deepInclude(body, { changes: [] })
            }).pipe(Effect.provide(TestServer.on(databaseAt(standby, "service"), {})))
          })
      )
    })
  }
)
