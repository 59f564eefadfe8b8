import * as NodeServices from "@effect/platform-node/NodeServices"
import { PgClient, PgConnection } from "@effect/sql-pg"
import { Config, Duration, Effect, Layer, Schedule, Schema } from "effect"
import { SqlClient, type SqlError, SqlSchema } from "effect/sql"
import { SERVICE_NAME } from "../schema/ServiceName.ts"
import { isServerState } from "../services/db/DatabaseErrors.ts"
import { machineClock } from "../services/db/SharedTime.ts"
import { settings } from "../services/settings/Registry.ts"
import { clientLayer } from "./database/Client.ts"
import { makeColumnTypes } from "./database/ColumnTypes.ts"
import { migrate, MIGRATIONS } from "./database/Migrations.ts"
import { replicasLayer } from "./database/Replicas.ts"
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
  const typed = { ...config, types: makeColumnTypes() }
  return Layer.mergeAll(knownServerLayer, replicasLayer(typed, config.maxConnections)).pipe(
    Layer.provideMerge(clientLayer(typed))
  )
})).pipe(Layer.provide([machineClock, metricsLayer]))

/** One connection for the transaction, one for what a migration does outside of it, and one that looks for locks. */
const MIGRATOR_CONNECTIONS = 3

const migratorClient = Layer.unwrap(
  Effect.map(pool, (config) =>
    PgClient.layer({
      ...config,
      applicationName: MIGRATIONS,
      maxConnections: MIGRATOR_CONNECTIONS,
      startupParameters: {}
    }))
).pipe(Layer.provide(machineClock))

const migratorLayer = Layer.effectDiscard(Effect.provide(migrate, migratorClient)).pipe(
  Layer.provide(NodeServices.layer)
)

export const databaseLive = Layer.provideMerge(migratorLayer, poolLayer)
