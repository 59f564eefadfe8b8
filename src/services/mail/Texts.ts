import { Context, DateTime, Effect, type Option, Redacted, Schema } from "effect"
import { SignUpId, type UserId } from "../../schema/Ids.ts"
import { html } from "../operations/Html.ts"

/** The link is a secret: anyone who has it acts as the recipient. `ifNotYou` is for an unexpected mail. */
export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly link: Redacted.Redacted | undefined
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
