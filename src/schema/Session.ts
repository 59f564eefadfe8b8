import { Schema } from "effect"
import { SessionId } from "./Ids.ts"
import { Timestamp } from "./Timestamp.ts"

export const Session = Schema.Struct({
  id: SessionId,
  createdAt: Timestamp,
  lastSeenAt: Timestamp,
  expiresAt: Timestamp,
  userAgent: Schema.NullOr(Schema.String),
  ipAddress: Schema.NullOr(Schema.String),
  current: Schema.Boolean
}).annotate({ identifier: "Session" })
export type Session = typeof Session.Type
