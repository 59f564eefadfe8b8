import { Clock, Config, Console, Context, Duration, Effect, Layer, Redacted, Schema } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { lineIdsOf } from "../metrics/TraceIds.ts"
import { LogFormat } from "../settings/LogFormat.ts"
import { httpUrl } from "../settings/SettingTypes.ts"
import { hangUp } from "../upstream/Upstream.ts"
import { htmlOf, mailSender, textOf } from "./MailText.ts"

/**
 * A mail with one link. The link is a secret: anyone who has it acts as the addressee. `ifNotYou` is what to do for
 * somebody who did not cause the mail.
 */
export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly link: Redacted.Redacted | undefined
  readonly ifNotYou?: string | undefined
}

/** Of one try. A process that is to end waits for the mail that it is sending. */
export const MAIL_TIMEOUT = Duration.seconds(5)

/** The provider did not take the mail. */
export class MailNotSent extends Schema.TaggedError<MailNotSent>()("MailNotSent", { reason: Schema.String }) {}

/** `EMAIL_API_URL`. */
export const mailApiUrl = httpUrl("EMAIL_API_URL").pipe(Config.withDefault(new URL("https://api.resend.com/emails")))

/** Sends mails. Which way is decided by configuration: see the layers. */
export class Mailer extends Context.Service<Mailer, {
  /**
   * One try. Two tries of one mail have the same key, by which a provider that took the mail, and did not respond in time,
   * recognises it.
   */
  readonly send: (mail: Mail, idempotencyKey: string) => Effect.Effect<void, MailNotSent>
}>()("route-planning-service/Mailer") {
  /** Without an email provider mails go to standard output with their links, one line each, in the format of the log. */
  static readonly layerStandardOutput = Layer.succeed(Mailer, {
    send: Effect.fn("Mailer.send")(function*(mail) {
      yield* Console.log((yield* LogFormat) === "json" ? yield* jsonLineOf(mail) : lineOf(mail))
    })
  })

  /** Resend's API (`POST /emails`), or another of the same shape at `EMAIL_API_URL`. Of a response only the status counts. */
  static readonly layerApi = Layer.effect(
    Mailer,
    Effect.gen(function*() {
      const key = yield* Config.Redacted("EMAIL_API_KEY")
      const url = yield* mailApiUrl
      const from = yield* mailSender
      const client = yield* HttpClient.HttpClient
      return Mailer.of({
        send: Effect.fn("Mailer.send")((mail, idempotencyKey) =>
          HttpClientRequest.post(url).pipe(
            HttpClientRequest.bearerToken(key),
            HttpClientRequest.setHeader("idempotency-key", idempotencyKey),
            HttpClientRequest.bodyJsonUnsafe({
              from,
              to: [mail.to],
              subject: mail.subject,
              text: textOf(mail),
              html: htmlOf(mail)
            }),
            client.execute,
            Effect.tap(hangUp),
            Effect.flatMap(HttpClientResponse.filterStatusOk),
            Effect.timeout(MAIL_TIMEOUT),
            Effect.asVoid,
            // The cause holds the request, and with it the link and the key.
            Effect.mapError((error) => new MailNotSent({ reason: error._tag }))
          )
        )
      })
    })
  )
}

/** A line as the log has them, whatever its level is, with the members of the mail. */
const jsonLineOf = Effect.fnUntraced(function*({ link, subject, to }: Mail) {
  const { spanId, traceId } = lineIdsOf(yield* Effect.context())
  const timestamp = new Date(yield* Clock.currentTimeMillis).toISOString()
  const mail = { to, subject, ...(link === undefined ? {} : { link: Redacted.value(link) }) }
  return JSON.stringify({ timestamp, level: "INFO", message: "mail", traceId, spanId, ...mail })
})

/** A mail on one line, with the address and the whole link. */
export const lineOf = (mail: Mail) =>
  `mail to ${mail.to}: ${mail.subject}${mail.link === undefined ? "" : ` ${Redacted.value(mail.link)}`}`
