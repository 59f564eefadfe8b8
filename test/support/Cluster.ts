import { PgClient } from "@effect/sql-pg"
import { Effect, Exit, Fiber, Redacted, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { spawnSync } from "node:child_process"
import { chownSync, copyFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { embeddedPostgres } from "../../development/EmbeddedDatabase.ts"
import { dataDirectoryFor, passwordFile, postgresOwner } from "../../development/PostgresBinaries.ts"
import { migrated } from "./Databases.ts"
import { directoryInMemory } from "./TemporaryDirectory.ts"
import { until } from "./Waiting.ts"

/** Commits wait for no disk, but are in the log of a standby as in production. */
const SETTINGS = ["synchronous_commit=on", "wal_keep_size=64MB", "autovacuum=off", "jit=off"]

export const query = (url: string, statement: string) =>
  SqlClient.SqlClient.use((sql) => sql.unsafe<Readonly<Record<string, unknown>>>(statement)).pipe(
    Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })),
    Effect.orDie
  )

export interface Member {
  readonly url: string
  readonly port: number
  readonly stop: Effect.Effect<void>
}

export const directoryOf = ({ url }: Pick<Member, "url">) =>
  Effect.map(query(url, "SELECT current_setting('data_directory') AS path"), ([row]) => String(row?.["path"]))

const started = Effect.fnUntraced(function*(directory: string) {
  const scope = yield* Scope.fork(yield* Effect.scope)
  const address = yield* Effect.orDie(
    Scope.provide(embeddedPostgres({ directory, durable: false, settings: SETTINGS }), scope)
  )
  const url = Redacted.value(address)
  return { url, port: Number(new URL(url).port), stop: Scope.close(scope, Exit.void) }
})

/** A process makes the data of a migrated server once: copying it takes a tenth of the time. */
const data = Effect.gen(function*() {
  const root = yield* directoryInMemory
  process.on("exit", () => rmSync(root, { recursive: true, force: true }))
  const directory = join(root, "data")
  yield* Effect.scoped(
    Effect.flatMap(embeddedPostgres({ directory, durable: false }), (url) => migrated(Redacted.value(url)))
  )
  return yield* Effect.promise(async () => dataDirectoryFor(directory, await postgresOwner()))
}).pipe(Scope.provide(Scope.makeUnsafe()), Effect.orDie, Effect.cached, Effect.runSync)

/** Starts a migrated PostgreSQL, and copies of it: the programs of the npm package lack `pg_basebackup`. */
export const cluster = Effect.gen(function*() {
  const from = yield* data
  const root = yield* directoryInMemory
  const owner = yield* Effect.promise(postgresOwner)
  const place = yield* Effect.promise(() => dataDirectoryFor(join(root, "primary"), owner))
  spawnSync("cp", ["-a", from, place])
  copyFileSync(passwordFile(from), passwordFile(place))
  const primary = yield* started(place)
  const directory = yield* directoryOf(primary)

  const write = (path: string, text: string) => {
    writeFileSync(path, text, { flag: "a" })
    if (owner !== undefined) chownSync(path, owner.uid, owner.gid)
  }

  /** Copies a running member; one session makes both calls of a backup. */
  const copyOf = Effect.fnUntraced(function*(source: Member, name: string) {
    const from = yield* directoryOf(source)
    const to = join(root, name)
    const label = yield* SqlClient.SqlClient.use((sql) =>
      Effect.gen(function*() {
        yield* sql`SELECT FROM pg_backup_start('copy', true)`
        spawnSync("cp", ["-a", from, to])
        const [row] = yield* sql<{ label: string }>`SELECT labelfile AS label FROM pg_backup_stop(false)`
        spawnSync("cp", ["-a", `${from}/pg_wal/.`, join(to, "pg_wal")])
        return row?.label ?? ""
      })
    ).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(source.url), maxConnections: 1 })), Effect.orDie)
    copyFileSync(passwordFile(directory), passwordFile(to))
    rmSync(join(to, "postmaster.pid"), { force: true })
    write(join(to, "backup_label"), label)
    return to
  })

  return {
    primary,
    /** Starts a copy that begins where the backup ended, as if it were the source itself. */
    copied: Effect.fnUntraced(function*(source: Member, name: string) {
      return yield* started(yield* copyOf(source, name))
    }),
    /** Starts a streaming standby. */
    standby: Effect.fnUntraced(function*(source: Member, name: string) {
      const to = yield* copyOf(source, name)
      const { hostname, password, port, username } = new URL(source.url)
      write(join(to, "standby.signal"), "")
      write(
        join(to, "postgresql.auto.conf"),
        `primary_conninfo = 'host=${hostname} port=${port} user=${username} password=${password} application_name=${name}'\n`
      )
      return yield* started(to)
    })
  }
})

/** Waits until a standby has replayed everything that its primary has. */
export const caughtUp = Effect.fnUntraced(function*(primary: Member, standby: Member) {
  const [row] = yield* query(primary.url, "SELECT pg_current_wal_lsn()::text AS lsn")
  yield* until(
    Effect.map(
      query(standby.url, `SELECT pg_last_wal_replay_lsn() >= '${String(row?.["lsn"])}' AS "isThere"`),
      ([row]) => row?.["isThere"] === true
    )
  )
})

/**
 * Each commit waits from now on for a standby that does not exist. The checkpointer tells other processes of the
 * setting once it has read it: until then a commit does not wait.
 */
export const holdCommits = Effect.fnUntraced(function*({ url }: Member) {
  yield* query(url, "ALTER SYSTEM SET synchronous_standby_names = 'away'")
  yield* query(url, "SELECT pg_reload_conf()")
  const commits = yield* Effect.forkChild(Effect.forever(query(url, "COMMENT ON DATABASE postgres IS 'held'")))
  yield* until(Effect.map(query(url, END_HELD), (rows) => rows.length > 0))
  yield* Fiber.await(commits)
})

/** The statement ends the sessions whose commits wait. */
export const END_HELD = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"

export const releaseCommits = Effect.fnUntraced(function*({ url }: Member) {
  yield* query(url, "ALTER SYSTEM RESET synchronous_standby_names")
  yield* query(url, "SELECT pg_reload_conf()")
})

export const promote = (standby: Member) => query(standby.url, "SELECT pg_promote()")
