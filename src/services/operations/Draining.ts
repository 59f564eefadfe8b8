import { Context, Deferred, Duration, Effect, Layer } from "effect"
import { settings } from "../settings/Registry.ts"

export const Stopping = Context.Reference<Effect.Effect<void>>("route-planning-service/Stopping", {
  defaultValue: () => Effect.never
})

/** The number of requests that have ended since the process began. */
export const EndedRequests = Context.Reference<{ count: number }>("route-planning-service/EndedRequests", {
  defaultValue: () => ({ count: 0 })
})

export class Draining extends Context.Service<Draining, {
  readonly hasBegun: Effect.Effect<boolean>
  readonly begun: Effect.Effect<void>
  readonly begin: Effect.Effect<void>
}>()("route-planning-service/Draining") {
  static readonly layer = Layer.effect(
    Draining,
    Effect.gen(function*() {
      const delay = yield* settings.SHUTDOWN_DRAIN_DELAY
      const begun = yield* Deferred.make<void>()
      return Draining.of({
        hasBegun: Deferred.isDone(begun),
        begun: Deferred.await(begun),
        begin: Effect.andThen(
          Deferred.succeed(begun, undefined),
          Duration.isZero(delay) ? Effect.void : Effect.sleep(delay)
        )
      })
    })
  )
}
