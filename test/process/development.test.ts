import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { newEmail } from "../support/Actors.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { MailProvider } from "../support/MailProvider.ts"
import { DEVELOPMENT, replica } from "../support/Replica.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"
import { until } from "../support/Waiting.ts"

const PASSWORD = "a long enough password"

/** `npm run dev` on a database and a data directory of its own, after a sign-up. */
const started = Effect.fnUntraced(function*(env: Readonly<Record<string, string>>) {
  const DATABASE_URL = yield* clonedDatabase
  const directory = yield* temporaryDirectory
  const program = yield* replica(
    { NODE_ENV: "development", DATABASE_URL, DATA_DIR: directory, ...env },
    undefined,
    DEVELOPMENT
  )
  yield* program.ready
  const email = newEmail()
  const signUp = yield* program.server.call("POST", "/auth/signup-email", { body: { email, password: PASSWORD } })
  assert.strictEqual(signUp.status, 201)
  const mailbox = Effect.promise(() => readFile(join(directory, "mailbox.log"), "utf8").catch(() => ""))
  return { program, email, mailbox }
})

const MailLine = Schema.fromJsonString(Schema.Struct({
  message: Schema.Literal("mail"),
  to: Schema.String,
  subject: Schema.String,
  link: Schema.String,
  traceId: Schema.String.check(Schema.isPattern(/^[0-9a-f]{32}$/)),
  spanId: Schema.String.check(Schema.isPattern(/^[0-9a-f]{16}$/))
}))

layer(MailProvider.layer(0), { excludeTestServices: true, concurrent: true })("npm run dev", (it) => {
  it.effect(
    "sends mails by the provider where there is a key for it, and writes their links nowhere",
    () =>
      Effect.gen(function*() {
        const { email, mailbox, program } = yield* started({ ...yield* MailProvider, JWT_SECRET: "canary" })
        const mails = yield* Mailbox
        yield* until(Effect.map(mails.mailsTo(email), (all) => all.length > 0))
        const [mail] = yield* mails.mailsTo(email)
        assert.strictEqual(mail?.subject, "Verify your email address")
        const token = yield* mails.tokenFor(email)
        const verified = yield* program.server.call("POST", "/auth/verify-email", { body: { token } })
        assert.strictEqual(verified.status, 200)
        for (const secret of [token, "verify-email?token", email]) assert.notInclude(program.output(), secret)
        assert.strictEqual(yield* mailbox, "")
        assert.include(program.output(), "JWT_SECRET is shorter than 32 characters")
        assert.notInclude(program.output(), "canary")
      }).pipe(Effect.scoped),
    60_000
  )

  it.effect(
    "writes mails as JSON objects when LOG_FORMAT is json, and their lines to the mailbox",
    () =>
      Effect.gen(function*() {
        const { email, mailbox, program } = yield* started({ LOG_FORMAT: "json" })
        const mailed = () => program.output().split("\n").find((line) => line.includes(`"to":"${email}"`))
        yield* until(Effect.sync(() => mailed() !== undefined))
        const { link, subject } = yield* Schema.decodeEffect(MailLine)(mailed() ?? "")
        assert.strictEqual(subject, "Verify your email address")
        const token = new URL(link).searchParams.get("token")
        const verified = yield* program.server.call("POST", "/auth/verify-email", { body: { token } })
        assert.strictEqual(verified.status, 200)
        yield* until(Effect.map(mailbox, (text) => text === `mail to ${email}: ${subject} ${link}\n`))
      }).pipe(Effect.scoped),
    60_000
  )
})
