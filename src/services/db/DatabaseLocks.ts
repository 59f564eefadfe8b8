import { Context, Effect, type Scope } from "effect"
import type { SqlError } from "effect/sql"

/**
 * Locks a name in the whole database until the scope closes, unless another process has it. The locks of a process have one
 * connection beside the pool, and end with it.
 */
export const DatabaseLocks = Context.Reference<
  (name: string) => Effect.Effect<boolean, SqlError.SqlError, Scope.Scope>
>(
  "route-planning-service/DatabaseLocks",
  { defaultValue: () => () => Effect.succeed(true) }
)
