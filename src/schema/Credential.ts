import { Schema, Struct } from "effect"
import { UserId } from "./Ids.ts"
import { RATE_TIERS, RATE_WINDOW_SECONDS } from "./RateTier.ts"
import { Timestamp } from "./Timestamp.ts"
import { Scope } from "./Token.ts"
import { UserSummary } from "./User.ts"

/** Those that count by credential: `auth` counts by address. */
const CREDENTIAL_TIERS = ["default", "moderate", "strict"] as const

const RateTierLimit = Schema.Struct({
  tier: Schema.Literals(CREDENTIAL_TIERS).annotate({ description: "The kind of endpoint" }),
  limit: Schema.Int.annotate({ description: "Requests to one endpoint in a window" }),
  windowSeconds: Schema.Int.annotate({ description: "The window in seconds" })
}).annotate({
  identifier: "RateTierLimit",
  description: "How many requests a tier of endpoints allows.",
  examples: [{ tier: "default", limit: RATE_TIERS.default, windowSeconds: RATE_WINDOW_SECONDS }]
})

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
}).annotate({
  identifier: "Credential",
  description: "What a request is authenticated by.",
  examples: [{
    kind: "token",
    scope: "read",
    name: "laptop",
    expiresAt: "2026-12-01T08:30:00.000Z",
    user: { id: UserId.make(7), handle: "ada" },
    limits: [{ tier: "default", limit: RATE_TIERS.default, windowSeconds: RATE_WINDOW_SECONDS }]
  }]
})
export type Credential = typeof Credential.Type
