import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Effect, Exit, Result } from "effect"
import { Stopping } from "../../services/operations/Draining.ts"
import { refusalOf } from "../Refusal.ts"
import { DEFAULT_LOG_SETTINGS, loggingLayer, logSettings } from "../telemetry/Logging.ts"
import { endByForce, signalled, uncaught } from "./Shutdown.ts"
import { sizeThreadPool } from "./ThreadPool.ts"

const exitCode = <E, A>(exit: Exit.Exit<A, E>) => Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : 1

const logEnd = (cause: Cause.Cause<unknown>) => {
  if (Cause.hasInterruptsOnly(cause)) return Effect.void
  const refusal = refusalOf(cause)
  return Effect.andThen(Effect.logFatal(refusal === "" ? Cause.pretty(cause) : refusal), Effect.logDebug(cause))
}

/**
 * Runs a process to its end. SIGINT and SIGTERM drain it and end it with 0; a failure or an uncaught exception is
 * logged and ends it with 1. `LOG_FORMAT` overrides the format.
 */
export const run = <E, A>(program: Effect.Effect<A, E>, format: "json" | "pretty" = "json"): void =>
  Effect.gen(function*() {
    yield* Effect.sync(sizeThreadPool)
    const settings = yield* Effect.result(logSettings(format))
    const refusable: Effect.Effect<A, unknown> = Result.isFailure(settings) ? Effect.fail(settings.failure) : program
    const logged = refusable.pipe(Effect.tapCause(logEnd), Effect.provideService(Stopping, signalled))
    return yield* Effect.forkDetach(endByForce).pipe(
      Effect.andThen(Effect.raceFirst(logged, uncaught)),
      Effect.provide(loggingLayer(Result.getOrElse(settings, () => DEFAULT_LOG_SETTINGS)))
    )
  }).pipe(
    NodeRuntime.runMain({
      disableErrorReporting: true,
      teardown: (exit, onExit) => onExit(exitCode(exit))
    })
  )
