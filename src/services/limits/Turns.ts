import { type Duration, Effect, Metric, Option, Scope, Semaphore } from "effect"
import { Unavailable } from "../../schema/Errors.ts"
import { during } from "../metrics/Gauges.ts"
import { waitingForOthers } from "./RunningRequests.ts"

interface TurnOptions {
  readonly atOnce: number
  /** What these turns share with others, where they are not alone: a turn has one permit of it too. */
  readonly shared?: Semaphore.Semaphore | undefined
  readonly longestWait: Duration.Duration
  /** How many may queue; any number if it is not said. */
  readonly longestQueue?: number
  /** What a caller that waited too long reads. */
  readonly message: string
  readonly running: Metric.Gauge<number>
  readonly waiting: Metric.Gauge<number>
}

/** Runs work when it is its turn. */
export type Turns = <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Unavailable, R>

/**
 * Runs at most `atOnce` effects at a time; the others queue in order of arrival. One that has not begun after
 * `longestWait` fails with `Unavailable` and leaves the queue, and so does one that is interrupted. One that finds
 * `longestQueue` others fails at once.
 */
export const makeTurns = Effect.fnUntraced(function*(options: TurnOptions) {
  const { atOnce, longestQueue = Infinity, longestWait, message, running, shared, waiting } = options
  const semaphore = yield* Semaphore.make(atOnce)
  yield* Effect.forEach([running, waiting], (gauge) => Metric.update(gauge, 0), { discard: true })

  const refused = Effect.suspend(() => Effect.fail(Unavailable.retryAfter(message, longestWait)))

  // A permit belongs to the scope from the instant it is taken: a timeout at that same instant cannot lose it.
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

  const queuedTurn = Effect.acquireUseRelease(
    Effect.sync(() => queue.length++),
    () => waitingForOthers(turn),
    () => Effect.sync(() => queue.length--)
  )

  // A permit that is free belongs to the first in the queue, even before it was woken.
  const turns: Turns = (work) => {
    const counted = during(running)(work)
    // What the work acquires belongs to its caller, and lives longer than the turn.
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
