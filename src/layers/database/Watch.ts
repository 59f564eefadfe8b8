import { PgConnection } from "@effect/sql-pg"
import { Clock, Duration, Effect, Fiber, Option, Predicate, Schema } from "effect"
import type { SqlError } from "effect/sql"
import type { ConnectionQueue } from "../../services/limits/ConnectionQueue.ts"
import { drainDelay, Stopping } from "../../services/operations/Draining.ts"
import { bytesRead, dropConnection, type Running, type Statements } from "./Statements.ts"

/** Longer statements are checked: most take less than 50 ms, and none of a request more than 5 s. */
const SUSPECT_AFTER = Duration.millis(200)

const CHECK_INTERVAL = Duration.millis(100)

const UNHURRIED_INTERVAL = Duration.millis(500)

/** While the queue is not empty: a probe shows that the database works although no connection comes free. */
const QUEUED_INTERVAL = Duration.millis(200)

const RETRY_INTERVAL = Duration.millis(100)

const CLOSE_AFTER = Duration.seconds(1)

const PROBE_TIMEOUT = Duration.millis(500)
const SLOW_PROBE_TIMEOUT = Duration.seconds(3)

/** A lock of a table concerns all requests, one of a row those of one account or collection. */
const Activity = Schema.Array(
  Schema.Struct({ pid: Schema.Int, waits_for: Schema.NullOr(Schema.Literals(["table", "row"])) })
)

const ACTIVITY = `
  SELECT pid, CASE WHEN wait_event_type = 'Lock' THEN CASE wait_event WHEN 'relation' THEN 'table' ELSE 'row' END END
    AS waits_for
  FROM pg_stat_activity WHERE pid = ANY($1::int[]) AND state = 'active'`

const decodeActivity = Schema.decodeUnknownOption(Activity)

/** An error message of the server, as when it has too many connections, is a response. */
const isResponse = ({ reason }: SqlError.SqlError) => Predicate.hasProperty(reason.cause, "severity")

type Seen = readonly [number, Running, number]

interface Watched {
  readonly config: PgConnection.Config & { readonly maxConnections: number }
  readonly queue: ConnectionQueue
  readonly statements: Statements
  readonly clock: Clock.Clock
}

type Activities = ReadonlyMap<number, "table" | "row" | null>

const activeOf = (config: PgConnection.Config, pids: ReadonlyArray<number>) =>
  PgConnection.make(config).pipe(
    Effect.flatMap((connection) => connection.query(ACTIVITY, [pids])),
    Effect.map(({ rows }) =>
      Option.map(decodeActivity(rows), (active) => new Map(active.map((row) => [row.pid, row.waits_for])))
    ),
    Effect.catchIf(isResponse, () => Effect.succeedNone),
    Effect.scoped
  )

/**
 * Watches slow statements and the queue for connections; reads over its own connection what the back ends do.
 * Without a response, and without one to any other statement, it closes the queue and all connections with a statement, so
 * that requests fail at once, and probes until the server responds; whether such a statement had an effect is not known.
 * Once the server responds, it closes connections whose back end does not know their statement, because the network lost
 * it or its result: they would never respond. While the process stops it closes connections after the drain delay without a
 * response.
 * Where more than half of the pool waits for locks, it cancels the youngest of those statements. The same statements
 * fail at once while they would wait for a table, but not for a row: an account cannot block others by locking its own.
 */
