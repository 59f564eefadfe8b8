import { Schema } from "effect"
import { TokenId } from "./Ids.ts"
import { DEFAULT_TOKEN_DAYS } from "./Limits.ts"
import { trimmedText } from "./Text.ts"
import { CreatedAt, Timestamp } from "./Timestamp.ts"
import { PasswordAttempt } from "./User.ts"

/** `write` includes `read`. */
export const Scope = Schema.Literals(["read", "write"]).annotate({ description: "What the token may do" })
export type Scope = typeof Scope.Type

export const MAX_TOKEN_DAYS = 366

export const NewToken = Schema.Struct({
  name: trimmedText(1, 100),
  scope: Scope,
  expiresInDays: Schema.optionalKey(
    Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_TOKEN_DAYS }))).annotate({
      description:
        `Days until it expires: ${DEFAULT_TOKEN_DAYS} if absent, \`null\` never, which needs \`currentPassword\``
    })
  ),
  currentPassword: Schema.optionalKey(
    Schema.NullOr(Schema.RedactedFromValue(
      PasswordAttempt.annotate({ description: "The current password; needed for a token without an end" })
    ))
  )
}).annotate({
  identifier: "TokenInput",
  description: "A token to be made.",
  examples: [{ name: "backup script", scope: "read", expiresInDays: 90 }]
})
export type NewToken = typeof NewToken.Type

export const daysOf = ({ expiresInDays }: NewToken): number | null =>
  expiresInDays === undefined ? DEFAULT_TOKEN_DAYS : expiresInDays

const TOKEN = {
  id: TokenId.make(3),
  name: "backup script",
  scope: "read",
  hint: "k3Xz",
  createdAt: "2025-06-01T08:30:00.000Z",
  expiresAt: "2025-08-30T08:30:00.000Z",
  lastUsedAt: null
} as const

export const PersonalAccessToken = Schema.Struct({
  id: TokenId,
  name: Schema.String.annotate({ description: "The name of the token" }),
  scope: Scope,
  hint: Schema.String.annotate({ description: "The last four characters of the token" }),
  createdAt: CreatedAt,
  expiresAt: Schema.NullOr(Timestamp).annotate({ description: "When it expires; `null` is never" }),
  lastUsedAt: Schema.NullOr(Timestamp).annotate({ description: "When it was last used" })
}).annotate({
  identifier: "PersonalAccessToken",
  description: "A personal access token, without the token itself.",
  examples: [TOKEN]
})
export type PersonalAccessToken = typeof PersonalAccessToken.Type

export const MintedToken = Schema.Struct({
  ...PersonalAccessToken.fields,
  token: Schema.String.annotate({ description: "The token itself" })
}).annotate({
  identifier: "MintedToken",
  description: "A personal access token with the token itself, which is shown this once.",
  examples: [{ ...TOKEN, token: "service_pat_7hK2mQ9xVbN4rT8wYc3sLpZ6dFgJ1aE5uHoRiXkM0eDf3aB9Xz" }]
})
export type MintedToken = typeof MintedToken.Type
