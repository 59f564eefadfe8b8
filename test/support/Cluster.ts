import { PgClient } from "@effect/sql-pg"
import { Effect, Exit, Redacted, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { spawnSync } from "node:child_process"
import { chownSync, copyFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { embeddedPostgres } from "../../development/EmbeddedDatabase.ts"
import { postgresOwner } from "../../development/PostgresBinaries.ts"
import { temporaryDirectory } from "./TemporaryDirectory.ts"
import { until } from "./Waiting.ts"

/** Commits wait for no disk, but are in the log of a standby as in production. */
const SETTINGS = ["synchronous_commit=on", "wal_keep_size=64MB", "jit=off"]

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

/** A PostgreSQL, and copies of it: the programs of the npm package lack `pg_basebackup`. */
export const cluster = Effect.gen(function*() {
  const root = yield* temporaryDirectory
  const owner = yield* Effect.promise(postgresOwner)
  const primary = yield* started(join(root, "primary"))
  const directory = yield* directoryOf(primary)

  const write = (path: string, text: string) => {
    writeFileSync(path, text, { flag: "a" })
    if (owner !== undefined) chownSync(path, owner.uid, owner.gid)
  }

  /** Copies a running member; both calls of a backup are of one session. */
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
    copyFileSync(`${directory}.password`, `${to}.password`)
    rmSync(join(to, "postmaster.pid"), { force: true })
    write(join(to, "backup_label"), label)
    return to
  })

  return {
    primary,
    /** A copy that begins where the backup ended, as if it were the server itself. */
    copied: Effect.fnUntraced(function*(source: Member, name: string) {
      return yield* started(yield* copyOf(source, name))
    }),
    /** A streaming standby. */
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

/** Waits until a standby has replayed what its primary has. */
export const caughtUp = Effect.fnUntraced(function*(primary: Member, standby: Member) {
  const [row] = yield* query(primary.url, "SELECT pg_current_wal_lsn()::text AS lsn")
  yield* until(
    Effect.map(
      query(standby.url, `SELECT pg_last_wal_replay_lsn() >= '${String(row?.["lsn"])}' AS "isThere"`),
      ([row]) => row?.["isThere"] === true
    )
  )
})

export const promote = (standby: Member) => query(standby.url, "SELECT pg_promote()")
