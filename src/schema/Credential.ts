import { Schema, Struct } from "effect"
import { RATE_TIERS, RATE_WINDOW_SECONDS } from "./RateTier.ts"
import { Timestamp } from "./Timestamp.ts"
import { Scope } from "./Token.ts"
import { UserSummary } from "./User.ts"

/** Those that count by credential: `auth` counts by address. */
const CREDENTIAL_TIERS = ["default", "moderate", "strict"] as const

const RateTierLimit = Schema.Struct({
  tier: Schema.Literals(CREDENTIAL_TIERS),
  limit: Schema.Int.annotate({ description: "Requests to one endpoint in a window" }),
  windowSeconds: Schema.Int.annotate({ description: "The window in seconds" })
}).annotate({ identifier: "RateTierLimit" })

export const CREDENTIAL_LIMITS: ReadonlyArray<typeof RateTierLimit.Type> = CREDENTIAL_TIERS.map((tier) => ({
  tier,
  limit: RATE_TIERS[tier],
  windowSeconds: RATE_WINDOW_SECONDS
}))

export const Credential = Schema.Struct({
  kind: Schema.Literals(["session", "token"]),
  scope: Scope.annotate({ description: "What it may do; a session also does what no token may" }),
  name: Schema.NullOr(Schema.String).annotate({ description: "The name of the token; `null` for a session" }),
  expiresAt: Schema.NullOr(Timestamp).annotate({ description: "`null` for a token that does not expire" }),
  user: Schema.Struct(Struct.pick(UserSummary.fields, ["id", "handle"])),
  limits: Schema.Array(RateTierLimit).annotate({ description: "By tier of endpoints; empty where there are none" })
}).annotate({ identifier: "Credential" })
export type Credential = typeof Credential.Type
