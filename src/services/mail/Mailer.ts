import { Console, Context, DateTime, Duration, Effect, Layer, Redacted, Schema } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { mailboxOf } from "../identity/EmailAddresses.ts"
import { lineIdsOf } from "../metrics/TraceIds.ts"
import { LogFormat } from "../settings/LogFormat.ts"
import { settings } from "../settings/Registry.ts"
import { traced } from "../tracing/Traced.ts"
import { hangUp } from "../upstream/Upstream.ts"
import type { Mail } from "./Mail.ts"
import { htmlOf, textOf } from "./MailText.ts"

/** Of one attempt. A process waits for it before it ends. */
export const MAIL_TIMEOUT = Duration.seconds(5)

export class MailNotSent extends Schema.TaggedError<MailNotSent>()("MailNotSent", { reason: Schema.String }) {}

export class Mailer extends Context.Service<Mailer, {
  /** One attempt. Attempts to send the same mail have the same key, by which a provider recognises a repetition. */
  readonly send: (mail: Mail, idempotencyKey: string) => Effect.Effect<void, MailNotSent>
}>()("route-planning-service/Mailer") {
  static readonly layerStandardOutput = Layer.succeed(Mailer, {
    send: traced("Mailer.send")(function*(mail) {
      yield* Console.log((yield* LogFormat) === "json" ? yield* jsonLineOf(mail) : lineOf(mail))
    })
  })

  /** Resend's API (`POST /emails`). Only the status of the response is used. */
  static readonly layerApi = (key: Redacted.Redacted) =>
    Layer.effect(
      Mailer,
      Effect.gen(function*() {
        const url = yield* settings.EMAIL_API_URL
        const from = yield* settings.EMAIL_FROM
        const client = yield* HttpClient.HttpClient
        return Mailer.of({
          send: traced("Mailer.send")((mail, idempotencyKey) =>
            HttpClientRequest.post(url).pipe(
              HttpClientRequest.bearerToken(key),
              HttpClientRequest.setHeader("idempotency-key", idempotencyKey),
              HttpClientRequest.bodyJsonUnsafe({
                from,
                to: [mailboxOf(mail.to)],
                subject: mail.subject,
                text: textOf(mail),
                html: htmlOf(mail)
              }),
              client.execute,
              Effect.tap(hangUp),
              Effect.flatMap(HttpClientResponse.filterStatusOk),
              Effect.timeout(MAIL_TIMEOUT),
              Effect.asVoid,
              // The cause contains the request, with the link and the key.
              Effect.mapError((error) => new MailNotSent({ reason: error._tag }))
            )
          )
        })
      })
    )
}

const jsonLineOf = Effect.fnUntraced(function*({ link, subject, to }: Mail) {
  const { spanId, traceId } = lineIdsOf(yield* Effect.context())
  const timestamp = (yield* DateTime.nowAsDate).toISOString()
  const mail = { to, subject, ...(link === undefined ? {} : { link: Redacted.value(link) }) }
  return JSON.stringify({ timestamp, level: "INFO", message: "mail", traceId, spanId, ...mail })
})

export const lineOf = (mail: Mail) =>
  `mail to ${mail.to}: ${mail.subject}${mail.link === undefined ? "" : ` ${Redacted.value(mail.link)}`}`
