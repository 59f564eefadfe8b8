import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Config, ConfigProvider, Console, Effect, Layer, Option, Predicate, Redacted, Schema } from "effect"
import { CliError, Command, Flag, Prompt, TerminalCapabilities } from "effect/cli"
import { SecureRandom } from "effect/crypto"
import { spawnSync } from "node:child_process"
import { mkdir, open, readFile, realpath, rename } from "node:fs/promises"
import { availableParallelism } from "node:os"
import { dirname, join } from "node:path"
import manifest from "../package.json" with { type: "json" }
import { refusalOf, wellFormedLayer } from "../src/layers/Settings.ts"
import {
  type Answers,
  envFile,
  hostingFiles,
  LOCAL_DATABASE,
  localDatabase,
  type NewSettings,
  servedDirectory,
  settingsOf,
  unitsOf
} from "./setupFiles.ts"

/**
 * Writes the files that a machine with Debian needs to run the service (docs/hosting.md). Asks for what the flags, the
 * environment and an earlier `.env` leave open, and shows the changes that it would make in existing files.
 */

class SetupFailed extends Schema.TaggedError<SetupFailed>()("SetupFailed", { message: Schema.String }) {}

const DIRECTORY = join(import.meta.dirname, "..")

const MAX_PROCESSES = 64

/** An earlier run without a server of mails left its setting empty. */
const earlierMail = Config.orElse(Config.String("SMTP_URL"), () => Config.map(Config.String("BASE_URL"), () => "none"))

/** Other users of a machine see the flags of a program, and not its environment. */
const urlFlag = (name: string, setting: string) =>
  Flag.Redacted(name).pipe(
    Flag.filter(
      (given) => !/:\/\/[^/]*:.*@/.test(Redacted.value(given)),
      () => `no password, which other users of this machine see in a flag: set ${setting} in the environment`
    ),
    Flag.map(Redacted.value)
  )

const flags = {
  address: Flag.String("address").pipe(
    Flag.withDescription("Where people reach the service, such as https://routes.example.com"),
    Flag.withFallbackConfig(Config.String("BASE_URL")),
    Flag.withFallbackPrompt(Prompt.String({ message: "Address of the service, such as https://routes.example.com" }))
  ),
  admin: Flag.String("admin").pipe(
    Flag.withDescription("The administrator's email address"),
    Flag.withFallbackConfig(Config.String("ADMIN_EMAILS")),
    Flag.withFallbackPrompt(Prompt.String({ message: "Email address of the administrator" }))
  ),
  mail: urlFlag("mail", "SMTP_URL").pipe(
    Flag.withDescription("Server that sends mails, or none; with a password it is asked for, or SMTP_URL has it"),
    Flag.withFallbackConfig(earlierMail),
    Flag.withFallbackPrompt(
      Prompt.map(
        Prompt.String({ message: "SMTP server, smtp://user:password@mail.example.com:587, or nothing" }),
        (text) => text === "" ? "none" : text
      )
    )
  ),
  database: urlFlag("database", "DATABASE_URL").pipe(
    Flag.withDescription("PostgreSQL; by default that of this machine, by its socket"),
    Flag.withFallbackConfig(Config.String("DATABASE_URL")),
    Flag.withDefault(LOCAL_DATABASE)
  ),
  signUp: Flag.Literals("sign-up", ["closed", "open"]).pipe(
    Flag.withDescription("Whether anyone may sign up, or only who is invited"),
    Flag.withFallbackConfig(Config.map(Config.Boolean("SIGNUP_ENABLED"), (isOpen) => isOpen ? "open" : "closed")),
    Flag.withFallbackPrompt(Prompt.Select({
      message: "Who may sign up",
      choices: [{ title: "only who is invited", value: "closed" as const }, { title: "anyone", value: "open" as const }]
    }))
  ),
  processes: Flag.Int("processes").pipe(
    Flag.withDescription("Processes behind the front; each uses one core"),
    Flag.withFallbackConfig(Config.Int("SETUP_PROCESSES")),
    Flag.withFallbackPrompt(
      Prompt.Int({
        message: "Processes, each uses one core",
        default: availableParallelism(),
        min: 1,
        max: MAX_PROCESSES
      })
    ),
    Flag.withSchema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_PROCESSES })))
  ),
  days: Flag.Int("keep-days").pipe(
    Flag.withDescription("Days for which a backup is kept"),
    Flag.withFallbackConfig(Config.Int("SETUP_KEEP_DAYS")),
    Flag.withFallbackPrompt(Prompt.Int({ message: "Days for which a backup is kept", default: 14, min: 1 })),
    Flag.withSchema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3650 })))
  ),
  yes: Flag.Boolean("yes").pipe(
    Flag.withDescription("Change files that exist without a question"),
    Flag.withDefault(false)
  ),
  root: Flag.Directory("root", { mustExist: true }).pipe(
    Flag.withDescription("Write below this folder, to look at the files first"),
    Flag.withDefault("/")
  )
}

