import { Context, Effect, type Scope } from "effect"
import type { SqlError } from "effect/sql"

/** Locks a name in the database until the scope closes or the locks' connection ends. Returns false if it is taken. */
export const DatabaseLocks = Context.Reference<
  (name: string) => Effect.Effect<boolean, SqlError.SqlError, Scope.Scope>
>(
  "route-planning-service/DatabaseLocks",
  { defaultValue: () => () => Effect.succeed(true) }
)

type NextPayload = Effect.Effect<string, SqlError.SqlError>

/**
 * Listens on a channel with a connection of its own, until the scope closes. The inner effect waits for the next
 * payload, and fails when the connection ends. Notifications from before the outer effect ends are lost.
 */
export const DatabaseNotifications = Context.Reference<
  (channel: string) => Effect.Effect<NextPayload, SqlError.SqlError, Scope.Scope>
>("route-planning-service/DatabaseNotifications", { defaultValue: () => () => Effect.succeed(Effect.never) })
