import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { UserId } from "../../schema/Ids.ts"

/**
 * Locks an account until the transaction ends; false if there is none.
 * Against deadlocks, transactions on credentials lock in this order: the sign-ups of the address (`SignUps.lock`), the
 * account, then mailed links, personal access tokens, sessions. Other rows that refer to the account can be written.
 */
export const accountLock = Effect.map(
  SqlClient.SqlClient,
  (sql) => (id: UserId) =>
    Effect.map(sql`SELECT id FROM users WHERE id = ${id} FOR NO KEY UPDATE`, (rows) => rows.length > 0)
)