export const watchDatabase = Effect.fnUntraced(function*({ clock, config, queue, statements }: Watched) {
  const now = () => clock.currentTimeMillisUnsafe()
  const half = Math.floor(config.maxConnections / 2)

  const schedule = { next: 0, isStopping: false, isClosed: false }

  const suspects = () => {
    const before = now() - Duration.toMillis(SUSPECT_AFTER)
    return [...statements.running].filter(([, { since }]) => since <= before)
  }

  const dropAll = Effect.suspend(() => {
    const lost = [...statements.running.values()]
    for (const { connection } of lost) dropConnection(connection)
    return lost.length === 0
      ? Effect.void
      : Effect.logWarning("database connections without a response closed", { connections: lost.length })
  })

  const drop = Effect.fnUntraced(function*(seen: ReadonlyArray<Seen>) {
    const lost = seen.filter(([pid, running, read]) =>
      statements.running.get(pid) === running && bytesRead(running.connection) === read
    )
    for (const [, { connection }] of lost) dropConnection(connection)
    if (lost.length > 0) yield* Effect.logWarning("database connections lost, closed", { connections: lost.length })
  })

  const cancelLocked = Effect.fnUntraced(function*(seen: ReadonlyArray<Seen>, active: Activities) {
    const locked = seen.filter(([pid, running]) =>
      (active.get(pid) ?? null) !== null && statements.running.get(pid) === running
    )
    if (locked.length <= half) return
    for (const [pid, { sql }] of locked) if (active.get(pid) === "table") statements.blocked.block(sql, now())
    const youngest = locked.toSorted(([, one], [, other]) => one.since - other.since).slice(half)
    yield* Effect.logWarning("statements waiting for a lock canceled", { statements: youngest.length })
    yield* Effect.forEach(youngest, ([, { connection }]) => connection.interrupt, {
      concurrency: "unbounded",
      discard: true
    })
  })

  // A query to a server that hangs does not end when interrupted, so nothing waits for it.
  const ask = Effect.fnUntraced(function*(seen: ReadonlyArray<Seen>, timeout: Duration.Duration) {
    const activity = yield* Effect.forkDetach(
      activeOf({ ...config, connectTimeout: timeout }, seen.map(([pid]) => pid))
    )
    return yield* Fiber.join(activity).pipe(
      Effect.timeoutOption(timeout),
      Effect.ensuring(Effect.sync(() => activity.interruptUnsafe())),
      Effect.catchCause(() => Effect.succeedNone)
    )
  })

  // A busy machine may run a back end, or read its response here, after those of the probe: it is asked for twice.
  const dropUnknown = Effect.fnUntraced(
    function*(seen: ReadonlyArray<Seen>, known: Activities) {
      const unknown = seen.filter(([pid]) => !known.has(pid))
      if (unknown.length === 0) return
      yield* Effect.sleep(RETRY_INTERVAL)
      const active = Option.flatten(yield* ask(unknown, PROBE_TIMEOUT))
      if (Option.isSome(active)) yield* drop(unknown.filter(([pid]) => !active.value.has(pid)))
    }
  )

  const probe = Effect.fnUntraced(function*(timeout: Duration.Duration) {
    const seen = suspects().map(([pid, running]) => [pid, running, bytesRead(running.connection)] as const)
    const active = yield* ask(seen, timeout)
    if (Option.isNone(active)) {
      if (schedule.isClosed) yield* dropAll
      else if (schedule.isStopping) yield* drop(seen)
      return false
    }
    if (Option.isSome(active.value)) {
      yield* dropUnknown(seen, active.value.value)
      yield* cancelLocked(seen, active.value.value)
    }
    statements.responses++
    return true
  })

  const untilResponse = (timeout: Duration.Duration) =>
    probe(timeout).pipe(
      Effect.delay(RETRY_INTERVAL),
      Effect.repeat({ until: (responded) => responded })
    )

  const untilResponded = (before: number) =>
    Effect.sync(() => statements.responses > before).pipe(
      Effect.delay(RETRY_INTERVAL),
      Effect.repeat({ until: (hasResponded) => hasResponded })
    )

  const closeQueue = Effect.sync(() => {
    schedule.isClosed = true
    queue.close()
  }).pipe(
    Effect.andThen(Effect.logError("database does not respond, requests refused")),
    Effect.andThen(dropAll),
    Effect.delay(CLOSE_AFTER),
    Effect.andThen(Effect.never)
  )

  const isDue = () => {
    const { length } = suspects()
    return length > half || (length + queue.waiting() > 0 && now() >= schedule.next)
  }

  const interval = () => queue.waiting() > 0 ? QUEUED_INTERVAL : UNHURRIED_INTERVAL

  const check = Effect.gen(function*() {
    statements.blocked.forget(now())
    const { responses: before } = statements
    if (!isDue()) return
    schedule.next = now() + Duration.toMillis(interval())
    if ((yield* probe(PROBE_TIMEOUT)) || statements.responses > before) return
    yield* Effect.raceAllFirst([
      untilResponse(PROBE_TIMEOUT),
      untilResponse(SLOW_PROBE_TIMEOUT),
      untilResponded(before),
      closeQueue
    ])
    schedule.isClosed = false
    if (queue.open()) yield* Effect.logInfo("database responds again")
  })

  yield* (yield* Stopping).pipe(
    Effect.andThen(Effect.sleep(yield* drainDelay)),
    Effect.andThen(Effect.sync(() => schedule.isStopping = true)),
    Effect.provideService(Clock.Clock, clock),
    Effect.forkScoped
  )

  yield* check.pipe(
    Effect.catchCause((cause) => Effect.logError("database check failed", cause)),
    Effect.delay(CHECK_INTERVAL),
    Effect.forever,
    Effect.provideService(Clock.Clock, clock),
    Effect.forkScoped
  )
})
