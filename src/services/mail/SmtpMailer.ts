import { Duration, Effect, Layer, Redacted } from "effect"
import { mailboxOf } from "../identity/EmailAddresses.ts"
import { settings } from "../settings/Registry.ts"
import { traced } from "../tracing/Traced.ts"
import { MAIL_TIMEOUT, Mailer, MailNotSent } from "./Mailer.ts"
import { htmlOf, textOf } from "./MailText.ts"

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

/** Without the text of the server, which may repeat addresses and credentials. */
const reasonOf = (error: unknown) =>
  error instanceof Error
    ? ["code" in error ? error.code : error.name, "responseCode" in error ? error.responseCode : undefined]
      .filter((part) => part !== undefined)
      .join(" ")
    : "unknown"

/**
 * Any SMTP server (RFC 5321), one connection a mail. A server may have accepted an attempt that timed out: the next one
 * has the same Message-ID (RFC 5322, 3.6.4), by which servers and readers drop the second.
 */
export const smtpMailerLayer = (url: Redacted.Redacted<URL>) =>
  Layer.effect(
    Mailer,
    Effect.gen(function*() {
      const server = serverOf(Redacted.value(url))
      const from = yield* settings.EMAIL_FROM
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
        send: traced("Mailer.send")((mail, idempotencyKey) =>
          Effect.tryPromise({
            try: () =>
              transport.sendMail({
                from,
                to: { name: "", address: mailboxOf(mail.to) },
                subject: mail.subject,
                text: textOf(mail),
                html: htmlOf(mail),
                messageId: `<${idempotencyKey}@${hostname}>`,
                headers: { "Auto-Submitted": "auto-generated" }
              }),
            catch: (error) => new MailNotSent({ reason: `SMTP ${reasonOf(error)}` })
          }).pipe(
            Effect.timeoutOrElse({
              duration: MAIL_TIMEOUT,
              orElse: () => Effect.fail(new MailNotSent({ reason: "SMTP timeout" }))
            }),
            Effect.asVoid
          )
        )
      })
    })
  )
