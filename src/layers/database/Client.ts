import { PgClient, PgConnection } from "@effect/sql-pg"
import { Clock, Context, Duration, Effect, Layer, Predicate, Queue, RcRef, Schema, type Scope, Stream } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, SqlError } from "effect/sql"
import { makeConnectionQueue, QueueLateness } from "../../services/admission/ConnectionQueue.ts"
import {
  connectionError,
  DatabaseReadOnly,
  DatabaseResponses,
  isServerState,
  UNCONFIRMED,
  UnknownCommit
} from "../../services/db/DatabaseErrors.ts"
import { DatabaseLocks, DatabaseNotifications } from "../../services/db/DatabaseSessions.ts"
import { settings } from "../../services/operations/SettingsRegistry.ts"
import { primaryPool, PrimaryServer, type Server } from "./Servers.ts"
import { Statements, watchDatabase } from "./Watch.ts"

interface PoolSettings {
  readonly first: Server
  readonly hosts: ReadonlyArray<PgConnection.Config>
  /** Notifications come from the primary if this is absent. */
  readonly listeners: PgConnection.Config | undefined
  readonly maxConnections: number
}

/** A server without a response for this long hangs. That is no overload: requests that need no primary are served. */
const SILENT_AFTER = Duration.millis(500)

const ROLLED_BACK = "COMMIT rolled back an aborted transaction"

const rolledBack = () =>
  new SqlError.SqlError({
    reason: new SqlError.UnknownError({
      cause: new Error(ROLLED_BACK),
      message: ROLLED_BACK,
      operation: "commit"
    })
  })

const unknown = (cause: SqlError.SqlError) =>
  connectionError("commit", "COMMIT had no response: the transaction is stored or not", new UnknownCommit({ cause }))

/** A server that stops before a standby confirms a transaction fails its COMMIT, but may have stored it. */
const isUnanswered = ({ reason }: SqlError.SqlError) => reason._tag === "ConnectionError" || isServerState(reason)

const commit = (connection: SqlConnection.Connection) =>
  connection.executeRaw("COMMIT", []).pipe(
    Effect.catchIf(
      isUnanswered,
      (error) => Effect.andThen(Effect.logWarning("commit without a response", error), Effect.fail(unknown(error)))
    ),
    Effect.flatMap((result) =>
      Predicate.hasProperty(result, "command") && result.command === "ROLLBACK"
        ? Effect.fail(rolledBack())
        : Effect.void
    )
  )

const decodeHeld = Schema.decodeUnknownEffect(Schema.Tuple([Schema.Struct({ isHeld: Schema.Boolean })]))

const unlock = (connection: SqlConnection.Connection, name: string) =>
  Effect.ignore(connection.executeRaw("SELECT pg_advisory_unlock(hashtextextended($1, 0))", [name]))

/** A pooler reserves a back end for a transaction; the locks of a session would stay on one that others use. */
const makeLocks = Effect.fnUntraced(function*(open: SqlConnection.Acquirer) {
  const connections = yield* RcRef.make({
    acquire: Effect.tap(open, (connection) =>
      Effect.andThen(
        connection.executeRaw("BEGIN", []),
        connection.executeRaw("SET LOCAL idle_in_transaction_session_timeout = 0", [])
      ))
  })
  const hold = (connection: SqlConnection.Connection, name: string) =>
    connection.execute("SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS \"isHeld\"", [name], undefined).pipe(
      Effect.flatMap((rows) => Effect.orDie(decodeHeld(rows))),
      Effect.map(([{ isHeld }]) => isHeld),
      Effect.tapError(() => RcRef.invalidate(connections))
    )
  return (name: string) =>
    Effect.flatMap(RcRef.get(connections), (connection) =>
      Effect.acquireRelease(
        hold(connection, name),
        (isHeld) => isHeld ? unlock(connection, name) : Effect.void
      ))
})

/** The commit of a write may wait for a standby, unless the statement says that it need not. */
const commits = (text: string) => /\b(?:INSERT INTO|UPDATE|DELETE FROM)\b/.test(text) && !text.includes(UNCONFIRMED)

