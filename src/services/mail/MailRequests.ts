import { DateTime, Effect, Schema } from "effect"
import { SignUpId } from "../../schema/Ids.ts"

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
