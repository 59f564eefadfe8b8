import { Schema } from "effect"
import type { Scope } from "./Credential.ts"
import type { SessionId, TokenId, UserId } from "./Ids.ts"
import type { Role } from "./User.ts"

/** `pending` can be cancelled; `over` is after the grace period. */
export const DeletionState = Schema.Literals(["none", "pending", "over"])
export type DeletionState = typeof DeletionState.Type

export interface SessionPrincipal {
  readonly kind: "session"
  readonly userId: UserId
  readonly role: Role
  readonly sessionId: SessionId
  readonly deletion: DeletionState
}

export interface TokenPrincipal {
  readonly kind: "token"
  readonly userId: UserId
  readonly tokenId: TokenId
  readonly scope: Scope
  readonly expiresAt: string | null
}

/** A request has a principal before anything else is decided. */
export type Principal = SessionPrincipal | TokenPrincipal
