import { Config, Option, Redacted, Schema } from "effect"
import { html } from "../html/Html.ts"
import { baseUrl } from "../settings/Addresses.ts"
import type { Mail } from "./Mail.ts"

/** Without control characters, which could begin further headers. */
const Sender = Schema.NonEmptyString.check(
  Schema.makeFilter((text) =>
    /^(?:[^<>\p{Cc}]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/u.test(text)
      ? undefined
      : "Expected an email address as in no-reply@example.com or Routes <no-reply@example.com>"
  )
)

export const mailSender = Config.all({ given: Config.option(Config.schema(Sender, "EMAIL_FROM")), base: baseUrl }).pipe(
  Config.map(({ base, given }) => Option.getOrElse(given, () => `no-reply@${base.hostname}`))
)

const linkOf = ({ link }: Mail) => link === undefined ? undefined : Redacted.value(link)

export const textOf = (mail: Mail): string => {
  const parts = [mail.text, linkOf(mail), mail.ifNotYou].filter((part) => part !== undefined)
  return `${parts.join("\n\n")}\n`
}

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
