import {
  Duration,
  Effect,
  Equal,
  type FileSystem,
  type Layer,
  Option,
  type Path,
  Predicate,
  Schedule,
  Schema
} from "effect"
import { Migrator, SqlClient, SqlError, SqlSchema } from "effect/sql"
import { fromFileSystem } from "effect/sql/MigratorFileSystem"
import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { SERVICE_NAME } from "../../schema/ServiceName.ts"

/** The files are in the order in which they refer to each other. */
const SUBJECTS = ["accounts", "mail", "routes", "collections", "sharing", "words", "changes", "usage", "versions"]

const DIRECTORY = new URL("../../services/db/schema/", import.meta.url)

const createSchema = SqlClient.SqlClient.use((sql) =>
  Effect.forEach(
    SUBJECTS,
    (subject) =>
      Effect.promise(() => readFile(new URL(`${subject}.sql`, DIRECTORY), "utf8")).pipe(
        // The driver sends one statement at a time.
        Effect.flatMap((statements) => sql.unsafe(`DO $schema$ BEGIN ${statements} END $schema$`))
      ),
    { discard: true }
  )
)

/** The connections of a process that migrates have this name in `pg_stat_activity`. */
export const MIGRATIONS = `${SERVICE_NAME} migrations`

/** This version is the last that migrates older databases; `migration` is its newest one. */
const BEFORE = { commit: "31ed898afd", migration: 40 }

/** Requests queue behind a migration that waits for a lock, so it gives up soon and leaves them time in between. */
const LOCK_TIMEOUT = Duration.millis(300)
const BETWEEN_TRIES = Duration.seconds(1)

const LOOK_INTERVAL = Duration.millis(100)
const LOG_INTERVAL = Duration.seconds(5)

const refuse = (message: string, setting = "DATABASE_URL") =>
  new Migrator.MigrationError({ kind: "BadState", message: `${setting}: ${message}` })

const Newest = Schema.Struct({ id: Schema.Int, name: Schema.String })

const Holder = Schema.Struct({
  pid: Schema.Int,
  user: Schema.NullOr(Schema.String),
  application: Schema.NullOr(Schema.String),
  state: Schema.NullOr(Schema.String),
  openSeconds: Schema.NullOr(Schema.Int)
})

const queries = Effect.map(SqlClient.SqlClient, (sql) => ({
  identity: SqlSchema.findOne({
    Request: Schema.Void,
    Result: Schema.Struct({ cluster: Schema.String, database: Schema.String }),
    execute: () =>
      sql`
        SELECT system_identifier::text AS cluster, oid::text AS database FROM pg_control_system(), pg_database
        WHERE datname = current_database()`
  }),

  hasTable: SqlSchema.findOne({
    Request: Schema.Void,
    Result: Schema.Struct({ has: Schema.Boolean }),
    execute: () => sql`SELECT to_regclass('effect_sql_migrations') IS NOT NULL AS has`
  }),

  newest: SqlSchema.findOneOption({
    Request: Schema.Void,
    Result: Newest,
    execute: () => sql`SELECT migration_id AS id, name FROM effect_sql_migrations ORDER BY migration_id DESC LIMIT 1`
  }),

  oldestVersion: SqlSchema.findOne({
    Request: Schema.Void,
    Result: Schema.Struct({ migration: Schema.Int }),
    execute: () => sql`SELECT migration FROM oldest_version`
  }),

  /** Behind a pooler the settings of a session do not last, and the settings of a role are for requests. */
  settings: sql`
    SELECT set_config('lock_timeout', ${String(Duration.toMillis(LOCK_TIMEOUT))}, true),
      set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true)`,

  holders: SqlSchema.findAll({
    Request: Schema.Void,
    Result: Holder,
    execute: () =>
      sql`
        SELECT DISTINCT holder.pid, a.usename AS user, a.application_name AS application, a.state,
          extract(epoch FROM clock_timestamp() - a.xact_start)::int AS "openSeconds"
        FROM pg_stat_activity w CROSS JOIN unnest(pg_blocking_pids(w.pid)) AS holder(pid)
          LEFT JOIN pg_stat_activity a ON a.pid = holder.pid
        WHERE w.application_name = ${MIGRATIONS} AND w.datname = current_database() AND w.wait_event_type = 'Lock'`
  })
}))

