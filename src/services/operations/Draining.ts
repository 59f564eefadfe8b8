import { Config, Context, Duration, Effect, Layer, Option, Ref } from "effect"

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
  readonly begin: Effect.Effect<void>
}>()("route-planning-service/Draining") {
  static readonly layer = Layer.effect(
    Draining,
    Effect.gen(function*() {
      const delay = yield* drainDelay
      const hasBegun = yield* Ref.make(false)
      return Draining.of({
        hasBegun: Ref.get(hasBegun),
        begin: Effect.andThen(Ref.set(hasBegun, true), Duration.isZero(delay) ? Effect.void : Effect.sleep(delay))
      })
    })
  )
}
