import { Schema } from "effect"
import { SignUpId } from "../../schema/Ids.ts"

/**
 * A mail to be composed at delivery. What there is to mail, if anything, depends on whether the address has an account:
 * the caller must learn nothing of that, so the same row is written for every address before the response.
 */
export const MailRequest = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("verify-email"), signUpId: SignUpId }),
  Schema.Struct({ kind: Schema.Literal("reset-password"), email: Schema.String }),
  Schema.Struct({ kind: Schema.Literal("invitation"), signUpId: SignUpId })
])
export type MailRequest = typeof MailRequest.Type
