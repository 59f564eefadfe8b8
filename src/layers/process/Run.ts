import { NodeRuntime } from "@effect/platform-node"
import { Cause, Effect, Exit, Result } from "effect"
import { DEFAULT_LOG_SETTINGS, loggingLayer, logSettings } from "../telemetry/Logging.ts"
import { endByForce, uncaught } from "./Shutdown.ts"

const exitCode = <E, A>(exit: Exit.Exit<A, E>) => Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : 1

/**
 * Runs a process to its end. SIGINT and SIGTERM end it in good order with exit code 0; a failure, one at start-up
 * included, and what nobody caught are logged like everything else and end it with 1. Lines are JSON, or what the program asks for, unless
 * `LOG_FORMAT` says otherwise.
 */
export const run = <E, A>(program: Effect.Effect<A, E>, format: "json" | "pretty" = "json"): void =>
  Effect.gen(function*() {
    const settings = yield* Effect.result(logSettings(format))
    const refusable: Effect.Effect<A, unknown> = Result.isFailure(settings) ? Effect.fail(settings.failure) : program
    const logged = Effect.tapCause(
      refusable,
      (cause) => Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.logFatal(cause)
    )
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
