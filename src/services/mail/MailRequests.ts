import { Schema } from "effect"
import { SignUpId } from "../../schema/Ids.ts"

/**
 * Composed at delivery. Whether there is a mail depends on whether the address has an account, which the caller must
 * not learn: the same row is written for every address before the response.
 */
export const MailRequest = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("verify-email"), signUpId: SignUpId }),
  Schema.Struct({ kind: Schema.Literal("reset-password"), email: Schema.String }),
  Schema.Struct({ kind: Schema.Literal("invitation"), signUpId: SignUpId })
])
export type MailRequest = typeof MailRequest.Type
