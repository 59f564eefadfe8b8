import { Effect, Predicate } from "effect"
import type { SqlError } from "effect/sql"

/**
 * Whether an error is about the state of the server and not about a statement (PostgreSQL, appendix A): classes 53,
 * insufficient resources, as too many connections or a full disk, and 57P, as a server that starts or ends its back ends.
 */
export const isServerState = ({ cause }: SqlError.SqlErrorReason): boolean =>
  Predicate.hasProperty(cause, "code") && /^(53|57P)/.test(String(cause.code))

/** A write that a read does beside its work, as of when a credential was last used: without room for it the read goes on. */
export const ifThereIsRoom = <A, R>(
  write: Effect.Effect<A, SqlError.SqlError, R>,
  orElse: Effect.Effect<void> = Effect.void
): Effect.Effect<void, SqlError.SqlError, R> =>
  write.pipe(Effect.asVoid, Effect.catchIf(({ reason }) => isServerState(reason), () => orElse))
