import { PgConnection } from "@effect/sql-pg"
import { Clock, Duration, Effect, Exit, Option, Predicate, Schema, Stream } from "effect"
import type { SqlConnection, SqlError } from "effect/sql"
import type { ConnectionQueue } from "../../services/admission/ConnectionQueue.ts"
import { abandonedAfter, isReadOnly } from "../../services/db/DatabaseErrors.ts"
import { dropConnection } from "../../upstream/ConnectionSocket.ts"

type Rows = <A extends object>(rows: ReadonlyArray<A>) => ReadonlyArray<A>

export interface Statements {
  /** Each connection that runs a statement has its start here, in milliseconds. A connection runs one at a time. */
  readonly running: Map<PgConnection.PgConnection, number>
  /** These connections have a transaction, a stream or a listener. */
  readonly reserved: Set<PgConnection.PgConnection>
  /** The count includes statements with a response, and successful probes. */
  responses: number
  /** The last response or successful probe was at this time, in milliseconds. */
  respondedAt: number
  /** True means that no server is known to take writes. */
  isReadOnly: boolean
}

export const makeStatements = (): Statements => ({
  running: new Map(),
  reserved: new Set(),
  responses: 0,
  respondedAt: 0,
  isReadOnly: false
})

const noteResponse = (statements: Statements, clock: Clock.Clock) => {
  statements.responses++
  statements.respondedAt = clock.currentTimeMillisUnsafe()
}

export class PooledConnection implements SqlConnection.Connection {
  readonly connection: PgConnection.PgConnection
  readonly statements: Statements
  readonly clock: Clock.Clock

  constructor(connection: PgConnection.PgConnection, statements: Statements, clock: Clock.Clock) {
    this.connection = connection
    this.statements = statements
    this.clock = clock
  }

  private readonly ended = (exit: Exit.Exit<unknown, unknown>) => {
    this.statements.running.delete(this.connection)
    if (exit._tag === "Success") noteResponse(this.statements, this.clock)
    else if (Option.exists(Exit.findErrorOption(exit), isReadOnly)) this.statements.isReadOnly = true
    return undefined
  }

  private tracked<A>(statement: Effect.Effect<A, SqlError.SqlError>): Effect.Effect<A, SqlError.SqlError> {
    return Effect.suspend(() => {
      this.statements.running.set(this.connection, this.clock.currentTimeMillisUnsafe())
      return Effect.onExitPrimitive(statement, this.ended)
    })
  }

  private rows(sql: string, params: ReadonlyArray<unknown>, transform: Rows | undefined, isPrepared: boolean) {
    return this.tracked(
      Effect.map(
        this.connection.query(sql, params, isPrepared),
        ({ rows }) => transform === undefined ? rows : transform(rows)
      )
    )
  }

  execute(sql: string, params: ReadonlyArray<unknown>, transform: Rows | undefined) {
    return this.rows(sql, params, transform, true)
  }

  executeUnprepared(sql: string, params: ReadonlyArray<unknown>, transform: Rows | undefined) {
    return this.rows(sql, params, transform, false)
  }

  executeRaw(sql: string, params: ReadonlyArray<unknown>) {
    return this.tracked(this.connection.query(sql, params))
  }

  executeValues(sql: string, params: ReadonlyArray<unknown>) {
    return this.tracked(this.connection.queryValues(sql, params))
  }

  executeValuesUnprepared(sql: string, params: ReadonlyArray<unknown>) {
    return this.tracked(this.connection.queryValues(sql, params, false))
  }

  executeStream(sql: string, params: ReadonlyArray<unknown>, transform: Rows | undefined) {
    const rows = this.connection.stream(sql, params)
    return transform === undefined ? rows : Stream.map(rows, (row) => transform([row])[0])
  }
}

const CHECK_INTERVAL = Duration.millis(100)

/** Queued requests shorten the interval: a response shows that the database works though no connection comes free. */
const QUEUED_INTERVAL = Duration.millis(200)

/** Most statements take less than 50 ms, and no statement of a request takes more than 5 s. */
const SUSPECT_AFTER = Duration.seconds(1)

const PROBE_TIMEOUT = Duration.seconds(1)
const SLOW_PROBE_TIMEOUT = Duration.seconds(3)

const ACTIVE = `
  SELECT pg_backend_pid() AS own, array(
    SELECT pid FROM pg_stat_activity WHERE pid = ANY($1::int[]) AND state = 'active'
  ) AS active`

const decodeActive = Schema.decodeUnknownEffect(
  Schema.Tuple([Schema.Struct({ own: Schema.Int, active: Schema.Array(Schema.Int) })])
)

