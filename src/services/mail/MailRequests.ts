import { Context, DateTime, Effect, type Option, Schema } from "effect"
import { SignUpId, type UserId } from "../../schema/Ids.ts"
import type { Mail } from "./Mail.ts"

/** Who asked when. Optional, since an earlier version wrote requests without. */
const Asked = {
  askedAt: Schema.optionalKey(Schema.DateFromString),
  network: Schema.optionalKey(Schema.String)
}

export const askedFrom = (network: string | undefined) =>
  Effect.map(DateTime.nowAsDate, (askedAt) => ({ askedAt, ...(network === undefined ? {} : { network }) }))

/**
 * Composed at delivery. Whether there is a mail depends on whether the address has an account, which the caller must
 * not learn: the same row is written for every address before the response.
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

/** Composes requests, with what accounts know. */
export class AccountMails extends Context.Service<AccountMails, {
  /** The mail for a request, with a new link; none without a recipient. Call in a transaction. */
  readonly compose: (request: MailRequest) => Effect.Effect<Option.Option<ComposedMail>>
  /**
   * For a request that gets no mail today. A sign-up then ends the links of older ones that other networks asked for: its
   * owner has no other link, and must not use one of a stranger. Call in a transaction.
   */
  readonly withhold: (request: MailRequest) => Effect.Effect<void>
}>()("route-planning-service/AccountMails") {}
