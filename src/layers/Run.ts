import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Effect, Exit, Layer, Result } from "effect"
import { availableParallelism } from "node:os"
import { Stopping } from "../services/admission/Health.ts"
import { loggingLayer, type LogSettings, logSettings } from "./Logging.ts"
import { refusalOf } from "./Settings.ts"
import { endByForce, noteStop, signalled, uncaught } from "./Shutdown.ts"

const DEFAULT_THREADS = 4

/** Files, name lookups and standard output need threads beside password hashing, which uses one for each core. */
const OTHER_THREADS = 2

/** Sets the number of libuv's threads, unless the environment does. Call it before any work that needs a thread. */
const sizeThreadPool = (): void => {
  process.env["UV_THREADPOOL_SIZE"] ??= String(Math.max(DEFAULT_THREADS, availableParallelism() + OTHER_THREADS))
}

const exitCode = <E, A>(exit: Exit.Exit<A, E>) => Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : 1

const logEnd = (cause: Cause.Cause<unknown>) => {
  if (Cause.hasInterruptsOnly(cause)) return Effect.void
  const refusal = refusalOf(cause)
  return Effect.andThen(Effect.logFatal(refusal === "" ? Cause.pretty(cause) : refusal), Effect.logDebug(cause))
}

interface Options {
  /** The layer is built before the program runs, and fails if a setting is wrong. */
  readonly settings?: Layer.Layer<never, unknown>
  readonly format?: "json" | "pretty"
}

/**
 * Runs a process to its end. SIGINT and SIGTERM drain it and end it with 0; a failure or an uncaught exception is
 * logged and ends it with 1. `LOG_FORMAT` overrides the format.
 */
export const run = <E, A>(program: Effect.Effect<A, E>, { format = "json", settings = Layer.empty }: Options): void =>
  Effect.gen(function*() {
    yield* Effect.sync(sizeThreadPool)
    const log = yield* Effect.result(logSettings(format))
    const refusable: Effect.Effect<A, unknown> = Result.isFailure(log) ? Effect.fail(log.failure) : program
    const logged = Effect.provide(Effect.void, settings).pipe(
      Effect.andThen(refusable),
      Effect.tapCause(logEnd),
      Effect.provideService(Stopping, signalled)
    )
    return yield* Effect.forkDetach(endByForce).pipe(
      Effect.andThen(noteStop),
      Effect.flatMap((logStopped) => Effect.ensuring(Effect.raceFirst(logged, uncaught), logStopped)),
      Effect.provide(loggingLayer(Result.getOrElse(log, (): LogSettings => ({ level: "Info", format }))))
    )
  }).pipe(
    NodeRuntime.runMain({
      disableErrorReporting: true,
      teardown: (exit, onExit) => onExit(exitCode(exit))
    })
  )