/** Returns the newest migration. Fails if this version, which knows migrations up to `known`, may not run on it. */
const checkedNewest = Effect.fnUntraced(function*(known: number) {
  const { newest, oldestVersion } = yield* queries
  const found = yield* newest()
  if (Option.isNone(found)) return found
  const { id, name } = found.value
  if (id > known) {
    const { migration } = yield* oldestVersion()
    if (migration > known) {
      return yield* refuse(
        `the database has migration ${id} (${name}) of a newer version, and needs a version that knows migration `
          + `${migration}; this version knows migrations up to ${known}. Start a newer version, or restore a backup from `
          + `before the migration`
      )
    }
  }
  if (id < BEFORE.migration) {
    return yield* refuse(
      `the database has migration ${id} (${name}) of an earlier version; this version starts from `
        + `${BEFORE.migration}. Start the version of commit ${BEFORE.commit} once, which migrates the database, then this one`
    )
  }
  return found
}, Effect.catchIf((error) => !(error instanceof Migrator.MigrationError), Effect.die))

const reportWaits = Effect.gen(function*() {
  const { holders } = yield* queries
  const look = Effect.flatMap(
    holders(),
    (found) =>
      found.length === 0
        ? Effect.sleep(LOOK_INTERVAL)
        : Effect.andThen(
          Effect.logWarning("migration waits for a lock", { holders: found }),
          Effect.sleep(LOG_INTERVAL)
        )
  )
  return yield* Effect.forever(look)
})

/** A transaction that waited too long for a lock is rolled back and tried again. */
const isLocked = (error: Migrator.MigrationError | SqlError.SqlError) => {
  const cause = Predicate.isTagged(error, "MigrationError") ? error.cause : error
  return SqlError.isSqlError(cause) && ["LockTimeoutError", "DeadlockError"].includes(cause.reason._tag)
}

type Files = FileSystem.FileSystem | Path.Path

/**
 * Runs each file of `migrations` in its own transaction, with short waits for locks, so that processes of the version
 * before respond meanwhile. Builds an empty database from `services/db/schema`, the result of all migrations, with the
 * number of the newest. If several processes start at once, one migrates and the others wait. A process that finds
 * nothing to do takes no lock, so that it also starts during a backup. `migrator` leads past a pooler, by which the
 * statements of a session reach several.
 */
export const migrate = Effect.fnUntraced(function*<E>(migrator: Layer.Layer<SqlClient.SqlClient, E>) {
  const all = yield* fromFileSystem(fileURLToPath(new URL("../../../migrations", import.meta.url)))
  const last = all.at(-1)
  if (last === undefined) return
  const [known, name] = last

  const isMigrated = Effect.gen(function*() {
    const { hasTable } = yield* queries
    if (!(yield* hasTable()).has) return false
    const newest = yield* checkedNewest(known)
    if (Option.isNone(newest) || newest.value.id < known) return false
    if (newest.value.id > known) {
      yield* Effect.logWarning("the database is of a newer version, which this one may run beside", {
        database: newest.value.id,
        known
      })
    }
    return true
  })

  /** The migrator has its table locked while it calls this loader. */
  const next: Migrator.Loader<Files | SqlClient.SqlClient> = Effect.gen(function*() {
    const { settings } = yield* queries
    yield* Effect.orDie(settings)
    const newest = yield* checkedNewest(known)
    if (Option.isNone(newest)) return [[known, name, Effect.succeed(createSchema)]]
    return all.filter(([id]) => id > newest.value.id).slice(0, 1)
  })

  const one = Migrator.make({})({ loader: next }).pipe(
    Effect.tap(Effect.forEach(([id, name]) => Effect.logInfo("database migrated", { migration: `${id}_${name}` }))),
    Effect.retry({ while: isLocked, schedule: Schedule.spaced(BETWEEN_TRIES) })
  )

  if (yield* isMigrated) return
  const identity = Effect.flatMap(queries, ({ identity }) => identity())
  const served = yield* identity
  yield* Effect.gen(function*() {
    if (!Equal.equals(yield* identity, served)) {
      return yield* refuse("it leads to another database than DATABASE_URL", "DATABASE_LISTEN_URL")
    }
    yield* Effect.raceFirst(Effect.repeat(one, { while: (done) => done.length > 0 }), reportWaits)
    return undefined
  }).pipe(Effect.provide(migrator))
})
