import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { newEmail } from "../support/Actors.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { MailProvider } from "../support/MailProvider.ts"
import { DEVELOPMENT, replica } from "../support/Replica.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"
import { until } from "../support/Waiting.ts"

layer(MailProvider.layer(0), { excludeTestServices: true })("npm run dev", (it) => {
  it.effect(
    "sends mails by the provider where there is a key for it, and writes their links nowhere",
    () =>
      Effect.gen(function*() {
        const directory = yield* temporaryDirectory
        const program = yield* replica(
          {
            ...yield* MailProvider,
            NODE_ENV: "development",
            DATABASE_URL: yield* clonedDatabase,
            DATA_DIR: directory,
            JWT_SECRET: "canary"
          },
          undefined,
          DEVELOPMENT
        )
        yield* program.ready
        const email = newEmail()
        const { call } = program.server
        const signUp = yield* call("POST", "/auth/signup-email", {
          body: { email, password: "a long enough password" }
        })
        assert.strictEqual(signUp.status, 201)
        const mails = yield* Mailbox
        yield* until(Effect.map(mails.mailsTo(email), (all) => all.length > 0))
        const [mail] = yield* mails.mailsTo(email)
        assert.strictEqual(mail?.subject, "Verify your email address")
        const token = yield* mails.tokenFor(email)
        assert.strictEqual((yield* call("POST", "/auth/verify-email", { body: { token } })).status, 200)
        for (const secret of [token, "verify-email?token", email]) assert.notInclude(program.output(), secret)
        const mailbox = yield* Effect.promise(() => readFile(join(directory, "mailbox.log"), "utf8").catch(() => ""))
        assert.strictEqual(mailbox, "")
        assert.include(program.output(), "JWT_SECRET is shorter than 32 characters")
        assert.notInclude(program.output(), "canary")
      }).pipe(Effect.scoped)
  )
})
