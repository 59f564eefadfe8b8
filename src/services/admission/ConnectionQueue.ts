import { Clock, Context, Duration, Effect, Exit, Metric, Option, Schema, Scope } from "effect"
import { SqlError } from "effect/sql"
import { connectionError } from "../db/DatabaseErrors.ts"
import { atZero, countersBy, during } from "../operations/Metrics.ts"

/** Returns which part of its longest wait the first in the queue, or the first read, has waited; 0 if none waits. */
export const QueueLateness = Context.Reference<(isRead?: boolean) => number>("route-planning-service/QueueLateness", {
  defaultValue: () => () => 0
})

/** The pool has no free connection; the database may respond nevertheless. */
export class NoFreeConnection extends Schema.TaggedError<NoFreeConnection>()("NoFreeConnection", {
  message: Schema.String
}) {}

const WAITING = Metric.gauge("database_queue_waiting", {
  description: "Statements and transactions that wait for a connection"
})

const REFUSALS = countersBy(
  "database_queue_refusals_total",
  "reason",
  ["full", "timeout", "unreachable"],
  "Statements and transactions that got no connection"
)

const refuse = (counter: Metric.Counter<number>, message: string) =>
  Effect.andThen(
    Metric.update(counter, 1),
    Effect.suspend(() => Effect.fail(connectionError("acquire", message, new NoFreeConnection({ message }))))
  )

const refuseFull = refuse(REFUSALS.full, "Too many statements are queued for a connection")
const refuseLate = refuse(REFUSALS.timeout, "No connection came free in time")

const refuseUnreachable = Effect.andThen(
  Metric.update(REFUSALS.unreachable, 1),
  Effect.suspend(() => Effect.fail(connectionError("acquire", "The database does not respond")))
)

const connectFailure = (exit: Exit.Exit<unknown, unknown>): Option.Option<SqlError.SqlError> =>
  Option.filter(
    Exit.findErrorOption(exit),
    (error): error is SqlError.SqlError => error instanceof SqlError.SqlError && error.reason.operation === "connect"
  )

type Turn = Effect.Effect<void, SqlError.SqlError>

/** `turn` is what the ticket was given, perhaps before it waits. */
interface Ticket {
  readonly since: number
  readonly isTransaction: boolean
  state: "waiting" | "admitted" | "left"
  turn: Turn | undefined
  wake: ((turn: Turn) => void) | undefined
}

const give = (ticket: Ticket, turn: Turn) => {
  ticket.turn = turn
  ticket.wake?.(turn)
}

interface ConnectionQueueOptions {
  readonly connections: number
  readonly length: number
  readonly longestWait: Duration.Duration
  readonly clock: Clock.Clock
}

/** Writes leave this part of the connections to reads: commits wait for a standby for as long as it is away. */
const LEFT_TO_READS = 0.25

/**
 * Admits at most `connections` users of a pool, three in four of them with what commits, and queues the others in
 * order; with a free connection it costs no fiber, timer or queue entry. A full queue and a timeout fail with
 * `NoFreeConnection` as the cause; a closed queue fails at once. If a connection cannot be made, it admits as many
 * users as have one, and one more each time all of these succeed. While none has one, a single user tries, and those
 * who wait fail with it.
 */
export interface ConnectionQueue {
  /** `isTransaction` is true also for a single statement that writes, since it commits. */
  readonly run: <A, E, R>(
    work: Effect.Effect<A, E, R>,
    isTransaction?: boolean
  ) => Effect.Effect<A, E | SqlError.SqlError, R>
  readonly turn: Effect.Effect<void, SqlError.SqlError, Scope.Scope>
  readonly transactionTurn: Effect.Effect<void, SqlError.SqlError, Scope.Scope>
  readonly waiting: () => number
  readonly lateness: (isRead?: boolean) => number
  readonly close: () => void
  readonly open: () => void
}

