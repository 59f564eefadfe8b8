import { Clock, Context, Duration, Effect, type Fiber, Layer } from "effect"
import type { HttpServerRequest } from "effect/http"
import { RequestTimeout, Unavailable } from "../../schema/Errors.ts"
import { Deadline, ResponseWithin } from "../api/Requests.ts"
import { ArrivedBytes, BodyAllowance, ResponseDeadline } from "../request/BodyArrival.ts"
import { timersOf } from "./Timers.ts"

/** In milliseconds. */
interface Wait {
  readonly since: number
  readonly allowed: () => number
  readonly timedOut: Effect.Effect<never, Unavailable>
}

const tooLate = Effect.suspend(() => Effect.fail(new Unavailable({ message: "The service did not respond in time" })))

/** A defect, since only endpoints with a body declare this error. */
const tooSlow = Effect.suspend(() => Effect.die(new RequestTimeout({ message: "The body did not arrive in time" })))

/** What a request waits for, which its work changes. */
const watch = (context: Context.Context<never>, duration: Duration.Duration) => {
  const clock = Context.get(context, Clock.Clock)
  const { bytesPerSecond, grace } = Context.get(context, BodyAllowance)
  const arrivedOf = Context.get(context, ArrivedBytes)
  const time = () => clock.currentTimeMillisUnsafe()
  const forResponse = (allowed = duration): Wait => ({
    since: time(),
    allowed: () => Duration.toMillis(allowed),
    timedOut: tooLate
  })
  const forBody = (request: HttpServerRequest.HttpServerRequest): Wait => ({
    since: time(),
    allowed: () => Duration.toMillis(grace) + arrivedOf(request) / bytesPerSecond * 1000,
    timedOut: tooSlow
  })
  const state = { wait: forResponse(), moved: () => {} }
  const waitFor = (next: () => Wait) =>
    Effect.sync(() => {
      state.wait = next()
      state.moved()
    })

  return {
    state,
    deadline: {
      awaitBody: (request: HttpServerRequest.HttpServerRequest) => waitFor(() => forBody(request)),
      pause: waitFor(() => forResponse(Duration.infinity)),
      begin: waitFor(forResponse)
    },
    // At most `grace`, since a body may begin to arrive meanwhile.
    left: () => Math.min(state.wait.since + state.wait.allowed() - time(), Duration.toMillis(grace))
  }
}

/**
 * Fails with `Unavailable` if the response does not begin in time. Does not wait for the interrupted work: a query to a
 * hanging server does not end. One timer serves all requests.
 */
export const within = <A, E, R>(
  work: Effect.Effect<A, E, R>,
  duration: Duration.Duration
): Effect.Effect<A, E | Unavailable, R> =>
  Effect.contextWith((context: Context.Context<R>) => {
    const { deadline, left, state } = watch(context, duration)
    const timers = timersOf(Context.get(context, Clock.Clock))
    const untilDone = (fiber: Fiber.Fiber<A, E>) =>
      fiber.pollUnsafe() ?? Effect.callback<A, E | Unavailable>((resume) => {
        const { leave, moved } = timers.enter(left, () => {
          resume(state.wait.timedOut)
          fiber.interruptUnsafe()
        })
        state.moved = moved
        fiber.addObserver((exit) => {
          leave()
          resume(exit)
        })
        return Effect.sync(() => {
          leave()
          fiber.interruptUnsafe()
        })
      })
    return work.pipe(
      Effect.provideService(ResponseDeadline, deadline),
      Effect.forkDetach({ startImmediately: true }),
      Effect.flatMap(untilDone)
    )
  }).pipe(Effect.interruptible)

export const deadlineLayer = Layer.succeed(
  Deadline,
  (httpEffect, { endpoint }) => {
    const duration = Context.get(endpoint.annotations, ResponseWithin)
    return Duration.isFinite(duration) ? within(httpEffect, duration) : httpEffect
  }
)
