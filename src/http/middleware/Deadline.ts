import { Clock, Context, Duration, Effect, Fiber, Latch, Layer } from "effect"
import { Unavailable } from "../../schema/Errors.ts"
import { AnswerWithin, Deadline } from "../api/Requests.ts"
import { ResponseDeadline } from "../BodyArrival.ts"

/** A deadline that can be stopped, and begins from the start when it runs again. */
const pausable = (duration: Duration.Duration) =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const running = Latch.makeUnsafe(true)
    const state = { since: now }

    const passed: Effect.Effect<void> = Effect.gen(function*() {
      yield* running.await
      const left = state.since + Duration.toMillis(duration) - (yield* Clock.currentTimeMillis)
      if (left <= 0) return
      yield* Effect.sleep(Duration.millis(left))
      yield* passed
    })

    return {
      passed,
      pause: Effect.asVoid(running.close),
      begin: Effect.flatMap(Clock.currentTimeMillis, (now) => {
        state.since = now
        return Effect.asVoid(running.open)
      })
    }
  })

/**
 * Fails with `Unavailable` when a response is not begun in time, counted from when the request has arrived. The usual 10
 * seconds are longer than any statement or lock may take, shorter than a client's timeout. A query to a server that hangs
 * is not over when it is interrupted, so the work is told to stop and left behind rather than waited for. An interruption,
 * as by a client that went away, stops the work the same way.
 */
const within = <A, E, R>(
  work: Effect.Effect<A, E, R>,
  duration: Duration.Duration
): Effect.Effect<A, E | Unavailable, R> =>
  Effect.gen(function*() {
    const { passed, ...deadline } = yield* pausable(duration)
    const fiber = yield* Effect.forkDetach(Effect.provideService(work, ResponseDeadline, deadline), {
      startImmediately: true
    })
    return yield* Fiber.join(fiber).pipe(
      Effect.raceFirst(
        Effect.andThen(passed, Effect.fail(new Unavailable({ message: "The service did not get an answer in time" })))
      ),
      Effect.ensuring(Effect.sync(() => fiber.interruptUnsafe()))
    )
  }).pipe(Effect.interruptible)

export const deadlineLayer = Layer.succeed(
  Deadline,
  (httpEffect, { endpoint }) => within(httpEffect, Context.get(endpoint.annotations, AnswerWithin))
)
