import { Clock, Context, Duration, Effect, Layer } from "effect"
import { RequestTimeout, Unavailable } from "../../schema/Errors.ts"
import { Deadline, ResponseWithin } from "../api/Requests.ts"
import { ResponseDeadline } from "../request/BodyArrival.ts"
import { type Timer, type Timers, timersOf } from "./Timers.ts"

const tooLate = Effect.suspend(() => Effect.fail(new Unavailable({ message: "The service did not respond in time" })))

/** A defect, since only endpoints with a body declare this error. */
const tooSlow = Effect.suspend(() => Effect.die(new RequestTimeout({ message: "The body did not arrive in time" })))

const nothing = () => undefined

/** What a request waits for, which its work changes: its response, or its body. One object, since each request has it. */
class RequestTimer implements Timer {
  private readonly clock: Clock.Clock
  private readonly timers: Timers
  private readonly limit: number
  private since: number
  private allowed: number
  private isBody = false
  private expired: (timedOut: Effect.Effect<never, Unavailable>) => void = nothing

  /** In milliseconds, as all times of it. */
  constructor(context: Context.Context<never>, limit: number) {
    this.clock = Context.get(context, Clock.Clock)
    this.timers = timersOf(this.clock)
    this.limit = limit
    this.allowed = limit
    this.since = this.clock.currentTimeMillisUnsafe()
  }

  awaitBody(milliseconds: number) {
    return Effect.sync(() => this.waitFor(milliseconds, true))
  }

  get pause() {
    return Effect.sync(() => this.waitFor(Infinity))
  }

  get begin() {
    return Effect.sync(() => this.waitFor(this.limit))
  }

  start(expired: (timedOut: Effect.Effect<never, Unavailable>) => void) {
    this.expired = expired
    this.timers.enter(this)
  }

  /** The timers may refer to it for longer (decision 0018). */
  stop() {
    this.timers.leave(this)
    this.expired = nothing
  }

  left() {
    return this.since + this.allowed - this.clock.currentTimeMillisUnsafe()
  }

  expire() {
    this.expired(this.isBody ? tooSlow : tooLate)
  }

  private waitFor(allowed: number, isBody = false) {
    this.since = this.clock.currentTimeMillisUnsafe()
    this.allowed = allowed
    this.isBody = isBody
    this.timers.moved(this)
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
  Effect.contextWith((context: Context.Context<R>): Effect.Effect<A, E | Unavailable> => {
    const timer = new RequestTimer(context, Duration.toMillis(duration))
    const fiber = Effect.runForkWith(Context.add(context, ResponseDeadline, timer))(work)
    return fiber.pollUnsafe() ?? Effect.callback<A, E | Unavailable>((resume) => {
      timer.start((timedOut) => {
        resume(timedOut)
        fiber.interruptUnsafe()
      })
      fiber.addObserver((exit) => {
        timer.stop()
        resume(exit)
      })
      return Effect.sync(() => {
        timer.stop()
        fiber.interruptUnsafe()
      })
    })
  }).pipe(Effect.interruptible)

export const deadlineLayer = Layer.effect(
  Deadline,
  Effect.gen(function*() {
    const timers = timersOf(yield* Clock.Clock)
    yield* Effect.addFinalizer(() => Effect.sync(() => timers.rest()))
    return (httpEffect, { endpoint }) => {
      const duration = Context.get(endpoint.annotations, ResponseWithin)
      return Duration.isFinite(duration) ? within(httpEffect, duration) : httpEffect
    }
  })
)
