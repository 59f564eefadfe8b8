import { Config, Context, Duration, Effect, Layer, Option, Ref } from "effect"

/**
 * How long a process that was told to end still takes requests (`SHUTDOWN_DRAIN_DELAY`): a front has to see first that
 * it is no longer ready. In production 3 seconds, three looks of a front that looks every second; elsewhere none.
 */
export const drainDelay = Config.all({
  delay: Config.option(Config.Duration("SHUTDOWN_DRAIN_DELAY")),
  environment: Config.String("NODE_ENV").pipe(Config.withDefault(""))
}).pipe(
  Config.map(({ delay, environment }) =>
    Option.getOrElse(delay, () => environment === "production" ? Duration.seconds(3) : Duration.zero)
  )
)

/** Succeeds when the process is to end; never where no signals are handled. */
export const Stopping = Context.Reference<Effect.Effect<void>>("route-planning-service/Stopping", {
  defaultValue: () => Effect.never
})

/** Whether this process has been told to end, and is to be sent nothing more. */
export class Draining extends Context.Service<Draining, {
  readonly hasBegun: Effect.Effect<boolean>
  /** Begins, and waits as long as a front may take to see it. */
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
