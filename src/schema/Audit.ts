import { Schema } from "effect"
import { UserId } from "./Ids.ts"
import { Timestamp } from "./Timestamp.ts"

export const AuditEvent = Schema.Literals([
  "sign_in.succeeded",
  "sign_in.failed",
  "session.revoked",
  "sessions.revoked",
  "password.reset_requested",
  "password.reset",
  "password.changed",
  "password.change_failed",
  "password.removed",
  "token.minted",
  "token.mint_failed",
  "token.revoked",
  "link.created",
  "link.changed",
  "link.deleted",
  "share_token.replaced",
  "privacy_zones.changed",
  "account.deletion_requested",
  "account.deletion_cancelled",
  "account.erased",
  "admin.users_listed",
  "admin.user_viewed",
  "admin.user_deleted",
  "admin.user_invited",
  "admin.deletions_listed",
  "admin.routes_listed",
  "admin.route_deleted",
  "admin.audit_read"
])
export type AuditEvent = typeof AuditEvent.Type

/** `userId` did it, or is the account of a failed attempt; an administrator did it to `subjectId`. */
export const AuditEntry = Schema.Struct({
  id: Schema.Int,
  createdAt: Timestamp,
  event: AuditEvent,
  userId: Schema.NullOr(UserId),
  subjectId: Schema.NullOr(UserId),
  traceId: Schema.NullOr(Schema.String)
}).annotate({ identifier: "AuditEntry" })
export type AuditEntry = typeof AuditEntry.Type
