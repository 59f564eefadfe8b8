import type { SqlClient, Statement } from "effect/sql"
import { emailKey } from "./EmailAddresses.ts"

/** For accounts whose deletion was requested by then, the grace period is over. */
export const isErasureDue = (sql: SqlClient.SqlClient, cutoff: Date) => sql`deletion_requested_at <= ${cutoff}`

/** An active account has no pending deletion. */
export const isActive = (sql: SqlClient.SqlClient) => sql`deletion_requested_at IS NULL`

/** Rows of unverified addresses are of an earlier version, and no accounts. */
export const hasAddress = (sql: SqlClient.SqlClient, email: string) =>
  sql`email_key = ${emailKey(email)} AND email_verified_at IS NOT NULL`

/**
 * The row of an account, locked until the transaction ends.
 * Against deadlocks, transactions on credentials lock in this order: the sign-ups of the address (`SignUps.lock`), the
 * account, then mailed links, personal access tokens, sessions. Other rows that refer to the account can be written.
 */
export const lockedUser = (sql: SqlClient.SqlClient, columns: string, condition: Statement.Fragment) =>
  sql`SELECT ${sql.literal(columns)} FROM users WHERE ${condition} FOR NO KEY UPDATE`

/** An account whose deletion is pending can be signed in to until it is due. */
export const canSignIn = (sql: SqlClient.SqlClient, cutoff: Date) =>
  sql`(${isActive(sql)} OR deletion_requested_at > ${cutoff})`

/** `DeletionState` of the row `u` of users, by the `cutoff` of the row `k` of keys. */
export const DELETION_STATE = `
  CASE WHEN u.deletion_requested_at IS NULL THEN 'none' WHEN u.deletion_requested_at > k.cutoff THEN 'pending'
    ELSE 'over' END AS deletion`

export const HAS_PASSWORD = `password_hash IS NOT NULL AS "hasPassword"`
