import { Schema } from "effect"
import { SessionId } from "./Ids.ts"
import { CreatedAt, Timestamp } from "./Timestamp.ts"

export const Session = Schema.Struct({
  id: SessionId,
  createdAt: CreatedAt,
  lastSeenAt: Timestamp.annotate({ description: "When it was last used" }),
  expiresAt: Timestamp.annotate({ description: "When it ends at the latest" }),
  userAgent: Schema.NullOr(Schema.String).annotate({ description: "The `User-Agent` of the sign-in" }),
  ipAddress: Schema.NullOr(Schema.String).annotate({ description: "The address of the last request" }),
  current: Schema.Boolean.annotate({ description: "Whether the request came with this session" })
}).annotate({
  identifier: "Session",
  description: "Where the caller is signed in.",
  examples: [{
    id: SessionId.make("0b7c4e0e-5d0a-4c39-9a55-0d5c7f2f8f11"),
    createdAt: "2025-06-01T08:30:00.000Z",
    lastSeenAt: "2025-06-01T09:12:44.000Z",
    expiresAt: "2025-07-01T08:30:00.000Z",
    userAgent: "Mozilla/5.0",
    ipAddress: "203.0.113.9",
    current: true
  }]
})
export type Session = typeof Session.Type
