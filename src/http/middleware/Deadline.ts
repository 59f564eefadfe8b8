import { Context, Duration, Effect, Layer } from "effect"
import { Unavailable } from "../../schema/Errors.ts"
import { RequestNotes } from "../../services/operations/RequestNotes.ts"
import { Deadline, ResponseWithin } from "../api/Requests.ts"
import { ResponseDeadline } from "../request/RequestBodies.ts"

const RETRY_AFTER = Duration.seconds(1)

const tooLate = Effect.flatMap(RequestNotes, (notes) => {
  notes.fault = { limit: "response_time" }
  return Effect.fail(Unavailable.retryAfter("The service did not respond in time", RETRY_AFTER))
})

/** Fails with `Unavailable` if the response does not begin in time. `ResponseDeadline` suspends the timeout. */
export const within = <A, E, R>(
  work: Effect.Effect<A, E, R>,
  duration: Duration.Duration
): Effect.Effect<A, E | Unavailable, R> =>
  Effect.clockWith((clock) => {
    const limit = Duration.toMillis(duration)
    const state = { due: clock.currentTimeMillisUnsafe() + limit }
    const expired: Effect.Effect<never, Unavailable> = Effect.suspend(() => {
      const left = state.due - clock.currentTimeMillisUnsafe()
      return left > 0 ? Effect.andThen(Effect.sleep(Math.min(left, limit)), expired) : tooLate
    })
    const deadline = {
      pause: Effect.sync(() => void (state.due = Infinity)),
      begin: Effect.sync(() => void (state.due = clock.currentTimeMillisUnsafe() + limit))
    }
    return Effect.raceFirst(Effect.provideService(work, ResponseDeadline, deadline), expired)
  }).pipe(Effect.interruptible)

export const deadlineLayer = Layer.succeed(Deadline, (httpEffect, { endpoint }) => {
  const duration = Context.get(endpoint.annotations, ResponseWithin)
  return Duration.isFinite(duration) ? within(httpEffect, duration) : httpEffect
})
