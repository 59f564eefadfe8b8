import { Context, type Duration, Effect, Fiber, Layer } from "effect"
import { Unavailable } from "../../schema/Errors.ts"
import { AnswerWithin, Deadline } from "../api/Requests.ts"

/**
 * Fails with `Unavailable` when an answer is not begun in time. The usual 10 seconds are longer than any statement or lock
 * may take, shorter than a client's patience. A query to a server that hangs is not over when it is interrupted, so the
 * work is told to stop and left behind rather than waited for. An interruption, as by a client that went away, stops the
 * work the same way.
 */
const within = <A, E, R>(
  work: Effect.Effect<A, E, R>,
  duration: Duration.Duration
): Effect.Effect<A, E | Unavailable, R> =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkDetach(work, { startImmediately: true })
    return yield* Fiber.join(fiber).pipe(
      Effect.timeoutOrElse({
        duration,
        orElse: () => Effect.fail(new Unavailable({ message: "The service did not get an answer in time" }))
      }),
      Effect.ensuring(Effect.sync(() => fiber.interruptUnsafe()))
    )
  }).pipe(Effect.interruptible)

export const deadlineLayer = Layer.succeed(
  Deadline,
  (httpEffect, { endpoint }) => within(httpEffect, Context.get(endpoint.annotations, AnswerWithin))
)
