import { type Cause, Console, Context, DateTime, Duration, Effect, Layer, type Option, Redacted, Schema } from "effect"
import { HttpClient, type HttpClientError, HttpClientRequest, HttpClientResponse } from "effect/http"
import { SignUpId, type UserId } from "../../schema/Ids.ts"
import { mailboxOf } from "../identity/Users.ts"
import { html } from "../operations/Html.ts"
import { lineIdsOf } from "../operations/RequestNotes.ts"
import { settings } from "../operations/SettingsRegistry.ts"
import { LogFormat } from "../operations/SettingTypes.ts"
import { hangUp } from "../operations/Upstream.ts"
import { configuredSite, type Site } from "../texts/Site.ts"

/** The link is a secret: anyone who has it acts as the recipient. `ifNotYou` is for an unexpected mail. */
export const Mail = Schema.Struct({
  to: Schema.String,
  subject: Schema.String,
  text: Schema.String,
  link: Schema.optional(Schema.RedactedFromValue(Schema.String)),
  linkText: Schema.optional(Schema.String),
  ifNotYou: Schema.optional(Schema.String)
})
export type Mail = typeof Mail.Type

/** Earlier versions wrote requests without time and network. */
const Asked = {
  askedAt: Schema.optionalKey(Schema.DateFromString),
  network: Schema.optionalKey(Schema.String)
}

export const askedFrom = (network: string | undefined) =>
  Effect.map(DateTime.nowAsDate, (askedAt) => ({ askedAt, ...(network === undefined ? {} : { network }) }))

/** Mails are composed at delivery: every address gets the same row, so that callers do not learn of accounts. */
export const MailRequest = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("verify-email"), signUpId: SignUpId, ...Asked }),
  Schema.Struct({ kind: Schema.Literal("reset-password"), email: Schema.String, ...Asked }),
  Schema.Struct({ kind: Schema.Literal("invitation"), signUpId: SignUpId })
])
export type MailRequest = typeof MailRequest.Type

export interface ComposedMail {
  readonly userId: UserId | undefined
  readonly mail: Mail
  /** The mail is not sent later than this, since its link has expired. */
  readonly lifetime?: Duration.Duration
}

export class AccountMails extends Context.Service<AccountMails, {
  /** Returns the mail for a request, with a new link; none without a recipient. Call it in a transaction. */
  readonly compose: (request: MailRequest) => Effect.Effect<Option.Option<ComposedMail>>
  /**
   * Handles a request that gets no mail today. For a sign-up it ends the links of older ones from other networks: its
   * owner has no other link, and must not use a stranger's. Call it in a transaction.
   */
  readonly withhold: (request: MailRequest) => Effect.Effect<void>
}>()("route-planning-service/AccountMails") {}

const linkOf = ({ link }: Mail) => link === undefined ? undefined : Redacted.value(link)

/** A line of two hyphens and a space begins the signature (RFC 3676, 4.3). */
export const textOf = ({ address, name }: Site, mail: Mail): string => {
  const parts = [mail.text, linkOf(mail), mail.ifNotYou, `-- \n${name}\n${address}`]
  return `${parts.filter((part) => part !== undefined).join("\n\n")}\n`
}

const FONT = "font-family:system-ui,-apple-system,'Segoe UI',sans-serif;font-size:16px;line-height:1.5"

/** Programs for mail drop style sheets, so the few styles are inline. */
export const htmlOf = ({ address, color, logo, name, texts }: Site, mail: Mail): string => {
  const link = linkOf(mail)
  return html`<!doctype html>
<html lang="${texts.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${mail.subject}</title>
</head>
<body style="${FONT};margin:0 auto;max-width:36rem;padding:24px">
<p style="font-weight:bold">${
    logo === undefined ? undefined : html`<img src="${logo.address}" alt="" height="32" style="vertical-align:middle"> `
  }${name}</p>
<p>${mail.text}</p>
${
    link === undefined
      ? undefined
      : html`<p><a href="${link}" style="background:${color.light};border-radius:6px;color:#ffffff;display:inline-block;font-weight:bold;padding:12px 20px;text-decoration:none">${
        mail.linkText ?? link
      }</a></p>
<p style="font-size:14px;overflow-wrap:anywhere"><a href="${link}">${link}</a></p>`
  }
${mail.ifNotYou === undefined ? undefined : html`<p>${mail.ifNotYou}</p>`}
<p style="font-size:14px"><a href="${address}">${address}</a></p>
</body>
</html>
`.html
}