/** An error message of the server, such as for too many connections, is a response. */
const isResponse = (error: SqlError.SqlError | Schema.SchemaError) =>
  Schema.isSchemaError(error) || Predicate.hasProperty(error.reason.cause, "severity")

type Suspects = ReadonlyArray<readonly [PgConnection.PgConnection, number]>

interface Watched {
  readonly config: () => PgConnection.Config
  readonly queue: ConnectionQueue
  readonly statements: Statements
  readonly clock: Clock.Clock
}

/**
 * Asks the server each second, over a separate connection, about statements without a response for a second, and more
 * often while requests wait for a connection. If it does not respond, and no statement got a response meanwhile, the
 * queue and all connections with a statement are closed, so that requests fail at once, until a probe gets a response.
 * The effect of such a statement is unknown. If the server does not know a statement, the network has lost it or its
 * result, and its connection is closed. A pooler invents the ids of its connections, so behind one they are left alone.
 */
export const watchDatabase = Effect.fnUntraced(function*({ clock, config, queue, statements }: Watched) {
  const now = () => clock.currentTimeMillisUnsafe()
  const schedule = { askedAt: -Infinity }

  const suspects = (): Suspects => {
    const before = now() - Duration.toMillis(SUSPECT_AFTER)
    return [...statements.running].filter(([, since]) => since <= before)
  }

  const drop = Effect.fnUntraced(function*(suspects: Suspects) {
    const lost = suspects.filter(([connection, since]) => statements.running.get(connection) === since)
    for (const [connection] of lost) dropConnection(connection)
    if (lost.length > 0) {
      yield* Effect.logWarning("database connections without a response closed", { connections: lost.length })
    }
  })

  const activeOf = (suspects: Suspects, connectTimeout: Duration.Duration) =>
    PgConnection.make({ ...config(), connectTimeout }).pipe(
      Effect.flatMap((connection) =>
        connection.query(ACTIVE, [suspects.map(([{ processId }]) => processId)], false).pipe(
          Effect.flatMap(({ rows }) => decodeActive(rows)),
          Effect.map(([{ active, own }]) => own === connection.processId ? Option.some(new Set(active)) : Option.none())
        )
      ),
      Effect.catchIf(isResponse, () => Effect.succeedNone),
      Effect.scoped
    )

  const probe = Effect.fnUntraced(function*(timeout: Duration.Duration) {
    const asked = suspects()
    const response = yield* activeOf(asked, timeout).pipe(
      abandonedAfter(timeout),
      Effect.asSome,
      Effect.catchCause(() => Effect.succeedNone)
    )
    if (Option.isNone(response)) return false
    noteResponse(statements, clock)
    if (Option.isNone(response.value)) return true
    const active = response.value.value
    const unknown = asked.filter(([{ processId }]) => !active.has(processId))
    if (unknown.length > 0) {
      // The result of an ended statement may have arrived, and is read first.
      yield* Effect.sleep(CHECK_INTERVAL)
      yield* drop(unknown)
    }
    return true
  })

  const untilResponse = (timeout: Duration.Duration) =>
    probe(timeout).pipe(
      Effect.tap((responds) => responds ? Effect.void : drop([...statements.running])),
      Effect.delay(CHECK_INTERVAL),
      Effect.repeat({ until: (responds) => responds })
    )

  const check = Effect.gen(function*() {
    const { responses } = statements
    const isQueued = queue.waiting() > 0
    if (!isQueued && suspects().length === 0) return
    if (now() - schedule.askedAt < Duration.toMillis(isQueued ? QUEUED_INTERVAL : SUSPECT_AFTER)) return
    schedule.askedAt = now()
    if (yield* probe(PROBE_TIMEOUT)) return
    // If the event loop was busy, Node first reads what came meanwhile.
    yield* Effect.sleep(CHECK_INTERVAL)
    if (statements.responses > responses) return
    queue.close()
    yield* Effect.logError("database does not respond, requests refused")
    yield* drop([...statements.running])
    yield* Effect.raceFirst(untilResponse(PROBE_TIMEOUT), untilResponse(SLOW_PROBE_TIMEOUT))
    queue.open()
    yield* Effect.logInfo("database responds again")
  })

  yield* check.pipe(
    Effect.catchCause((cause) => Effect.logError("database check failed", cause)),
    Effect.delay(CHECK_INTERVAL),
    Effect.forever,
    Effect.provideService(Clock.Clock, clock),
    Effect.forkScoped
  )
})
