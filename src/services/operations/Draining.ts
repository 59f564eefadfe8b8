import { Config, Context, Deferred, Duration, Effect, Layer, Option } from "effect"

/** Time for a front to see that the process is not ready: in production 3 seconds, three checks of one a second. */
export const drainDelay = Config.all({
  delay: Config.option(Config.Duration("SHUTDOWN_DRAIN_DELAY")),
  environment: Config.String("NODE_ENV").pipe(Config.withDefault(""))
}).pipe(
  Config.map(({ delay, environment }) =>
    Option.getOrElse(delay, () => environment === "production" ? Duration.seconds(3) : Duration.zero)
  )
)

export const Stopping = Context.Reference<Effect.Effect<void>>("route-planning-service/Stopping", {
  defaultValue: () => Effect.never
})

export class Draining extends Context.Service<Draining, {
  readonly hasBegun: Effect.Effect<boolean>
  readonly begun: Effect.Effect<void>
  readonly begin: Effect.Effect<void>
}>()("route-planning-service/Draining") {
  static readonly layer = Layer.effect(
    Draining,
    Effect.gen(function*() {
      const delay = yield* drainDelay
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
