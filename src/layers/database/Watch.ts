import { PgConnection } from "@effect/sql-pg"
import { Cause, type Clock, Duration, Effect, Exit, Option, Predicate, Schema } from "effect"
import type { SqlError } from "effect/sql"
import type { ConnectionQueue } from "../../services/admission/ConnectionQueue.ts"
import { abandonedAfter, isReadOnly } from "../../services/db/DatabaseErrors.ts"
import { dropConnection } from "../../upstream/ConnectionSocket.ts"

/** Times are in milliseconds of the machine's clock, since requests may have another. */
export class Statements {
  /** Each connection that runs a statement has its start here. A connection runs one at a time. */
  readonly running = new Map<PgConnection.PgConnection, number>()
  /** These connections have a transaction, a stream or a listener. */
  readonly reserved = new Set<PgConnection.PgConnection>()
  /** The count includes statements with a response, and successful probes. */
  responses = 0
  /** The last response or successful probe was at this time. */
  respondedAt = 0
  /** True means that no server is known to take writes. */
  isReadOnly = false
  readonly now: () => number

  constructor(clock: Clock.Clock) {
    this.now = () => clock.currentTimeMillisUnsafe()
  }

  noteResponse() {
    this.responses++
    this.respondedAt = this.now()
  }

  run<A>(
    connection: PgConnection.PgConnection,
    statement: Effect.Effect<A, SqlError.SqlError>
  ): Effect.Effect<A, SqlError.SqlError> {
    return Effect.suspend(() => {
      this.running.set(connection, this.now())
      return Effect.onExitPrimitive(statement, (exit) => {
        this.running.delete(connection)
        if (exit._tag === "Success") this.noteResponse()
        else if (Option.exists(Exit.findErrorOption(exit), isReadOnly)) this.isReadOnly = true
        return undefined
      })
    })
  }

  reserve(connection: PgConnection.PgConnection) {
    return Effect.acquireRelease(
      Effect.sync(() => this.reserved.add(connection)),
      () => Effect.sync(() => this.reserved.delete(connection))
    )
  }
}

const CHECK_INTERVAL = Duration.millis(100)

/** Runs a check again and again until the scope closes, and logs what fails in it. */
export const keepChecking = <R>(check: Effect.Effect<unknown, unknown, R>, failure: string) =>
  check.pipe(
    Effect.catchCause((cause) => Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.logError(failure, cause)),
    Effect.delay(CHECK_INTERVAL),
    Effect.forever,
    Effect.forkScoped
  )

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
}

/**
 * Asks the server each second, over a separate connection, about statements without a response for a second, and more
 * often while requests wait for a connection. If it does not respond, and no statement got a response meanwhile, the
 * queue and all connections with a statement are closed, so that requests fail at once, until a probe gets a response.
 * The effect of such a statement is unknown. If the server does not know a statement, the network has lost it or its
 * result, and its connection is closed. A pooler invents the ids of its connections, so behind one they are left alone.
 */
export const watchDatabase = Effect.fnUntraced(function*({ config, queue, statements }: Watched) {
  const schedule = { askedAt: -Infinity }

  const suspects = (): Suspects => {
    const before = statements.now() - Duration.toMillis(SUSPECT_AFTER)
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
    statements.noteResponse()
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
    if (statements.now() - schedule.askedAt < Duration.toMillis(isQueued ? QUEUED_INTERVAL : SUSPECT_AFTER)) return
    schedule.askedAt = statements.now()
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

  yield* keepChecking(check, "database check failed")
})
