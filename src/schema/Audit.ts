import { Schema } from "effect"
import { UserId } from "./Ids.ts"
import { CreatedAt } from "./Timestamp.ts"

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
]).annotate({ description: "What happened" })
export type AuditEvent = typeof AuditEvent.Type

export const AuditEntry = Schema.Struct({
  id: Schema.Int.annotate({ description: "The id of the entry" }),
  createdAt: CreatedAt,
  event: AuditEvent,
  userId: Schema.NullOr(UserId).annotate({ description: "The account that did it, or that an attempt failed for" }),
  subjectId: Schema.NullOr(UserId).annotate({ description: "The account that an administrator acted on" }),
  traceId: Schema.NullOr(Schema.String).annotate({ description: "The trace of the request (W3C Trace Context)" })
}).annotate({
  identifier: "AuditEntry",
  description: "Something that happened to an account.",
  examples: [{
    id: 314,
    createdAt: "2025-06-01T08:30:00.000Z",
    event: "admin.user_deleted",
    userId: UserId.make(1),
    subjectId: UserId.make(7),
    traceId: "4bf92f3577b34da6a3ce929d0e0e4736"
  }]
})
export type AuditEntry = typeof AuditEntry.Type
