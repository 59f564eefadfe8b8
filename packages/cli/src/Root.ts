import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag, Prompt } from "effect/cli"
import { attempt, EXIT_CODES, EXIT_CODES_TEXT, Failure } from "./Failure.ts"
import { accountAt } from "./Logins.ts"
import { clearProgress, isJson, lineOf } from "./Terminal.ts"

export const rps = Command.make("rps").pipe(
  Command.withSharedFlags({
    url: Flag.String("url").pipe(
      Flag.withDescription("The service; that of the last login if absent (or RPS_URL)"),
      Flag.optional
    ),
    json: Flag.Boolean("json").pipe(
      Flag.withDescription("Print results as JSON, one value a line"),
      Flag.withDefault(false)
    )
  }),
  Command.withDescription(
    `Routes of a route planning service at the command line. Begin with: rps login https://routes.example.com. ${EXIT_CODES_TEXT}`
  )
)

/** A command works on this account. */
export const account = Effect.flatMap(rps, ({ url }) => attempt(() => accountAt(Option.getOrUndefined(url))))

/** An empty path, which an unset variable gives, would be the working directory. */
export const given = (path: Argument.Argument<string>) =>
  Argument.filter(path, () => !process.argv.includes(""), () => "Expected a path, not an empty argument")

/** Prints a result: as JSON with `--json`, else as the text in one line. */
export const print = (value: unknown, text: string) =>
  Effect.andThen(Effect.sync(clearProgress), Console.log(lineOf(value, text)))

/** Asks the person at the terminal. In a script, it fails and names what is lacking. */
export const ask = <A>(prompt: Prompt.Prompt<A>, lacking: string) =>
  process.stdin.isTTY && !isJson ? Prompt.run(prompt) : Effect.fail(Failure.because(lacking, EXIT_CODES.usage))
