import { Console, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { attempt, EXIT_CODES_TEXT } from "./Failure.ts"
import { accountAt } from "./Logins.ts"

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

/** The account that a command works on. */
export const account = Effect.flatMap(rps, ({ url }) => attempt(() => accountAt(Option.getOrUndefined(url))))

/** Prints a result: as JSON with `--json`, else as the text in one line. Names of others must not control the terminal. */
export const print = (value: unknown, text: string) =>
  Effect.flatMap(rps, ({ json }) => Console.log(json ? JSON.stringify(value) : text.replaceAll(/\p{Cc}/gu, "?")))

const WIDTH = 24

/** Draws on the terminal how far a command is; into a file or a pipe it draws nothing. */
export const showProgress = (done: number, total: number, what: string): void => {
  const { stderr } = process
  if (!stderr.isTTY) return
  const filled = total === 0 ? WIDTH : Math.round(Math.min(1, done / total) * WIDTH)
  stderr.write(`\r\u001b[K[${"#".repeat(filled)}${"-".repeat(WIDTH - filled)}] ${done} of ${total} ${what}`)
  if (done >= total) stderr.write("\n")
}
