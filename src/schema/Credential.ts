import { Schema, Struct } from "effect"
import { SessionId, TokenId, UserId } from "./Ids.ts"
import { DEFAULT_TOKEN_DAYS, RATE_TIERS, RATE_WINDOW_SECONDS } from "./Limits.ts"
import { CreatedAt, Timestamp } from "./Measures.ts"
import { named } from "./Named.ts"
import { trimmedText } from "./Text.ts"
import { PasswordAttempt, UserSummary } from "./User.ts"

export const Session = Schema.Struct({
  id: SessionId,
  createdAt: CreatedAt,
  lastSeenAt: Timestamp.annotate({ description: "When it was last used" }),
  expiresAt: Timestamp.annotate({ description: "When it ends at the latest" }),
  userAgent: Schema.NullOr(Schema.String).annotate({ description: "The `User-Agent` of the sign-in" }),
  ipAddress: Schema.NullOr(Schema.String).annotate({ description: "The address of the last request" }),
  current: Schema.Boolean.annotate({ description: "Whether the request came with this session" })
}).annotate(named("Session", "Where the caller is signed in.", {
  id: SessionId.make("0b7c4e0e-5d0a-4c39-9a55-0d5c7f2f8f11"),
  createdAt: "2025-06-01T08:30:00.000Z",
  lastSeenAt: "2025-06-01T09:12:44.000Z",
  expiresAt: "2025-07-01T08:30:00.000Z",
  userAgent: "Mozilla/5.0",
  ipAddress: "203.0.113.9",
  current: true
}))
export type Session = typeof Session.Type

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
}).annotate(named("TokenInput", "A token to be made.", { name: "backup script", scope: "read", expiresInDays: 90 }))
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
}).annotate(named("PersonalAccessToken", "A personal access token, without the token itself.", TOKEN))
export type PersonalAccessToken = typeof PersonalAccessToken.Type

export const MintedToken = Schema.Struct({
  ...PersonalAccessToken.fields,
  token: Schema.String.annotate({ description: "The token itself" })
}).annotate(named("MintedToken", "A personal access token with the token itself, which is shown this once.", {
  ...TOKEN,
  token: "service_pat_7hK2mQ9xVbN4rT8wYc3sLpZ6dFgJ1aE5uHoRiXkM0eDf3aB9Xz"
}))
export type MintedToken = typeof MintedToken.Type

/** These tiers count by credential, while `auth` counts by address. */
const CREDENTIAL_TIERS = ["default", "moderate", "strict"] as const

const RateTierLimit = Schema.Struct({
  tier: Schema.Literals(CREDENTIAL_TIERS).annotate({ description: "The kind of endpoint" }),
  limit: Schema.Int.annotate({ description: "Requests to one endpoint in a window" }),
  windowSeconds: Schema.Int.annotate({ description: "The window in seconds" })
}).annotate(named("RateTierLimit", "How many requests a tier of endpoints allows.", {
  tier: "default",
  limit: RATE_TIERS.default,
  windowSeconds: RATE_WINDOW_SECONDS
}))

export const CREDENTIAL_LIMITS: ReadonlyArray<typeof RateTierLimit.Type> = CREDENTIAL_TIERS.map((tier) => ({
  tier,
  limit: RATE_TIERS[tier],
  windowSeconds: RATE_WINDOW_SECONDS
}))

export const Credential = Schema.Struct({
  kind: Schema.Literals(["session", "token"]).annotate({ description: "What it is" }),
  scope: Scope.annotate({ description: "What it may do; a session also does what no token may" }),
  name: Schema.NullOr(Schema.String).annotate({ description: "The name of the token; `null` for a session" }),
  expiresAt: Schema.NullOr(Timestamp).annotate({ description: "`null` for a token that does not expire" }),
  user: Schema.Struct(Struct.pick(UserSummary.fields, ["id", "handle"])).annotate({ description: "Whose it is" }),
  limits: Schema.Array(RateTierLimit).annotate({ description: "By tier of endpoints; empty where there are none" })
}).annotate(named("Credential", "What a request is authenticated by.", {
  kind: "token",
  scope: "read",
  name: "laptop",
  expiresAt: "2026-12-01T08:30:00.000Z",
  user: { id: UserId.make(7), handle: "ada" },
  limits: [{ tier: "default", limit: RATE_TIERS.default, windowSeconds: RATE_WINDOW_SECONDS }]
}))
export type Credential = typeof Credential.Type
