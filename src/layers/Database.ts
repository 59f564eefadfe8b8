import * as NodeServices from "@effect/platform-node/NodeServices"
import { PgClient, type PgConnection } from "@effect/sql-pg"
import { Config, Context, Duration, Effect, Layer, Option, Predicate, Redacted, Schedule, Schema } from "effect"
import { SqlClient, type SqlError, SqlSchema } from "effect/sql"
import { SERVICE_NAME } from "../schema/ServiceName.ts"
import { machineClock } from "../services/db/SharedTime.ts"
import { settings } from "../services/settings/Registry.ts"
import { hostsOf } from "../services/settings/SettingTypes.ts"
import { checkPooler, missingRights } from "./database/Checks.ts"
import { clientLayer } from "./database/Client.ts"
import { makeColumnTypes } from "./database/ColumnTypes.ts"
import { migrate, MIGRATIONS } from "./database/Migrations.ts"
import { replicasLayer } from "./database/Replicas.ts"
import { findWritable, mayComeUp, type Server } from "./database/Servers.ts"
import { metricsLayer } from "./telemetry/Telemetry.ts"

class DatabaseUnusable extends Schema.TaggedError<DatabaseUnusable>()("DatabaseUnusable", {
  message: Schema.String,
  cause: Schema.optional(Schema.Defect())
}) {}

const OLDEST = 15

const ENCODING = "UTF8"

const Server = Schema.Struct({
  major: Schema.Int,
  version: Schema.String,
  encoding: Schema.String,
  name: Schema.String
})

const problemOf = ({ encoding, major, name, version }: typeof Server.Type) => {
  if (major < OLDEST) {
    return `PostgreSQL ${version} is too old: ${OLDEST} or newer is needed. On Debian install postgresql-${OLDEST} or newer `
      + `and run: pg_upgradecluster ${major} main`
  }
  return encoding === ENCODING ?
    undefined :
    `the database ${name} has the encoding ${encoding}, and ${ENCODING} is needed. `
    + `Run: CREATE DATABASE routes TEMPLATE template0 ENCODING '${ENCODING}', with a name that is free, and set it here`
}

const knownServerLayer = Layer.effectDiscard(Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const found = yield* SqlSchema.findOne({
    Request: Schema.Void,
    Result: Server,
    execute: () =>
      sql`
        SELECT current_setting('server_version_num')::int / 10000 AS major, current_setting('server_version') AS version,
          current_setting('server_encoding') AS encoding, quote_ident(current_database()) AS name`
  })()
  const problem = problemOf(found)
  if (problem !== undefined) return yield* new DatabaseUnusable({ message: `DATABASE_URL: ${problem}` })
}))

const refused = (cause: SqlError.SqlError) =>
  new DatabaseUnusable({ message: "The database refuses to connect: see that DATABASE_URL is right", cause })

const RETRY_INTERVAL = Duration.millis(250)

const LOG_INTERVAL = Duration.seconds(5)

interface Found {
  readonly first: Server
  readonly hosts: ReadonlyArray<PgConnection.Config>
  /** It names the fault of a pooler in front of the server, and the setting that corrects it. */
  readonly wrong: Option.Option<string>
}

/** No statement, lock wait or forgotten transaction may block others for long. */
const SESSION_LIMITS = {
  statement_timeout: "5000",
  lock_timeout: "2000",
  idle_in_transaction_session_timeout: "10000"
}

/** PgBouncer refuses startup parameters that it does not know, unless it is told to ignore them. */
const isRefusedParameter = ({ reason: { cause } }: SqlError.SqlError) =>
  Predicate.hasProperty(cause, "message") && String(cause.message).startsWith("unsupported startup parameter")

const find = (hosts: ReadonlyArray<PgConnection.Config>): Effect.Effect<Found, SqlError.SqlError> =>
  Effect.flatMap(
    findWritable(hosts),
    (first) => Effect.map(checkPooler(first.config, SESSION_LIMITS), (wrong) => ({ first, hosts, wrong }))
  )

