import { Clock, Config, Console, Context, Effect, Layer, Redacted, Schedule, Schema } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { baseUrl } from "../Addresses.ts"
import { lineIdsOf } from "../metrics/TraceIds.ts"
import { LogFormat } from "../operations/LogFormat.ts"
import { httpUrl } from "../SettingTypes.ts"

/** A mail with one link. The link is a secret: whoever has it acts as the addressee. */
export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly link: Redacted.Redacted | undefined
}

/** With all tries. A process that is told to end waits for the mail that it is sending. */
const PATIENCE = "5 seconds"

/** The provider did not take the mail. */
export class MailNotSent extends Schema.TaggedError<MailNotSent>()("MailNotSent", { reason: Schema.String }) {}

/** Sends mails. Which way is decided by configuration: see the layers. */
export class Mailer extends Context.Service<Mailer, {
  readonly send: (mail: Mail) => Effect.Effect<void, MailNotSent>
}>()("route-planning-service/Mailer") {
  /** Without an email provider mails go to standard output with their links, one line each, in the format of the log. */
  static readonly layerStandardOutput = Layer.succeed(Mailer, {
    send: Effect.fn("Mailer.send")(function*(mail) {
      yield* Console.log((yield* LogFormat) === "json" ? yield* jsonLineOf(mail) : lineOf(mail))
    })
  })

  /** Resend's API (`POST /emails`), or another of the same shape at `EMAIL_API_URL`. */
  static readonly layerApi = Layer.effect(
    Mailer,
    Effect.gen(function*() {
      const key = yield* Config.Redacted("EMAIL_API_KEY")
      const url = yield* httpUrl("EMAIL_API_URL").pipe(
        Config.withDefault(new URL("https://api.resend.com/emails"))
      )
      const { hostname } = yield* baseUrl
      const from = yield* Config.NonEmptyString("EMAIL_FROM").pipe(Config.withDefault(`no-reply@${hostname}`))
      const client = (yield* HttpClient.HttpClient).pipe(
        HttpClient.filterStatusOk,
        HttpClient.retryTransient({ times: 3, schedule: Schedule.exponential("200 millis") })
      )
      return Mailer.of({
        send: Effect.fn("Mailer.send")((mail) =>
          HttpClientRequest.post(url).pipe(
            HttpClientRequest.bearerToken(key),
            HttpClientRequest.bodyJsonUnsafe({ from, to: [mail.to], subject: mail.subject, text: textOf(mail) }),
            client.execute,
            Effect.flatMap(HttpClientResponse.filterStatusOk),
            Effect.timeout(PATIENCE),
            Effect.asVoid,
            // The cause holds the request, and with it the link and the key.
            Effect.mapError((error) => new MailNotSent({ reason: error._tag }))
          )
        )
      })
    })
  )
}

const textOf = (mail: Mail) => mail.link === undefined ? mail.text : `${mail.text}\n\n${Redacted.value(mail.link)}\n`

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
