import * as NodeServices from "@effect/platform-node/NodeServices"
import { PgClient, type PgConnection } from "@effect/sql-pg"
import { Duration, Effect, Layer, Option, Redacted, Schedule, Schema } from "effect"
import type { SqlError } from "effect/sql"
import { hostsOf } from "../schema/DatabaseUrls.ts"
import { SERVICE_NAME } from "../schema/ServiceName.ts"
import { machineClock } from "../services/db/SharedTime.ts"
import { settings } from "../services/operations/SettingsRegistry.ts"
import { checkServer, missingRights } from "./database/Checks.ts"
import { clientLayer } from "./database/Client.ts"
import { makeColumnTypes } from "./database/ColumnTypes.ts"
import { migrate, MIGRATIONS } from "./database/Migrations.ts"
import { replicasLayer } from "./database/Replicas.ts"
import { findWritable, mayComeUp, reasonOf } from "./database/Servers.ts"
import { metricsLayer } from "./telemetry/Tracing.ts"

class DatabaseUnusable extends Schema.TaggedError<DatabaseUnusable>()("DatabaseUnusable", {
  message: Schema.String,
  cause: Schema.optional(Schema.Defect())
}) {}

const unusable = (problem: string) => new DatabaseUnusable({ message: `DATABASE_URL: ${problem}` })

const refused = (cause: SqlError.SqlError) =>
  new DatabaseUnusable({ message: "The database refuses to connect: see that DATABASE_URL is right", cause })

const RETRY_INTERVAL = Duration.millis(250)

const LOG_INTERVAL = Duration.seconds(5)

/** No statement, lock wait or forgotten transaction may block others for long. */
const SESSION_LIMITS = {
  statement_timeout: "5000",
  lock_timeout: "2000",
  idle_in_transaction_session_timeout: "10000"
}

/** PgBouncer refuses startup parameters that it does not know, unless it is told to ignore them. */
const isRefusedParameter = (error: SqlError.SqlError) => reasonOf(error).startsWith("unsupported startup parameter")

/** `problem` names the fault of the server, or of a pooler in front of it, and what corrects it. */
const find = (hosts: ReadonlyArray<PgConnection.Config>) =>
  Effect.flatMap(
    findWritable(hosts),
    (first) => Effect.map(checkServer(first.config, SESSION_LIMITS), (problem) => ({ first, hosts, problem }))
  )

/** Waits until a host takes writes. Fails with `DatabaseUnusable` after `longest`, or at once if waiting is no use. */
export const awaitDatabase = Effect.fnUntraced(function*(
  hosts: ReadonlyArray<PgConnection.Config>,
  longest: Duration.Duration
) {
  const connect = Effect.catchIf(
    find(hosts),
    isRefusedParameter,
    () => find(hosts.map((host) => ({ ...host, startupParameters: {} })))
  )
  const wait = Effect.fnUntraced(function*(first: SqlError.SqlError) {
    const last = { error: first }
    const report = yield* Effect.cachedWithTTL(
      Effect.suspend(() =>
        Effect.logWarning("database not reachable, waiting", {
          longest: Duration.format(longest),
          reason: reasonOf(last.error)
        })
      ),
      LOG_INTERVAL
    )
    yield* report
    const found = yield* connect.pipe(
      Effect.tapError((error) => {
        last.error = error
        return mayComeUp(error) ? report : Effect.void
      }),
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
    yield* Effect.logInfo("database reachable")
    return found
  })
  return yield* Effect.mapError(
    Effect.catchIf(connect, mayComeUp, wait),
    (error) => error._tag === "SqlError" ? refused(error) : error
  )
})

/** One connection has the transaction, one the work of a migration outside of it, and one looks for locks. */
const MIGRATOR_CONNECTIONS = 3

const migratorClient = (config: PgConnection.Config) =>
  PgClient.layer({
    ...config,
    applicationName: MIGRATIONS,
    maxConnections: MIGRATOR_CONNECTIONS,
    startupParameters: {},
    // Migrations read columns as the driver does.
    types: undefined
  })

const migrated = (direct: PgConnection.Config) => {
  const migration = migrate(migratorClient(direct))
  return Effect.catchCause(
    migration,
    (cause) =>
      Effect.flatMap(
        missingRights(cause),
        (problem): Effect.Effect<never, DatabaseUnusable | Effect.Error<typeof migration>> =>
          Option.isNone(problem) ? Effect.failCause(cause) : Effect.fail(unusable(problem.value))
      )
  )
}

export const databaseLive = Layer.unwrap(Effect.gen(function*() {
  const config = {
    connectTimeout: Duration.seconds(2),
    applicationName: SERVICE_NAME,
    startupParameters: SESSION_LIMITS,
    prepare: yield* settings.DATABASE_PREPARED_STATEMENTS,
    types: makeColumnTypes()
  }
  const hostAt = (url: string) => ({ ...config, url: Redacted.make(url) })
  const url = Redacted.value(yield* settings.DATABASE_URL)
  const listenUrl = yield* settings.DATABASE_LISTEN_URL
  const maxConnections = yield* settings.DATABASE_POOL_SIZE
  const { first, hosts, problem } = yield* awaitDatabase(hostsOf(url).map(hostAt), yield* settings.DATABASE_WAIT)
  if (Option.isSome(problem)) return yield* unusable(problem.value)
  const listeners = Option.getOrUndefined(Option.map(listenUrl, (url) => ({ ...config, startupParameters: {}, url })))
  return Layer.effectDiscard(Effect.provide(migrated(listeners ?? first.config), migratorClient(first.config))).pipe(
    Layer.merge(replicasLayer(maxConnections)),
    Layer.provideMerge(clientLayer({
      first,
      hosts,
      listeners,
      maxConnections
    }))
  )
})).pipe(Layer.provide([machineClock, metricsLayer, NodeServices.layer]))
