import { Predicate } from "effect"
import type { SqlError } from "effect/sql"

/**
 * Whether an error is about the state of the server and not about a statement (PostgreSQL, appendix A): classes 53,
 * insufficient resources, as too many connections or a full disk, and 57P, as a server that starts or ends its back ends.
 */
export const isServerState = ({ cause }: SqlError.SqlErrorReason): boolean =>
  Predicate.hasProperty(cause, "code") && /^(53|57P)/.test(String(cause.code))