export const makeConnectionQueue = Effect.fnUntraced(function*(options: ConnectionQueueOptions) {
  const { connections } = options
  const context = yield* Effect.context<never>()
  const longestWait = Duration.toMillis(options.longestWait)
  const state = { used: 0, transactions: 0, admitted: connections, isOpen: true }
  const mostTransactions = connections - Math.floor(connections * LEFT_TO_READS)
  const waiting = new Set<Ticket>()
  yield* atZero([WAITING, ...Object.values(REFUSALS)])

  const isFree = (isTransaction = false) =>
    state.used < Math.floor(state.admitted) && !(isTransaction && state.transactions >= mostTransactions)

  const admit = (ticket: Ticket) => {
    state.used++
    if (ticket.isTransaction) state.transactions++
    ticket.state = "admitted"
  }

  // A connection that is passed on is never free: only a transaction for which none is left can be overtaken.
  const admitFirst = () => {
    for (const first of waiting) {
      if (!isFree()) return
      if (!isFree(first.isTransaction)) continue
      waiting.delete(first)
      admit(first)
      give(first, Effect.void)
    }
  }

  const refuseAll = (refusal: Turn) => {
    for (const ticket of waiting) {
      waiting.delete(ticket)
      ticket.state = "left"
      give(ticket, refusal)
    }
  }

  const adapt = (exit: Exit.Exit<unknown, unknown>) => {
    if (Exit.isSuccess(exit)) return void (state.admitted = Math.min(connections, state.admitted + 1 / state.admitted))
    const failure = connectFailure(exit)
    if (Option.isNone(failure)) return
    state.admitted = Math.max(1, state.used)
    REFUSALS.unreachable.updateUnsafe(1, context)
    if (state.used === 0) refuseAll(Effect.andThen(Metric.update(REFUSALS.unreachable, 1), Effect.fail(failure.value)))
  }

  const release = (exit: Exit.Exit<unknown, unknown>) => {
    state.used--
    if (state.admitted < connections || Exit.isFailure(exit)) adapt(exit)
    if (waiting.size > 0) admitFirst()
    return undefined
  }

  const leave = (ticket: Ticket, exit: Exit.Exit<unknown, unknown>) => {
    if (ticket.state === "admitted") {
      if (ticket.isTransaction) state.transactions--
      release(exit)
    } else waiting.delete(ticket)
    ticket.state = "left"
    return undefined
  }

  const newTicket = (isTransaction: boolean): Ticket => {
    const since = options.clock.currentTimeMillisUnsafe()
    const ticket: Ticket = { since, isTransaction, state: "waiting", turn: undefined, wake: undefined }
    if (isFree(isTransaction)) admit(ticket)
    else waiting.add(ticket)
    return ticket
  }

  const untilAdmitted = (ticket: Ticket) =>
    Effect.callback<void, SqlError.SqlError>((resume) => {
      if (ticket.turn === undefined) ticket.wake = resume
      else resume(ticket.turn)
    }).pipe(
      Effect.timeoutOrElse({ duration: options.longestWait, orElse: () => refuseLate }),
      during(WAITING),
      Effect.provideService(Clock.Clock, options.clock)
    )

  const refusal = (isTransaction: boolean) => {
    if (!state.isOpen) return refuseUnreachable
    return !isFree(isTransaction) && waiting.size >= options.length ? refuseFull : undefined
  }

  const turnOf = (isTransaction: boolean) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Effect.scope, (scope) => {
        const refused = refusal(isTransaction)
        if (refused !== undefined) return refused
        const ticket = newTicket(isTransaction)
        const leaving = (exit: Exit.Exit<unknown, unknown>) => Effect.sync(() => leave(ticket, exit))
        return Effect.andThen(
          Scope.addFinalizerExit(scope, leaving),
          ticket.state === "admitted" ? Effect.void : Effect.onExit(
            restore(untilAdmitted(ticket)),
            (exit) => Exit.isFailure(exit) ? leaving(exit) : Effect.void
          )
        )
      })
    )

  const queue: ConnectionQueue = {
    run: (work, isTransaction = false) =>
      Effect.uninterruptibleMask((restore) => {
        const refused = refusal(isTransaction)
        if (refused !== undefined) return refused
        if (!isTransaction && isFree()) {
          state.used++
          return Effect.onExitPrimitive(restore(work), release)
        }
        const ticket = newTicket(isTransaction)
        if (ticket.state === "admitted") {
          return Effect.onExitPrimitive(restore(work), (exit) => leave(ticket, exit))
        }
        return Effect.onExit(
          Effect.flatMap(restore(untilAdmitted(ticket)), () => restore(work)),
          (exit) => Effect.sync(() => leave(ticket, exit))
        )
      }),
    turn: turnOf(false),
    transactionTurn: turnOf(true),
    waiting: () => waiting.size,
    lateness: (isRead = false) => {
      for (const { isTransaction, since } of waiting) {
        if (!(isRead && isTransaction)) return (options.clock.currentTimeMillisUnsafe() - since) / longestWait
      }
      return 0
    },
    close: () => {
      state.isOpen = false
      refuseAll(refuseUnreachable)
    },
    open: () => {
      state.isOpen = true
    }
  }
  return queue
})
