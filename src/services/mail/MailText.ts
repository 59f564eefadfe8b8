import { Config, Effect, Redacted, Schema } from "effect"
import { html } from "../html/Html.ts"
import { baseUrl } from "../settings/Addresses.ts"
import type { Mail } from "./Mailer.ts"

/** An address, or a name before one in angle brackets; control characters would begin further headers. */
const Sender = Schema.NonEmptyString.check(
  Schema.makeFilter((text) =>
    /^(?:[^<>\p{Cc}]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/u.test(text)
      ? undefined
      : "Expected an email address as in no-reply@example.com or Routes <no-reply@example.com>"
  )
)

/** The sender of mails (`EMAIL_FROM`): `no-reply@` and the host of `BASE_URL` unless it is set. */
export const mailSender = Effect.gen(function*() {
  const { hostname } = yield* baseUrl
  return yield* Config.schema(Sender, "EMAIL_FROM").pipe(Config.withDefault(`no-reply@${hostname}`))
})

const linkOf = ({ link }: Mail) => link === undefined ? undefined : Redacted.value(link)

/** The text of a mail, with its link on a line of its own. */
export const textOf = (mail: Mail): string => {
  const parts = [mail.text, linkOf(mail), mail.ifNotYou].filter((part) => part !== undefined)
  return `${parts.join("\n\n")}\n`
}

/** The same as HTML, for readers that show no plain text: nothing to load, and the link as it is. */
export const htmlOf = (mail: Mail): string => {
  const link = linkOf(mail)
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${mail.subject}</title>
</head>
<body>
<p>${mail.text}</p>
${link === undefined ? undefined : html`<p><a href="${link}">${link}</a></p>`}
${mail.ifNotYou === undefined ? undefined : html`<p>${mail.ifNotYou}</p>`}
</body>
</html>
`.html
}
