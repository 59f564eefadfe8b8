import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { createServer } from "node:http"
import { text } from "node:stream/consumers"
import { setTimeout } from "node:timers/promises"
import type { Mail } from "../../src/services/mail/Mailers.ts"
import { listening } from "./Listening.ts"
import { Mailbox } from "./Mailbox.ts"

const Sent = Schema.fromJsonString(
  Schema.Struct({ to: Schema.Tuple([Schema.String]), subject: Schema.String, text: Schema.String })
)

const mailOf = (body: string): Mail => {
  const { subject, text, to: [to] } = Schema.decodeSync(Sent)(body)
  const link = /https?:\/\/\S+\?\S+/.exec(text)?.[0]
  return { to, subject, text, link: link === undefined ? undefined : Redacted.make(link) }
}

/** Other processes send their mails to the `Mailbox` of a test by these settings. */
export class MailProvider extends Context.Service<MailProvider, Readonly<Record<string, string>>>()(
  "test/MailProvider"
) {
  /** The provider has a mail at once, and confirms it after this many milliseconds. */
  static readonly layer = (milliseconds: number) =>
    Layer.effectContext(Effect.gen(function*() {
      const mails: Array<Mail> = []
      const server = createServer(async (request, response) => {
        mails.push(mailOf(await text(request)))
        await setTimeout(milliseconds)
        response.end("{}")
      })
      const port = yield* listening(server)
      return Context.make(Mailbox, Mailbox.reading(Effect.sync(() => mails))).pipe(Context.add(MailProvider, {
        EMAIL_API_URL: `http://127.0.0.1:${port}`,
        EMAIL_API_KEY: "key",
        EMAIL_FROM: "service@example.com"
      }))
    }))
}
