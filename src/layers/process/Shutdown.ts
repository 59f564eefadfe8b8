import { Duration, Effect, Layer } from "effect"
import { drainDelay, Draining } from "../../services/operations/Draining.ts"

/** For running requests once nothing new is taken; what is left of 10 seconds is for the last traces and the pool. */
export const RUNNING_REQUESTS = Duration.millis(4500)

/** A terminal and npm both pass on Ctrl-C: what comes so soon is the same signal again. */
const BURST = Duration.millis(500)

/** After that and the delay; by then a process has ended in good order, or does not. In all less than 10 seconds. */
const PATIENCE = Duration.millis(6200)

/** To be built on the server: before it takes no more, it says so on `/health/ready` and in every answer, and waits. */
export const drainLayer = Layer.effectDiscard(
  Effect.flatMap(Draining, ({ begin }) => Effect.addFinalizer(() => begin))
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
