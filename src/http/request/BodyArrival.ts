import { Clock, Context, Duration, Effect, Stream } from "effect"
import type { HttpServerRequest } from "effect/http"
import { BODY_ALLOWANCE } from "../../schema/Limits.ts"

/** A body may fall `grace` behind the minimum rate, and so may stand still for as long. */
export const BodyAllowance = Context.Reference<{ readonly grace: Duration.Duration; readonly bytesPerSecond: number }>(
  "route-planning-service/BodyAllowance",
  { defaultValue: () => BODY_ALLOWANCE }
)

/** `awaitBody` replaces the deadline by a timeout in milliseconds, `pause` suspends it; `begin` restarts it. */
export const ResponseDeadline = Context.Reference<{
  readonly awaitBody: (milliseconds: number) => Effect.Effect<void>
  readonly pause: Effect.Effect<void>
  readonly begin: Effect.Effect<void>
}>("route-planning-service/ResponseDeadline", {
  defaultValue: () => ({ awaitBody: () => Effect.void, pause: Effect.void, begin: Effect.void })
})

/** The body within its `BodyAllowance`, which only counts while the service waits for the client. */
export const arrivingBody = ({ stream }: HttpServerRequest.HttpServerRequest) =>
  Stream.transformPull(stream, (pull) =>
    Effect.gen(function*() {
      const { bytesPerSecond, grace } = yield* BodyAllowance
      const clock = yield* Clock.Clock
      const deadline = yield* ResponseDeadline
      const mostLeft = Duration.toMillis(grace)
      const state = { left: mostLeft }
      return Effect.gen(function*() {
        const began = clock.currentTimeMillisUnsafe()
        yield* deadline.awaitBody(state.left)
        const parts = yield* Effect.ensuring(pull, deadline.pause)
        const bytes = parts.reduce((sum, { length }) => sum + length, 0)
        const waited = clock.currentTimeMillisUnsafe() - began
        state.left = Math.min(mostLeft, state.left - waited + bytes / bytesPerSecond * 1000)
        return parts
      })
    })).pipe(Stream.ensuring(Effect.flatMap(ResponseDeadline, ({ begin }) => begin)))
