import { NodeRuntime } from "@effect/platform-node"
import { Cause, Effect, Exit, Logger } from "effect"
import { endByForce } from "./Shutdown.ts"

const exitCode = <E, A>(exit: Exit.Exit<A, E>) => Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : 1

/**
 * Runs a process to its end. SIGINT and SIGTERM end it in good order with exit code 0; a failure, one at start-up
 * included, is logged like everything else and ends it with 1.
 */
export const run = <E, A>(program: Effect.Effect<A, E>): void =>
  Effect.forkDetach(endByForce).pipe(
    Effect.andThen(program),
    Effect.tapCause((cause) => Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.logFatal(cause)),
    Effect.provide(Logger.layer([Logger.consoleJson])),
    NodeRuntime.runMain({
      disableErrorReporting: true,
      teardown: (exit, onExit) => onExit(exitCode(exit))
    })
  )
