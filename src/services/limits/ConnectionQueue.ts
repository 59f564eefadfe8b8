import { Clock, Config, Duration, Effect, Metric, Schema, Scope } from "effect"
import { SqlError } from "effect/sql"
import { counterBy } from "../metrics/Counters.ts"
import { during } from "../metrics/Gauges.ts"
import { period, whole } from "../settings/SettingTypes.ts"

export const queueLength = whole(0, 100_000, "DATABASE_QUEUE_LENGTH").pipe(Config.withDefault(256))

export const queueTimeout = period("DATABASE_QUEUE_TIMEOUT", Duration.seconds(2)).pipe(
  Config.withDefault(Duration.seconds(2))
)

/** The database may respond nevertheless. */
export class NoFreeConnection extends Schema.TaggedError<NoFreeConnection>()("NoFreeConnection", {
  message: Schema.String
}) {}

const WAITING = Metric.gauge("database_queue_waiting", {
  description: "Statements and transactions that wait for a connection"
})

const refusals = counterBy<"full" | "timeout" | "unreachable">(
  "database_queue_refusals_total",
  "reason",
  "Statements and transactions that got no connection"
)

const FULL = refusals("full")
const TIMEOUT = refusals("timeout")
const UNREACHABLE = refusals("unreachable")

const acquireError = (message: string, cause: Error) =>
  new SqlError.SqlError({ reason: new SqlError.ConnectionError({ cause, message, operation: "acquire" }) })

const refuse = (counter: Metric.Counter<number>, message: string) =>
  Effect.andThen(
    Metric.update(counter, 1),
    Effect.suspend(() => Effect.fail(acquireError(message, new NoFreeConnection({ message }))))
  )

const refuseFull = refuse(FULL, "Too many statements are queued for a connection")
const refuseLate = refuse(TIMEOUT, "No connection came free in time")

const refuseUnreachable = Effect.andThen(
  Metric.update(UNREACHABLE, 1),
  Effect.suspend(() => {
    const message = "The database does not respond"
    return Effect.fail(acquireError(message, new Error(message)))
  })
)

interface Ticket {
  state: "waiting" | "admitted" | "left"
  wake: (turn: Effect.Effect<void, SqlError.SqlError>) => void
}

interface ConnectionQueueOptions {
  readonly connections: number
  readonly length: number
  readonly longestWait: Duration.Duration
  readonly clock: Clock.Clock
}

/**
 * Admits at most `connections` users of a pool and queues the others in order; with a free connection it costs no
 * fiber, timer or queue entry. A full queue and a timeout fail with the cause `NoFreeConnection`; a closed queue fails
 * at once.
 */
export interface ConnectionQueue {
  readonly run: <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E | SqlError.SqlError, R>
  readonly turn: Effect.Effect<void, SqlError.SqlError, Scope.Scope>
  readonly waiting: () => number
  readonly close: () => void
  readonly open: () => boolean
}

export const makeConnectionQueue = Effect.fnUntraced(function*(options: ConnectionQueueOptions) {
  const state = { free: options.connections, isOpen: true }
  const waiting = new Set<Ticket>()
  yield* Effect.forEach([FULL, TIMEOUT, UNREACHABLE], (counter) => Metric.update(counter, 0), { discard: true })
  yield* Metric.update(WAITING, 0)

  // A connection that is passed on is never free, so that nothing overtakes the first in the queue.
  const release = () => {
    for (const first of waiting) {
      waiting.delete(first)
      first.state = "admitted"
      first.wake(Effect.void)
      return
    }
    state.free++
  }

  const leave = (ticket: Ticket) => {
    if (ticket.state === "admitted") release()
    else waiting.delete(ticket)
    ticket.state = "left"
  }

  const newTicket = (): Ticket => {
    const ticket: Ticket = { state: "waiting", wake: () => undefined }
    if (state.free > 0) {
      state.free--
      ticket.state = "admitted"
    } else waiting.add(ticket)
    return ticket
  }

  const untilAdmitted = (ticket: Ticket) =>
    Effect.callback<void, SqlError.SqlError>((resume) => {
      if (ticket.state === "admitted") resume(Effect.void)
      else ticket.wake = resume
    }).pipe(
      Effect.timeoutOrElse({ duration: options.longestWait, orElse: () => refuseLate }),
      during(WAITING),
      Effect.provideService(Clock.Clock, options.clock)
    )

  const refusal = () => {
    if (!state.isOpen) return refuseUnreachable
    return state.free === 0 && waiting.size >= options.length ? refuseFull : undefined
  }

  const releaseOnExit = () => {
    release()
    return undefined
  }

  const queue: ConnectionQueue = {
    run: (work) =>
      Effect.uninterruptibleMask((restore) => {
        const refused = refusal()
        if (refused !== undefined) return refused
        if (state.free > 0) {
          state.free--
          return Effect.onExitPrimitive(restore(work), releaseOnExit)
        }
        const ticket = newTicket()
        return Effect.ensuring(
          Effect.flatMap(restore(untilAdmitted(ticket)), () => restore(work)),
          Effect.sync(() => leave(ticket))
        )
      }),
    turn: Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Effect.scope, (scope) => {
        const refused = refusal()
        if (refused !== undefined) return refused
        const ticket = newTicket()
        const leaving = Effect.sync(() => leave(ticket))
        return Effect.andThen(
          Scope.addFinalizer(scope, leaving),
          ticket.state === "admitted" ? Effect.void : Effect.onError(restore(untilAdmitted(ticket)), () => leaving)
        )
      })
    ),
    waiting: () => waiting.size,
    close: () => {
      state.isOpen = false
      for (const ticket of waiting) {
        leave(ticket)
        ticket.wake(refuseUnreachable)
      }
    },
    open: () => {
      const wasClosed = !state.isOpen
      state.isOpen = true
      return wasClosed
    }
  }
  return queue
})
