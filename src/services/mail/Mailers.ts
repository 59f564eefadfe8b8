import { Console, Context, DateTime, Duration, Effect, Layer, Redacted, Schema } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { mailboxOf } from "../identity/Users.ts"
import { lineIdsOf } from "../operations/Tracing.ts"
import { hangUp } from "../operations/Upstream.ts"
import { settings } from "../settings/Registry.ts"
import { LogFormat } from "../settings/SettingTypes.ts"
import { configuredSite } from "../texts/Site.ts"
import { htmlOf, type Mail, textOf } from "./Texts.ts"

/** The timeout of one attempt. A process waits for it before it ends. */
export const MAIL_TIMEOUT = Duration.seconds(5)

export class MailNotSent extends Schema.TaggedError<MailNotSent>()("MailNotSent", { reason: Schema.String }) {}

export class Mailer extends Context.Service<Mailer, {
  /** Attempts to send the same mail have the same key, by which a provider recognises a repetition. */
  readonly send: (mail: Mail, idempotencyKey: string) => Effect.Effect<void, MailNotSent>
}>()("route-planning-service/Mailer") {
  static readonly layerStandardOutput = Layer.succeed(Mailer, {
    send: Effect.fnUntraced(function*(mail) {
      yield* Console.log((yield* LogFormat) === "json" ? yield* jsonLineOf(mail) : lineOf(mail))
    })
  })

  /** Sends by Resend's API (`POST /emails`). Only the status of the response is used. */
  static readonly layerApi = (key: Redacted.Redacted) =>
    Layer.effect(
      Mailer,
      Effect.gen(function*() {
        const url = yield* settings.EMAIL_API_URL
        const from = yield* settings.EMAIL_FROM
        const site = yield* configuredSite
        const client = yield* HttpClient.HttpClient
        return Mailer.of({
          send: (mail, idempotencyKey) =>
            HttpClientRequest.post(url).pipe(
              HttpClientRequest.bearerToken(key),
              HttpClientRequest.setHeader("idempotency-key", idempotencyKey),
              HttpClientRequest.bodyJsonUnsafe({
                from,
                to: [mailboxOf(mail.to)],
                subject: mail.subject,
                text: textOf(site, mail),
                html: htmlOf(site, mail)
              }),
              client.execute,
              Effect.tap(hangUp),
              Effect.flatMap(HttpClientResponse.filterStatusOk),
              Effect.timeout(MAIL_TIMEOUT),
              Effect.asVoid,
              // The cause contains the request, with the link and the key.
              Effect.mapError((error) => new MailNotSent({ reason: error._tag }))
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

const DEFAULT_PORT = { plain: 587, tls: 465 } as const

const isLoopback = (host: string) => /^(localhost|127(\.\d+){3}|\[?::1\]?)$/.test(host)

const serverOf = ({ hostname, password, port, protocol, username }: URL) => {
  const secure = protocol === "smtps:"
  const hasCredentials = username !== ""
  return {
    host: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? DEFAULT_PORT[secure ? "tls" : "plain"] : Number(port),
    secure,
    // STARTTLS is optional without credentials; with them, a network attacker must not obtain them by removing it.
    requireTLS: !secure && hasCredentials && !isLoopback(hostname),
    ...(hasCredentials ? { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } } : {})
  }
}

/** The error omits the text of the server, which may repeat addresses and credentials. */
const reasonOf = (error: unknown) =>
  error instanceof Error
    ? ["code" in error ? error.code : error.name, "responseCode" in error ? error.responseCode : undefined]
      .filter((part) => part !== undefined)
      .join(" ")
    : "unknown"

/**
 * Sends by any SMTP server (RFC 5321), one connection a mail. A server may have accepted an attempt that timed out: the
 * next one has the same Message-ID (RFC 5322, 3.6.4), by which servers and readers drop the second.
 */
export const smtpMailerLayer = (url: Redacted.Redacted<URL>) =>
  Layer.effect(
    Mailer,
    Effect.gen(function*() {
      const server = serverOf(Redacted.value(url))
      const from = yield* settings.EMAIL_FROM
      const site = yield* configuredSite
      const { hostname } = yield* settings.BASE_URL
      const milliseconds = Duration.toMillis(MAIL_TIMEOUT)
      const { createTransport } = yield* Effect.promise(() => import("nodemailer"))
      const transport = createTransport({
        ...server,
        name: hostname,
        connectionTimeout: milliseconds,
        dnsTimeout: milliseconds,
        greetingTimeout: milliseconds,
        socketTimeout: milliseconds,
        disableFileAccess: true,
        disableUrlAccess: true
      })
      return Mailer.of({
        send: (mail, idempotencyKey) =>
          Effect.tryPromise({
            try: () =>
              transport.sendMail({
                from,
                to: { name: "", address: mailboxOf(mail.to) },
                subject: mail.subject,
                text: textOf(site, mail),
                html: htmlOf(site, mail),
                messageId: `<${idempotencyKey}@${hostname}>`,
                headers: { "Auto-Submitted": "auto-generated" }
              }),
            catch: (error) => new MailNotSent({ reason: `SMTP ${reasonOf(error)}` })
          }).pipe(
            Effect.timeoutOrElse({
              duration: MAIL_TIMEOUT,
              orElse: () => Effect.fail(new MailNotSent({ reason: "SMTP timeout" }))
            }),
            Effect.asVoid,
            Effect.withSpan("Mailer.send", { kind: "client" }, { captureStackTrace: false })
          )
      })
    })
  )
