import { type Duration, Effect, Metric, Option, Scope, Semaphore } from "effect"
import { Overloaded } from "../../schema/DomainErrors.ts"
import { during } from "../metrics/Gauges.ts"
import { waitingForOthers } from "./RunningRequests.ts"

interface TurnOptions {
  readonly atOnce: number
  readonly shared?: Semaphore.Semaphore | undefined
  readonly longestWait: Duration.Duration
  readonly longestQueue?: number
  /** Whether a queued request is one that runs, for the limit of a saturated process. */
  readonly countsQueued?: boolean
  readonly reason: Overloaded["reason"]
  readonly running: Metric.Gauge<number>
  readonly waiting: Metric.Gauge<number>
}

export type Turns = <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Overloaded, R>

/** Runs `atOnce` effects; others queue in order. A timeout and a full queue fail with `Overloaded`. */
export const makeTurns = Effect.fnUntraced(function*(options: TurnOptions) {
  const { atOnce, countsQueued = false, longestQueue = Infinity, longestWait, reason, running, shared, waiting } =
    options
  const semaphore = yield* Semaphore.make(atOnce)
  yield* Effect.forEach([running, waiting], (gauge) => Metric.update(gauge, 0), { discard: true })

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
    const queued = Effect.suspend(() => queue.length >= longestQueue ? refused : inTurn)
    return Effect.suspend(() =>
      queue.length > 0 || shared !== undefined ? queued : Effect.flatMap(
        semaphore.withPermitsIfAvailable(1)(counted),
        (done) => Option.isSome(done) ? Effect.succeed(done.value) : queued
      )
    )
  }
  return turns
})
