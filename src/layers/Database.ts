import * as NodeServices from "@effect/platform-node/NodeServices"
import { PgClient, PgConnection } from "@effect/sql-pg"
import { Config, Duration, Effect, type FileSystem, Layer, Option, type Path, Schedule, Schema } from "effect"
import { Migrator, SqlClient, type SqlError, SqlSchema } from "effect/sql"
import { fromFileSystem } from "effect/sql/MigratorFileSystem"
import { fileURLToPath } from "node:url"
import { SERVICE_NAME } from "../schema/ServiceName.ts"
import { createSchema } from "../services/db/CreateSchema.ts"
import { isServerState } from "../services/db/DatabaseErrors.ts"
import { machineClock } from "../services/db/SharedTime.ts"
import { settings } from "../services/settings/Registry.ts"
import { clientLayer } from "./database/Client.ts"
import { makeColumnTypes } from "./database/ColumnTypes.ts"
import { metricsLayer } from "./telemetry/Telemetry.ts"

class DatabaseUnusable extends Schema.TaggedError<DatabaseUnusable>()("DatabaseUnusable", {
  message: Schema.String,
  cause: Schema.optional(Schema.Defect())
}) {}

const OLDEST = 15

const Server = Schema.Struct({ major: Schema.Int, version: Schema.String })

const knownServerLayer = Layer.effectDiscard(Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const { major, version } = yield* SqlSchema.findOne({
    Request: Schema.Void,
    Result: Server,
    execute: () =>
      sql`SELECT current_setting('server_version_num')::int / 10000 AS major, current_setting('server_version') AS version`
  })()
  if (major < OLDEST) {
    return yield* new DatabaseUnusable({
      message: `DATABASE_URL: PostgreSQL ${version} is too old: set it to one of version ${OLDEST} or newer`
    })
  }
}))

const Latest = Schema.Struct({ id: Schema.Int, name: Schema.String })

/** The last version that migrates older databases, and its last migration. */
const BEFORE = { commit: "31ed898afd", migration: 40 }

const refuse = (message: string) =>
  new Migrator.MigrationError({ kind: "BadState", message: `DATABASE_URL: ${message}` })

/**
 * The migrations in `migrations`, each a step from the one before to the schema in `services/db/schema`. An empty database is
 * built from that schema and has the number of the newest. The migrator asks for them with its table locked.
 */
const migrations: Migrator.Loader<FileSystem.FileSystem | Path.Path | SqlClient.SqlClient> = Effect.gen(
  function*() {
    const sql = yield* SqlClient.SqlClient
    const all = yield* fromFileSystem(fileURLToPath(new URL("../../migrations", import.meta.url)))
    const newest = all.at(-1)
    const latest = yield* SqlSchema.findOneOption({
      Request: Schema.Void,
      Result: Latest,
      execute: () => sql`SELECT migration_id AS id, name FROM effect_sql_migrations ORDER BY migration_id DESC LIMIT 1`
    })().pipe(Effect.orDie)
    if (newest === undefined) return all
    const [known, name] = newest
    if (Option.isNone(latest)) return [[known, name, Effect.succeed(createSchema)] as const]
    const { id } = latest.value
    if (id > known) {
      return yield* refuse(
        `the database has migration ${id} (${latest.value.name}) of a newer version; this version knows migrations up to `
          + `${known}. Start the newer version, or restore a backup from before the migration`
      )
    }
    if (id < BEFORE.migration) {
      return yield* refuse(
        `the database has migration ${id} (${latest.value.name}) of an earlier version; this version starts from `
          + `${BEFORE.migration}. Start the version of commit ${BEFORE.commit} once, which migrates the database, then this one`
      )
    }
    return all
  }
)

const refused = (cause: SqlError.SqlError) =>
  new DatabaseUnusable({ message: "The database refuses to connect: see that DATABASE_URL is right", cause })

const RETRY_INTERVAL = Duration.millis(250)

const LOG_INTERVAL = Duration.seconds(5)

const mayComeUp = ({ reason }: SqlError.SqlError) => reason._tag === "ConnectionError" || isServerState(reason)

export const awaitDatabase = Effect.fnUntraced(function*(config: PgConnection.Config, longest: Duration.Duration) {
  const connect = Effect.scoped(Effect.asVoid(PgConnection.make(config)))
  const wait = Effect.fnUntraced(function*(first: SqlError.SqlError) {
    const last = { error: first }
    const reporting = yield* Effect.forkChild(
      Effect.repeat(
        Effect.logWarning("database not reachable, waiting", { longest: Duration.format(longest) }),
        Schedule.spaced(LOG_INTERVAL)
      )
    )
    yield* connect.pipe(
      Effect.tapError((error) => Effect.sync(() => last.error = error)),
      Effect.retry({ while: mayComeUp, schedule: Schedule.spaced(RETRY_INTERVAL) }),
      Effect.timeoutOrElse({
        duration: longest,
        orElse: () => {
          const message = `The database was not reachable within ${
            Duration.format(longest)
          }: see that it runs and that DATABASE_URL is right`
          return Effect.fail(new DatabaseUnusable({ message, cause: last.error }))
        }
      })
    )
    reporting.interruptUnsafe()
    yield* Effect.logInfo("database reachable")
  })
  yield* Effect.mapError(
    Effect.catchIf(connect, mayComeUp, wait),
    (error) => error._tag === "SqlError" ? refused(error) : error
  )
})

/** No statement, lock wait or forgotten transaction may block others for long. */
const SESSION_LIMITS = {
  statement_timeout: "5000",
  lock_timeout: "2000",
  idle_in_transaction_session_timeout: "10000"
}

const pool = Config.unwrap({
  url: settings.DATABASE_URL,
  maxConnections: settings.DATABASE_POOL_SIZE,
  connectTimeout: Config.succeed(Duration.seconds(2)),
  applicationName: Config.succeed(SERVICE_NAME),
  startupParameters: Config.succeed(SESSION_LIMITS)
})

const poolLayer = Layer.unwrap(Effect.gen(function*() {
  const config = yield* pool
  yield* awaitDatabase(config, yield* settings.DATABASE_WAIT)
  return Layer.provideMerge(knownServerLayer, clientLayer({ ...config, types: makeColumnTypes() }))
})).pipe(Layer.provide([machineClock, metricsLayer]))

const migratorClient = Layer.unwrap(
  Effect.map(pool, (config) => PgClient.layer({ ...config, maxConnections: 1, startupParameters: {} }))
).pipe(Layer.provide(machineClock))

/** If several processes start at once, one migrates and the others wait. */
const migrate = Effect.provide(Migrator.make({})({ loader: migrations }), migratorClient)

const migratorLayer = Layer.effectDiscard(migrate).pipe(Layer.provide(NodeServices.layer))

export const databaseLive = Layer.provideMerge(migratorLayer, poolLayer)
