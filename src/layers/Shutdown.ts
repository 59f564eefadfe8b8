import { Cause, Deferred, Duration, Effect, Layer } from "effect"
import { Draining, EndedRequests } from "../services/admission/Health.ts"
import { settings } from "../services/operations/SettingsRegistry.ts"
import { OutputDrained } from "./Logging.ts"

/** Running requests have this time after the listener closes; traces and the pool have the rest of 10 seconds. */
export const RUNNING_REQUESTS = Duration.millis(3500)

/** Both a terminal and npm pass on Ctrl-C, so a second signal within this time is the same one. */
const BURST = Duration.millis(500)

/** The timeout begins after the burst and the drain delay; together they take less than 10 seconds. */
const SHUTDOWN_TIMEOUT = Duration.seconds(6)

/** Reports draining on `/health/ready` and in every response before the server closes. Build it on the server. */
export const drainLayer = Layer.effectDiscard(
  Effect.flatMap(Draining, ({ begin }) => Effect.addFinalizer(() => begin))
)

const firstOf = <A>(...events: ReadonlyArray<string>) =>
  Effect.callback<A>((resume) => {
    const listener = (value: A) => resume(Effect.succeed(value))
    for (const event of events) process.once(event, listener)
    return Effect.sync(() => events.forEach((event) => process.off(event, listener)))
  })

export const signalled = firstOf<NodeJS.Signals>("SIGINT", "SIGTERM")

/** Logs the signal that ends the process. Returns an effect that logs how many requests have ended since. */
export const noteStop = Effect.gen(function*() {
  const ended = yield* EndedRequests
  const stop = yield* Deferred.make<{ readonly reason: string; readonly before: number }>()
  yield* Effect.forkDetach(Effect.flatMap(signalled, (reason) =>
    Effect.andThen(
      Deferred.succeed(stop, { reason, before: ended.count }),
      Effect.logInfo("stopping", { reason })
    )))
  return Effect.gen(function*() {
    if (!(yield* Deferred.isDone(stop))) return
    const { before, reason } = yield* Deferred.await(stop)
    yield* Effect.logInfo("stopped", { reason, requests: ended.count - before })
  })
})

const thrown = firstOf<Error>("uncaughtException")

/** Dies with an uncaught exception or rejection, after which the state of the process is unknown. */
export const uncaught: Effect.Effect<never> = Effect.gen(function*() {
  const error = yield* thrown
  yield* Effect.logFatal("uncaught exception, process ends", Cause.die(error))
  yield* Effect.forkDetach(
    Effect.forever(Effect.flatMap(thrown, (next) => Effect.logFatal("another uncaught exception", Cause.die(next))))
  )
  return yield* Effect.die(error)
})

export const endByForce = Effect.gen(function*() {
  const delay = yield* settings.SHUTDOWN_DRAIN_DELAY
  const outputDrained = yield* OutputDrained
  yield* Effect.raceFirst(signalled, thrown)
  yield* Effect.sleep(BURST)
  const reason = yield* Effect.raceFirst(
    Effect.as(signalled, "second signal"),
    Effect.as(Effect.sleep(Duration.sum(delay, SHUTDOWN_TIMEOUT)), "shutdown timeout")
  )
  yield* Effect.logError("process ended by force", { reason })
  yield* Effect.timeoutOption(outputDrained, "200 millis")
  process.exit(1)
})