type Run = <A>(
  text: string,
  statement: (connection: PgConnection.PgConnection) => Effect.Effect<A, SqlError.SqlError>
) => Effect.Effect<A, SqlError.SqlError>

type Acquirer = Effect.Effect<PgConnection.PgConnection, SqlError.SqlError, Scope.Scope>

const rowsOf = ({ rows }: PgConnection.Result) => rows

/** The client transforms no rows. */
const connectionOf = (run: Run, streaming: Acquirer): SqlConnection.Connection => ({
  execute: (text, params) => run(text, (connection) => Effect.map(connection.query(text, params), rowsOf)),
  executeRaw: (text, params) => run(text, (connection) => connection.query(text, params)),
  executeUnprepared: (text, params) =>
    run(text, (connection) => Effect.map(connection.query(text, params, false), rowsOf)),
  executeValues: (text, params) => run(text, (connection) => connection.queryValues(text, params)),
  executeValuesUnprepared: (text, params) => run(text, (connection) => connection.queryValues(text, params, false)),
  executeStream: (text, params) => Stream.unwrap(Effect.map(streaming, (connection) => connection.stream(text, params)))
})

/**
 * Replaces `PgClient.make`: statements, transactions, streams and `reserve` queue in front of the pool. Statements of a
 * transaction use its connection and do not queue again.
 */
const make = Effect.fnUntraced(function*(config: PoolSettings) {
  const clock = yield* Clock.Clock
  const statements = new Statements(clock)
  const pool = yield* primaryPool({ ...config, statements })
  const queue = yield* makeConnectionQueue({
    clock,
    connections: config.maxConnections,
    length: yield* settings.DATABASE_QUEUE_LENGTH,
    longestWait: yield* settings.DATABASE_QUEUE_TIMEOUT
  })
  yield* watchDatabase({ config: pool.config, queue, statements })
  const isSilent = () => statements.now() - statements.respondedAt > Duration.toMillis(SILENT_AFTER)

  const leased = (connection: PgConnection.PgConnection) =>
    connectionOf((_, statement) => statements.run(connection, statement(connection)), Effect.succeed(connection))

  /** Each statement takes its own turn and connection. */
  const lone = connectionOf(
    (text, statement) => queue.run(pool.use((lent) => statements.run(lent, statement(lent))), commits(text)),
    Effect.andThen(queue.turn, pool.get)
  )

  const client = yield* SqlClient.make({
    driver: "pg",
    acquirer: Effect.andThen(queue.turn, Effect.map(pool.get, leased)),
    borrower: (work) => work(lone),
    transactionAcquirer: Effect.andThen(queue.transactionTurn, Effect.map(pool.reserve, leased)),
    compiler: PgClient.makeCompiler(undefined, false),
    prepareTransactionControls: true,
    commit,
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    spanAttributes: [["db.system.name", "postgresql"]]
  })
  // Like a transaction, a connection beside the pool ends when another server becomes the primary.
  const connect = (settings: () => PgConnection.Config) =>
    Effect.suspend(() => PgConnection.make(settings())).pipe(
      Effect.tap((connection) => statements.reserve(connection)),
      Effect.provideService(Clock.Clock, clock)
    )
  const listen = (channel: string) =>
    connect(() => config.listeners ?? pool.config()).pipe(
      Effect.flatMap((connection) => connection.listen(channel)),
      Effect.map((notifications) => Effect.map(Queue.take(notifications), ({ payload }) => payload)),
      Effect.provideService(Clock.Clock, clock)
    )
  const locks = yield* makeLocks(Effect.map(connect(pool.config), leased))
  return Context.make(SqlClient.SqlClient, client).pipe(
    Context.add(DatabaseLocks, locks),
    Context.add(DatabaseResponses, Effect.sync(() => statements.responses)),
    Context.add(DatabaseReadOnly, Effect.sync(() => statements.isReadOnly)),
    Context.add(DatabaseNotifications, listen),
    Context.add(QueueLateness, (isRead) => isSilent() ? 0 : queue.lateness(isRead)),
    Context.add(PrimaryServer, { config: pool.config })
  )
})

export const clientLayer = (config: PoolSettings) =>
  Layer.effectContext(make(config)).pipe(Layer.provide(Reactivity.layer))
