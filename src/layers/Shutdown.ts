import { Config, Duration, Effect, Layer, Option } from "effect"
import { Draining } from "../services/Draining.ts"

/**
 * How long a process that was told to end still takes requests (`SHUTDOWN_DRAIN_DELAY`): a front has to see first that
 * it is no longer ready. In production 3 seconds, three looks of a front that looks every second; elsewhere none.
 */
const drainDelay = Config.all({
  delay: Config.option(Config.Duration("SHUTDOWN_DRAIN_DELAY")),
  environment: Config.String("NODE_ENV").pipe(Config.withDefault(""))
}).pipe(
  Config.map(({ delay, environment }) =>
    Option.getOrElse(delay, () => environment === "production" ? Duration.seconds(3) : Duration.zero)
  )
)

/** For running requests once nothing new is taken; what is left of 10 seconds is for the last traces and the pool. */
export const RUNNING_REQUESTS = Duration.millis(4500)

/** A terminal and npm both pass on Ctrl-C: what comes so soon is the same signal again. */
const BURST = Duration.millis(500)

/** After that and the delay; by then a process has ended in good order, or does not. In all less than 10 seconds. */
const PATIENCE = Duration.millis(6200)

/** To be built on the server: before it takes no more, it says so on `/health/ready` and in every answer, and waits. */
export const drainLayer = Layer.effectDiscard(
  Effect.gen(function*() {
    const draining = yield* Draining
    const delay = yield* drainDelay
    yield* Effect.addFinalizer(() =>
      Effect.andThen(draining.begin, Duration.isZero(delay) ? Effect.void : Effect.sleep(delay))
    )
  })
)

const signalled = Effect.callback<void>((resume) => {
  const onSignal = () => resume(Effect.void)
  process.once("SIGINT", onSignal).once("SIGTERM", onSignal)
  return Effect.sync(() => process.off("SIGINT", onSignal).off("SIGTERM", onSignal))
})

/** Ends a process with 1 that is told so a second time, or that does not end soon after the first. */
export const endByForce = Effect.gen(function*() {
  const delay = yield* drainDelay
  yield* signalled
  yield* Effect.sleep(BURST)
  const reason = yield* Effect.raceFirst(
    Effect.as(signalled, "it was told to end twice"),
    Effect.as(Effect.sleep(Duration.sum(delay, PATIENCE)), "it did not end in time")
  )
  yield* Effect.logError("the process is ended by force", { reason })
  process.exit(1)
})