/** An HTTP API has this time to respond, and an ending process waits as long for any attempt. */
export const MAIL_TIMEOUT = Duration.seconds(5)

/** Servers delay their greeting, and filter a mail before they accept it: RFC 5321, 4.5.3.2, lets them take minutes. */
const SMTP_TIMEOUT = Duration.minutes(1)

export class MailNotSent extends Schema.TaggedError<MailNotSent>()("MailNotSent", {
  reason: Schema.String,
  /** There is no such address, so a later attempt is refused too. */
  isFinal: Schema.optionalKey(Schema.Literal(true))
}) {}

export class Mailer extends Context.Service<Mailer, {
  /** Attempts to send the same mail have the same key, by which a provider recognises a repetition. */
  readonly send: (mail: Mail, idempotencyKey: string) => Effect.Effect<void, MailNotSent>
  /** An attempt ends within this time, or within `MAIL_TIMEOUT` if it is absent. */
  readonly timeout?: Duration.Duration
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
              Effect.mapError((error) => new MailNotSent({ reason: apiReasonOf(error) }))
            )
        })
      })
    )
}

/** A wrong key has another status than an outage. */
const apiReasonOf = (error: HttpClientError.HttpClientError | Cause.TimeoutError) => {
  if (error._tag === "TimeoutError") return error._tag
  const { _tag } = error.reason
  return error.response === undefined ? _tag : `${_tag} ${error.response.status}`
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

/** Returns the status code of RFC 3463 in a reply, such as `4.3.1`, which is no IP address. */
const statusOf = (error: Error) =>
  "response" in error
    ? /^([245])\d\d[ -](\1\.\d{1,3}\.\d{1,3})(?!\.?\d)/.exec(String(error.response))?.[2]
    : undefined

/** The error omits the text of the server, which may repeat addresses and credentials. */
const reasonOf = (error: unknown) =>
  error instanceof Error
    ? [
      "code" in error ? error.code : error.name,
      "responseCode" in error ? error.responseCode : undefined,
      statusOf(error)
    ].filter((part) => part !== undefined).join(" ")
    : "unknown"

/** Other refusals of a recipient may be a mistake in the settings, such as `554 5.7.1 Relay access denied`. */
const isUnknownAddress = (error: unknown) => error instanceof Error && /^5\.1\.[1-3]$/.test(statusOf(error) ?? "")

/**
 * Sends by any SMTP server (RFC 5321), one connection a mail. A server may have accepted an attempt that timed out: the
 * next one has the same Message-ID (RFC 5322, 3.6.4), but no server has to drop the second.
 */
export const smtpMailerLayer = (url: Redacted.Redacted<URL>) =>
  Layer.effect(
    Mailer,
    Effect.gen(function*() {
      const server = serverOf(Redacted.value(url))
      const from = yield* settings.EMAIL_FROM
      const site = yield* configuredSite
      const { hostname } = yield* settings.BASE_URL
      const milliseconds = Duration.toMillis(SMTP_TIMEOUT)
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
        timeout: SMTP_TIMEOUT,
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
            catch: (error) =>
              new MailNotSent({
                reason: `SMTP ${reasonOf(error)}`,
                ...(isUnknownAddress(error) ? { isFinal: true } : {})
              })
          }).pipe(
            Effect.timeoutOrElse({
              duration: SMTP_TIMEOUT,
              orElse: () => Effect.fail(new MailNotSent({ reason: "SMTP timeout" }))
            }),
            Effect.asVoid,
            Effect.withSpan("Mailer.send", { kind: "client" }, { captureStackTrace: false })
          )
      })
    })
  )
