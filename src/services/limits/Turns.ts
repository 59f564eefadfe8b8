import { Deferred, type Duration, Effect, type Metric, Semaphore } from "effect"
import { Unavailable } from "../schema/Errors.ts"
import { during } from "./metrics/Gauges.ts"

interface Turns {
  readonly atOnce: number
  readonly longestWait: Duration.Duration
  /** What a caller that waited too long reads. */
  readonly message: string
  readonly running: Metric.Gauge<number>
  readonly waiting: Metric.Gauge<number>
}

/**
 * Runs at most `atOnce` effects at a time; the others wait in their order. One that has not begun after `longestWait`
 * fails with `Unavailable` and leaves the queue, and so does one that is interrupted.
 */
export const makeTurns = Effect.fnUntraced(function*({ atOnce, longestWait, message, running, waiting }: Turns) {
  const turns = yield* Semaphore.make(atOnce)

  return <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E | Unavailable, R> =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const late = Effect.gen(function*() {
        yield* Effect.sleep(longestWait)
        return yield* (yield* Deferred.isDone(begun)) ? Effect.never : Unavailable.retryAfter(message, longestWait)
      })
      const inTurn = Deferred.succeed(begun, undefined).pipe(
        Effect.andThen(work),
        during(waiting, -1),
        during(running),
        turns.withPermit,
        during(waiting)
      )
      return yield* Effect.raceFirst(inTurn, late)
    })
})
