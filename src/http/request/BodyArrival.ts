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

/**
 * The body within its `BodyAllowance`, which only counts while the service waits for the client. Fails with `tooLarge` as soon as
 * it has more than `limitBytes`.
 */
export const arrivingBody = <E>(
  { stream }: HttpServerRequest.HttpServerRequest,
  limitBytes: number,
  tooLarge: () => E
) =>
  Stream.transformPull(stream, (pull) =>
    Effect.gen(function*() {
      const { bytesPerSecond, grace } = yield* BodyAllowance
      const clock = yield* Clock.Clock
      const deadline = yield* ResponseDeadline
      const mostLeft = Duration.toMillis(grace)
      const state = { arrived: 0, began: 0, left: mostLeft }
      const awaited = Effect.suspend(() => {
        state.began = clock.currentTimeMillisUnsafe()
        return Effect.andThen(deadline.awaitBody(state.left), pull)
      })
      return Effect.flatMap(awaited, (parts) => {
        const bytes = parts.reduce((sum, { length }) => sum + length, 0)
        state.arrived += bytes
        const waited = clock.currentTimeMillisUnsafe() - state.began
        state.left = Math.min(mostLeft, state.left - waited + bytes / bytesPerSecond * 1000)
        return state.arrived > limitBytes ? Effect.fail(tooLarge()) : Effect.as(deadline.pause, parts)
      })
    })).pipe(Stream.ensuring(Effect.flatMap(ResponseDeadline, ({ begin }) => begin)))
