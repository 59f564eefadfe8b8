import { type Duration, Effect, Metric, Option, Scope, Semaphore } from "effect"
import { Overloaded } from "../DomainErrors.ts"
import { during } from "../operations/Metrics.ts"
import { RunningRequests, waitingForOthers } from "./RunningRequests.ts"

interface QueueOptions {
  readonly shared?: Semaphore.Semaphore | undefined
  readonly longestWait: Duration.Duration
  readonly longestQueue?: number
  /** While the process has as many requests as it takes. */
  readonly longestCrowdedQueue?: number
  /** Whether a queued request is one that runs, for the limit of a saturated process. */
  readonly countsQueued?: boolean
  readonly reason: Overloaded["reason"]
  readonly running: Metric.Gauge<number>
  readonly waiting: Metric.Gauge<number>
}

const gauge = (name: string, description: string, work: string) =>
  Metric.gauge(name, { description, attributes: { class: work } })

export const bulkheadGauges = (work: string) => ({
  running: gauge("bulkhead_running", "Running requests of a class", work),
  waiting: gauge("bulkhead_waiting", "Queued requests of a class", work)
})

export type Turns = <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Overloaded, R>

export const initialTurns = ({ running, waiting }: QueueOptions): Effect.Effect<void> =>
  Effect.forEach([running, waiting], (gauge) => Metric.update(gauge, 0), { discard: true })

/** Runs an effect for each permit; others queue in order. A timeout and a full queue fail with `Overloaded`. */
export const turnsBy = (semaphore: Semaphore.Semaphore, options: QueueOptions): Turns => {
  const { countsQueued = false, longestQueue = Infinity, longestWait, reason, running, shared, waiting } = options
  const { longestCrowdedQueue = longestQueue } = options

  const refused = Effect.suspend(() => Effect.fail(Overloaded.retryAfter(reason, longestWait)))

  // The scope owns a permit as soon as it is taken: a timeout in the same instant cannot lose it.
  const permits = shared === undefined
    ? semaphore.takeScoped(1)
    : Effect.andThen(semaphore.takeScoped(1), shared.takeScoped(1))

  const turn = permits.pipe(
    Effect.timeoutOrElse({
      duration: longestWait,
      orElse: () => refused
    }),
    during(waiting)
  )

  const queue = { length: 0 }
  const waits = countsQueued ? turn : waitingForOthers(turn)

  const queuedTurn = Effect.acquireUseRelease(
    Effect.sync(() => queue.length++),
    () => waits,
    () => Effect.sync(() => queue.length--)
  )

  // A free permit belongs to the first in the queue, even before that is woken.
  const turns: Turns = (work) => {
    const counted = during(running)(work)
    // Resources of the work belong to the caller and outlive the turn.
    const inTurn = Effect.scopedWith((scope) => Effect.andThen(Scope.provide(queuedTurn, scope), counted))
    const queued = Effect.flatMap(
      RunningRequests,
      ({ areMany }) => queue.length >= (areMany() ? longestCrowdedQueue : longestQueue) ? refused : inTurn
    )
    return Effect.suspend(() =>
      queue.length > 0 || shared !== undefined ? queued : Effect.flatMap(
        semaphore.withPermitsIfAvailable(1)(counted),
        (done) => Option.isSome(done) ? Effect.succeed(done.value) : queued
      )
    )
  }
  return turns
}

export const makeTurns = Effect.fnUntraced(function*(options: QueueOptions & { readonly atOnce: number }) {
  yield* initialTurns(options)
  return turnsBy(yield* Semaphore.make(options.atOnce), options)
})