const reasonOf = ({ reason: { cause, message } }: SqlError.SqlError) =>
  Predicate.hasProperty(cause, "message") ? String(cause.message) : message

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
    const reporting = yield* Effect.forkChild(
      Effect.repeat(
        Effect.suspend(() =>
          Effect.logWarning("database not reachable, waiting", {
            longest: Duration.format(longest),
            reason: reasonOf(last.error)
          })
        ),
        Schedule.spaced(LOG_INTERVAL)
      )
    )
    const found = yield* connect.pipe(
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
    return found
  })
  return yield* Effect.mapError(
    Effect.catchIf(connect, mayComeUp, wait),
    (error) => error._tag === "SqlError" ? refused(error) : error
  )
})

const connections = Config.map(settings.DATABASE_PREPARED_STATEMENTS, (prepare) => ({
  connectTimeout: Duration.seconds(2),
  applicationName: SERVICE_NAME,
  startupParameters: SESSION_LIMITS,
  prepare
}))

/** `first` is the server of `DATABASE_URL` that takes writes. */
class Servers extends Context.Service<Servers, Found>()("route-planning-service/Servers") {
  static readonly layer = Layer.effect(
    Servers,
    Effect.gen(function*() {
      const url = Redacted.value(yield* settings.DATABASE_URL)
      const config = yield* connections
      const hostAt = (host: string) => ({ ...config, url: Redacted.make(host) })
      const found = yield* awaitDatabase(hostsOf(url).map(hostAt), yield* settings.DATABASE_WAIT)
      if (Option.isSome(found.wrong)) {
        return yield* new DatabaseUnusable({ message: `DATABASE_URL: ${found.wrong.value}` })
      }
      return found
    })
  ).pipe(Layer.provide(machineClock))
}

const poolLayer = Layer.unwrap(Effect.gen(function*() {
  const { first, hosts } = yield* Servers
  const config = yield* connections
  const maxConnections = yield* settings.DATABASE_POOL_SIZE
  const types = makeColumnTypes()
  const withTypes = (host: PgConnection.Config) => ({ ...host, types })
  const typed = hosts.map(withTypes)
  const listeners = Option.map(
    yield* settings.DATABASE_LISTEN_URL,
    (url) => ({ ...config, startupParameters: {}, url })
  )
  const client = clientLayer({
    first: { ...first, config: typed[hosts.indexOf(first.config)] ?? withTypes(first.config) },
    hosts: typed,
    listeners: Option.getOrUndefined(listeners),
    maxConnections
  })
  return Layer.mergeAll(knownServerLayer, replicasLayer(maxConnections)).pipe(
    Layer.provideMerge(client)
  )
})).pipe(Layer.provide([machineClock, metricsLayer]))

/** One connection has the transaction, one the work of a migration outside of it, and one looks for locks. */
const MIGRATOR_CONNECTIONS = 3

const migratorClient = Layer.unwrap(
  Effect.map(Servers, ({ first }) =>
    PgClient.layer({
      ...first.config,
      applicationName: MIGRATIONS,
      maxConnections: MIGRATOR_CONNECTIONS,
      startupParameters: {}
    }))
).pipe(Layer.provide(machineClock))

const migrated = Effect.catchCause(
  migrate,
  (cause) =>
    Effect.flatMap(
      missingRights(cause),
      (problem): Effect.Effect<never, DatabaseUnusable | Effect.Error<typeof migrate>> =>
        Option.isNone(problem)
          ? Effect.failCause(cause)
          : Effect.fail(new DatabaseUnusable({ message: `DATABASE_URL: ${problem.value}` }))
    )
)

const migratorLayer = Layer.effectDiscard(Effect.provide(migrated, migratorClient)).pipe(
  Layer.provide(NodeServices.layer)
)

export const databaseLive = Layer.provideMerge(migratorLayer, poolLayer).pipe(Layer.provide(Servers.layer))
