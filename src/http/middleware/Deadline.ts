import { Clock, Context, Duration, Effect, Fiber, Layer } from "effect"
import type { HttpServerRequest } from "effect/http"
import { RequestTimeout, Unavailable } from "../../schema/Errors.ts"
import { AnswerWithin, Deadline } from "../api/Requests.ts"
import { ArrivedBytes, BodyAllowance, ResponseDeadline } from "../request/BodyArrival.ts"

/** In milliseconds. */
interface Wait {
  readonly since: number
  readonly allowed: () => number
  readonly timedOut: Effect.Effect<never, Unavailable>
}

const tooLate = Effect.suspend(() =>
  Effect.fail(new Unavailable({ message: "The service did not get an answer in time" }))
)

/** A defect, since only endpoints with a body declare this error. */
const tooSlow = Effect.suspend(() => Effect.die(new RequestTimeout({ message: "The body did not arrive in time" })))

const watch = Effect.fnUntraced(function*(duration: Duration.Duration) {
  const { bytesPerSecond, grace } = yield* BodyAllowance
  const arrivedOf = yield* ArrivedBytes
  const forResponse = (since: number, allowed = duration): Wait => ({
    since,
    allowed: () => Duration.toMillis(allowed),
    timedOut: tooLate
  })
  const forBody = (since: number, request: HttpServerRequest.HttpServerRequest): Wait => ({
    since,
    allowed: () => Duration.toMillis(grace) + arrivedOf(request) / bytesPerSecond * 1000,
    timedOut: tooSlow
  })
  const state = { wait: forResponse(yield* Clock.currentTimeMillis) }

  const timedOut: Effect.Effect<never, Unavailable> = Effect.gen(function*() {
    const { allowed, since, timedOut: failed } = state.wait
    const left = since + allowed() - (yield* Clock.currentTimeMillis)
    if (left <= 0) return yield* failed
    // At most `grace`, since a body may begin to arrive meanwhile.
    yield* Effect.sleep(Duration.min(Duration.millis(left), grace))
    return yield* timedOut
  })

  return {
    timedOut,
    awaitBody: (request: HttpServerRequest.HttpServerRequest) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        state.wait = forBody(now, request)
      }),
    pause: Effect.map(Clock.currentTimeMillis, (now) => {
      state.wait = forResponse(now, Duration.infinity)
    }),
    begin: Effect.map(Clock.currentTimeMillis, (now) => {
      state.wait = forResponse(now)
    })
  }
})

/**
 * Fails with `Unavailable` if the response does not begin in time. Does not wait for the interrupted work: a query to a
 * hanging server does not end.
 */
export const within = <A, E, R>(
  work: Effect.Effect<A, E, R>,
  duration: Duration.Duration
): Effect.Effect<A, E | Unavailable, R> =>
  Effect.gen(function*() {
    const { timedOut, ...deadline } = yield* watch(duration)
    const fiber = yield* Effect.forkDetach(Effect.provideService(work, ResponseDeadline, deadline), {
      startImmediately: true
    })
    return yield* Fiber.join(fiber).pipe(
      Effect.raceFirst(timedOut),
      Effect.ensuring(Effect.sync(() => fiber.interruptUnsafe()))
    )
  }).pipe(Effect.interruptible)

export const deadlineLayer = Layer.succeed(
  Deadline,
  (httpEffect, { endpoint }) => within(httpEffect, Context.get(endpoint.annotations, AnswerWithin))
)
