import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { UserId } from "../../schema/Ids.ts"
import { lockedUser } from "./AccountState.ts"

/** Locks an account as `lockedUser` does; false if there is none. */
export const accountLock = Effect.map(
  SqlClient.SqlClient,
  (sql) => (id: UserId) => Effect.map(lockedUser(sql, "id", sql`id = ${id}`), (rows) => rows.length > 0)
)
