import { Effect, Fiber } from "effect"
import { Unavailable } from "../../schema/Errors.ts"

/** Longer than any statement or lock may take, shorter than a client's patience. */
const DEADLINE = "10 seconds"

/**
 * Fails with `Unavailable` when an answer is not begun within 10 seconds. A query to a server that hangs is not over
 * when it is interrupted, so the work is told to stop and left behind rather than waited for. An interruption, as by a
 * client that went away, stops the work the same way.
 */
export const withDeadline = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E | Unavailable, R> =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkDetach(work, { startImmediately: true })
    return yield* Fiber.join(fiber).pipe(
      Effect.timeoutOrElse({
        duration: DEADLINE,
        orElse: () => Effect.fail(new Unavailable({ message: "The service did not get an answer in time" }))
      }),
      Effect.ensuring(Effect.sync(() => fiber.interruptUnsafe()))
    )
  }).pipe(Effect.interruptible)
