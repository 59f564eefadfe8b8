import { Context, DateTime, Effect, type Option, Redacted, Schema } from "effect"
import { SignUpId, type UserId } from "../../schema/Ids.ts"
import { html } from "../operations/Html.ts"
import type { Site } from "../texts/Site.ts"

/** The link is a secret: anyone who has it acts as the recipient. `ifNotYou` is for an unexpected mail. */
export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly link: Redacted.Redacted | undefined
  /** Stands on the link in HTML. */
  readonly linkText?: string | undefined
  readonly ifNotYou?: string | undefined
}

/** Time and network of the request. Optional, since an earlier version wrote requests without. */
const Asked = {
  askedAt: Schema.optionalKey(Schema.DateFromString),
  network: Schema.optionalKey(Schema.String)
}

export const askedFrom = (network: string | undefined) =>
  Effect.map(DateTime.nowAsDate, (askedAt) => ({ askedAt, ...(network === undefined ? {} : { network }) }))

/**
 * Composed at delivery. Only an address with an account gets some mails, which the caller must not learn: the same row
 * is written for every address before the response.
 */
export const MailRequest = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("verify-email"), signUpId: SignUpId, ...Asked }),
  Schema.Struct({ kind: Schema.Literal("reset-password"), email: Schema.String, ...Asked }),
  Schema.Struct({ kind: Schema.Literal("invitation"), signUpId: SignUpId })
])
export type MailRequest = typeof MailRequest.Type

export interface ComposedMail {
  readonly userId: UserId | undefined
  readonly mail: Mail
}

/** Composes requests, with the facts of accounts. */
export class AccountMails extends Context.Service<AccountMails, {
  /** Returns the mail for a request, with a new link; none without a recipient. Call in a transaction. */
  readonly compose: (request: MailRequest) => Effect.Effect<Option.Option<ComposedMail>>
  /**
   * Handles a request that gets no mail today. A sign-up then ends the links of older sign-ups from other networks: its
   * owner has no other link, and must not use a stranger's. Call in a transaction.
   */
  readonly withhold: (request: MailRequest) => Effect.Effect<void>
}>()("route-planning-service/AccountMails") {}

const linkOf = ({ link }: Mail) => link === undefined ? undefined : Redacted.value(link)

/** RFC 3676, 4.3: what follows a line of two hyphens and a space is the signature. */
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
