import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Console, Effect, Exit } from "effect"
import { CliError, CliOutput, Command } from "effect/cli"
import { backup } from "./backup.ts"
import { ls, publish, share, tag } from "./edit.ts"
import { EXIT_CODES, Failure, toFailure } from "./Failure.ts"
import { importFiles } from "./import.ts"
import { login } from "./login.ts"
import { mirror } from "./mirror.ts"
import { restore } from "./restore.ts"
import { rps } from "./Root.ts"
import { clearProgress, isJson, lineOf } from "./Terminal.ts"
import { watch } from "./watch.ts"

const VERSION = "0.2.0"

/** With `--json`, wrong usage is an error like any other, without the help beside it. */
const jsonPresenter: CliOutput.Presenter = {
  present: (event) => {
    if (event._tag === "Version") return Console.log(JSON.stringify({ version: event.version }))
    return event._tag === "Help" && event.reason === "Requested"
      ? CliOutput.defaultPresenter.present(event)
      : Effect.void
  }
}

const usageMessage = (error: CliError.CliError): string => {
  const errors = error._tag === "ShowHelp" ? error.errors : [error]
  return errors.map(({ message }) => message).join("; ") || "no command: rps --help lists them"
}

const showFailure = (error: unknown) => {
  if (CliError.isCliError(error)) {
    return isJson ? Console.error(JSON.stringify({ error: { message: usageMessage(error) } })) : Effect.void
  }
  if (!isJson && !(error instanceof Failure)) return Console.error(error)
  const { details, message } = toFailure(error)
  clearProgress()
  return Console.error(lineOf({ error: { message, ...details } }, `rps: ${message.replaceAll("\n", " ")}`))
}

/** A shell shows this for a program that SIGPIPE has ended. */
const BROKEN_PIPE = 141

process.stdout.on("error", (error) => {
  if ("code" in error && error.code === "EPIPE") process.exit(BROKEN_PIPE)
  process.stderr.write(`${lineOf({ error: { message: error.message } }, `rps: ${error.message}`)}\n`)
  process.exit(EXIT_CODES.failed)
})

process.stderr.on("error", () => process.exit(BROKEN_PIPE))

const exitCodeOf = (exit: Exit.Exit<unknown, unknown>): number => {
  if (Exit.isSuccess(exit)) return 0
  if (Cause.hasInterruptsOnly(exit.cause)) return 130
  const error = Cause.squash(exit.cause)
  if (error instanceof Failure) return error.exitCode
  return CliError.isCliError(error) ? EXIT_CODES.usage : EXIT_CODES.failed
}

rps.pipe(
  Command.withSubcommands([login, ls, importFiles, tag, publish, share, backup, restore, mirror, watch]),
  Command.run({ version: VERSION }),
  Effect.tapCause((cause) => Cause.hasInterruptsOnly(cause) ? Effect.void : showFailure(Cause.squash(cause))),
  Effect.provideService(CliOutput.Presenter, isJson ? jsonPresenter : CliOutput.defaultPresenter),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain({ disableErrorReporting: true, teardown: (exit, onExit) => onExit(exitCodeOf(exit)) })
)
