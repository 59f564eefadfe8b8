import { Schema } from "effect"
import { TokenId } from "./Ids.ts"
import { DEFAULT_TOKEN_DAYS } from "./Limits.ts"
import { trimmedText } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"
import { PasswordAttempt } from "./User.ts"

/** `write` includes `read`. */
export const Scope = Schema.Literals(["read", "write"])
export type Scope = typeof Scope.Type

export const MAX_TOKEN_DAYS = 366

export const NewToken = Schema.Struct({
  name: trimmedText(1, 100),
  scope: Scope,
  expiresInDays: Schema.optionalKey(
    Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_TOKEN_DAYS })))
  ),
  currentPassword: Schema.optionalKey(Schema.NullOr(Schema.RedactedFromValue(PasswordAttempt)))
}).annotate({ identifier: "TokenInput" })
export type NewToken = typeof NewToken.Type

export const daysOf = ({ expiresInDays }: NewToken): number | null =>
  expiresInDays === undefined ? DEFAULT_TOKEN_DAYS : expiresInDays

export const PersonalAccessToken = Schema.Struct({
  id: TokenId,
  name: Schema.String,
  scope: Scope,
  hint: Schema.String,
  createdAt: Timestamp,
  expiresAt: Schema.NullOr(Timestamp),
  lastUsedAt: Schema.NullOr(Timestamp)
}).annotate({ identifier: "PersonalAccessToken" })
export type PersonalAccessToken = typeof PersonalAccessToken.Type

export const MintedToken = Schema.Struct({ ...PersonalAccessToken.fields, token: Schema.String }).annotate({
  identifier: "MintedToken"
})
export type MintedToken = typeof MintedToken.Type
