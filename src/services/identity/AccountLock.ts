import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { UserId } from "../../schema/Ids.ts"

/**
 * Locks an account until the transaction of the caller ends; false when there is none.
 *
 * Transactions on credentials lock in this order, so that no two of them wait for each other: the sign-ups of the address
 * (`SignUps.lock`), the account, then what refers to it: mailed links, personal access tokens, sessions. Other rows that
 * refer to the account can be written meanwhile: their foreign keys need no more than `FOR KEY SHARE`.
 */
export const accountLock = Effect.map(
  SqlClient.SqlClient,
  (sql) => (id: UserId) =>
    Effect.map(sql`SELECT id FROM users WHERE id = ${id} FOR NO KEY UPDATE`, (rows) => rows.length > 0)
)
