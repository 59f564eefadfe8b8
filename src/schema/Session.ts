import { Schema } from "effect"
import { SessionId } from "./Ids.ts"

/** A session as its user sees it. `current` is the one that asks. */
export const Session = Schema.Struct({
  id: SessionId,
  createdAt: Schema.String,
  lastSeenAt: Schema.String,
  expiresAt: Schema.String,
  userAgent: Schema.NullOr(Schema.String),
  ipAddress: Schema.NullOr(Schema.String),
  current: Schema.Boolean
})
export type Session = typeof Session.Type
