import { Schema } from "effect"
import { UserId } from "./Ids.ts"
import { Timestamp } from "./Timestamp.ts"

/** What is worth knowing afterwards: who got in and who did not, and what cannot be taken back. */
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
  "token.revoked",
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

/** `userId` is who did it, or whose account it was tried on; `subjectId` is to whom an administrator did it. */
export const AuditEntry = Schema.Struct({
  id: Schema.Int,
  createdAt: Timestamp,
  event: AuditEvent,
  userId: Schema.NullOr(UserId),
  subjectId: Schema.NullOr(UserId),
  traceId: Schema.NullOr(Schema.String)
}).annotate({ identifier: "AuditEntry" })
export type AuditEntry = typeof AuditEntry.Type