const PLAIN = /^[^\s#'"`\\$]*$/

/** Node.js, shells and Compose read other characters in different ways. */
const checkPlain = (settings: Readonly<Record<string, string>>) => {
  const wrong = Object.entries(settings).filter(([, value]) => !PLAIN.test(value))
  return wrong.length === 0 ? Effect.void : Effect.fail(
    new SetupFailed({
      message: wrong.map(([name]) => `${name}: has a space, quote, backslash, # or $: write it percent-encoded`).join(
        "; "
      )
    })
  )
}

const addressOf = (text: string) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  // The host of a URL may have characters that end a line of nginx.
  return url?.protocol === "https:" && /^[a-z0-9.-]+$/.test(url.host) && url.href === `${url.origin}/`
    ? Effect.succeed(url)
    : Effect.fail(
      new SetupFailed({
        message: `address: ${text} is not the https address of a host, such as https://routes.example.com`
      })
    )
}

/** The service refuses the same values when it starts. */
const checkSettings = (settings: Readonly<Record<string, string>>) =>
  Effect.provide(
    Effect.void,
    wellFormedLayer(["BASE_URL", "ADMIN_EMAILS", "SMTP_URL", "DATABASE_URL"]).pipe(
      Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(settings)))
    )
  )

interface Planned {
  readonly path: string
  readonly text: string
  readonly mode: number
  readonly before: Option.Option<string>
  /** The person sees this text of a change, without secrets. */
  readonly change: string
}

const isAbsence = (error: unknown) => Predicate.hasProperty(error, "code") && error.code === "ENOENT"

const textAt = (path: string) =>
  Effect.tryPromise(() => readFile(path, "utf8")).pipe(
    Effect.asSome,
    Effect.catch(({ cause }) =>
      isAbsence(cause)
        ? Effect.succeedNone
        : Effect.fail(new SetupFailed({ message: `${path} cannot be read: ${String(cause)}` }))
    )
  )

const diffOf = (path: string, text: string) =>
  spawnSync("diff", ["--unified", path, "-"], { input: text, encoding: "utf8" }).stdout

const write = ({ mode, path, text }: Planned) =>
  Effect.tryPromise({
    // The file is replaced as a whole, so that a crash leaves the old one; its owner stays, and a link to it.
    try: async () => {
      await mkdir(dirname(path), { recursive: true })
      await using file = await open(path, "a", mode)
      const { gid, uid } = await file.stat()
      const target = await realpath(path)
      await using next = await open(`${target}.next`, "w", mode)
      await next.chmod(mode)
      await next.writeFile(text)
      await next.sync()
      await next.chown(uid, gid)
      await rename(`${target}.next`, target)
    },
    catch: (cause) => new SetupFailed({ message: `${path} cannot be written, run this as root: ${String(cause)}` })
  })

const plan = Effect.fnUntraced(function*(answers: Answers, root: string, settings: NewSettings) {
  const path = join(root, DIRECTORY, ".env")
  const before = yield* textAt(path)
  const { written, ...file } = envFile(before, settings)
  yield* checkPlain(written)
  yield* checkSettings(settings.answers)
  const env: Planned = { path, mode: 0o600, before, ...file }
  const others = yield* Effect.forEach(yield* hostingFiles(answers, servedDirectory(DIRECTORY)), ({ path, text }) => {
    const at = join(root, path)
    return Effect.map(textAt(at), (before): Planned => ({
      path: at,
      text,
      mode: 0o644,
      before,
      change: Option.isNone(before) ? "" : diffOf(at, text)
    }))
  })
  return [env, ...others]
})

const isWanted = Effect.fnUntraced(function*({ before, change, path, text }: Planned, yes: boolean) {
  if (Option.isNone(before)) return true
  if (before.value === text) return false
  yield* Console.log(`${path} exists. This changes it:\n${change}`)
  if (yes) return true
  const { canPrompt } = yield* TerminalCapabilities.TerminalCapabilities
  return canPrompt
    ? yield* Prompt.run(Prompt.Confirm({ message: `Change ${path}?` }))
    : yield* new SetupFailed({ message: `${path} exists, and nothing was written: add --yes to change it` })
})

const next = (answers: Answers) => [
  `Next: docs/hosting.md. The processes are ${unitsOf(answers)}.`,
  ...answers.mail === "none" ? ["Without an SMTP server the links of mails are in the log of the service."] : [],
  ...answers.processes > 1 ? ["They count rate limits together in the Redis of this machine (redis-server)."] : [],
  ...Option.isNone(localDatabase(answers.database)) ? ["The database is elsewhere: back it up there."] : []
]

const setup = Command.make(
  "setup",
  flags,
  Effect.fnUntraced(function*({ root, yes, ...given }) {
    const answers: Answers = { ...given, address: yield* addressOf(given.address) }
    const settings = yield* settingsOf(answers)
    const planned = yield* plan(answers, root, settings)
    const wanted = yield* Effect.filter(planned, (file) => isWanted(file, yes))
    yield* Effect.forEach(wanted, write, { discard: true })
    const lines = planned.map((file) => `${wanted.includes(file) ? "written" : "as it was"}: ${file.path}`)
    yield* Console.log([...lines, ...next(answers)].join("\n"))
  })
).pipe(Command.withDescription("Write the settings of the service, and the files that run it on a machine with Debian"))

const showFailure = (cause: Cause.Cause<unknown>) =>
  Cause.hasInterruptsOnly(cause) || CliError.isCliError(Cause.squash(cause))
    ? Effect.void
    : Console.error(`setup: ${refusalOf(cause)}`)

setup.pipe(
  Command.run({ version: manifest.version }),
  Effect.tapCause(showFailure),
  Effect.provide([NodeServices.layer, SecureRandom.layerWebCrypto]),
  NodeRuntime.runMain({ disableErrorReporting: true })
)
