import { Effect, Layer } from "effect"
import { appendFile } from "node:fs/promises"
import { join } from "node:path"
import { lineOf, Mailer, MailNotSent } from "../src/services/mail/Mailers.ts"

export const mailboxFile = (directory: string) => join(directory, "mailbox.log")

export const developmentMailboxLayer = (directory: string) =>
  Layer.effect(
    Mailer,
    Effect.map(Mailer, (standardOutput) =>
      Mailer.of({
        ...standardOutput,
        send: Effect.fn("Mailer.send")(function*(mail, idempotencyKey) {
          yield* standardOutput.send(mail, idempotencyKey)
          yield* Effect.tryPromise({
            try: () => appendFile(mailboxFile(directory), `${lineOf(mail)}\n`, { mode: 0o600 }),
            catch: () => new MailNotSent({ reason: "mailbox.log cannot be written" })
          })
        })
      }))
  ).pipe(Layer.provide(Mailer.layerStandardOutput))
