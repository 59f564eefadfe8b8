import { Cause, Duration, Effect, Layer } from "effect"
import { drainDelay, Draining } from "../../services/operations/Draining.ts"
import { OutputDrained } from "../telemetry/StandardOutput.ts"

/** For running requests once nothing new is taken; what is left of 10 seconds is for the last traces and the pool. */
export const RUNNING_REQUESTS = Duration.millis(3500)

/** A terminal and npm both pass on Ctrl-C: what comes so soon is the same signal again. */
const BURST = Duration.millis(500)

/** After that and the delay; by then a process has ended in good order, or does not. In all less than 10 seconds. */
const PATIENCE = Duration.seconds(6)

/** To be built on the server: before it takes no more, it says so on `/health/ready` and in every answer, and waits. */
export const drainLayer = Layer.effectDiscard(
  Effect.flatMap(Draining, ({ begin }) => Effect.addFinalizer(() => begin))
)

/** Succeeds at SIGINT or SIGTERM. */
export const signalled = Effect.callback<void>((resume) => {
  const onSignal = () => resume(Effect.void)
  process.once("SIGINT", onSignal).once("SIGTERM", onSignal)
  return Effect.sync(() => process.off("SIGINT", onSignal).off("SIGTERM", onSignal))
})

const thrown = Effect.callback<Error>((resume) => {
  const onError = (error: Error) => resume(Effect.succeed(error))
  process.once("uncaughtException", onError)
  return Effect.sync(() => process.off("uncaughtException", onError))
})

/**
 * Dies of what nobody caught, a rejected promise included, and logs it at once: what the process holds is not to be
 * relied on then, and whoever waits for it to end in good order waits for a while. What is thrown meanwhile is logged too.
 */
export const uncaught: Effect.Effect<never> = Effect.gen(function*() {
  const error = yield* thrown
  yield* Effect.logFatal("nobody caught an error: the process ends", Cause.die(error))
  yield* Effect.forkDetach(
    Effect.forever(Effect.flatMap(thrown, (next) => Effect.logFatal("another uncaught exception", Cause.die(next))))
  )
  return yield* Effect.die(error)
})

/** Ends a process with 1 that is told so a second time, or that does not end soon after the first or after an error. */
export const endByForce = Effect.gen(function*() {
  const delay = yield* drainDelay
  const outputDrained = yield* OutputDrained
  yield* Effect.raceFirst(signalled, thrown)
  yield* Effect.sleep(BURST)
  const reason = yield* Effect.raceFirst(
    Effect.as(signalled, "it was told to end twice"),
    Effect.as(Effect.sleep(Duration.sum(delay, PATIENCE)), "it did not end in time")
  )
  yield* Effect.logError("the process is ended by force", { reason })
  yield* Effect.timeoutOption(outputDrained, "200 millis")
  process.exit(1)
})
