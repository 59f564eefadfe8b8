import { Redacted } from "effect"
import { html } from "../html/Html.ts"
import type { Mail } from "./Mail.ts"

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
