import type { SqlClient } from "effect/sql"

/** For accounts whose deletion was requested by then, the grace period is over. */
export const isErasureDue = (sql: SqlClient.SqlClient, cutoff: Date) => sql`deletion_requested_at <= ${cutoff}`

/** An account whose deletion is pending can be signed in to until it is due. */
export const canSignIn = (sql: SqlClient.SqlClient, cutoff: Date) =>
  sql`(deletion_requested_at IS NULL OR deletion_requested_at > ${cutoff})`

/** `DeletionState` of the row `u` of users, by the `cutoff` of the row `k` of keys. */
export const DELETION_STATE = `
  CASE WHEN u.deletion_requested_at IS NULL THEN 'none' WHEN u.deletion_requested_at > k.cutoff THEN 'pending'
    ELSE 'over' END AS deletion`

export const HAS_PASSWORD = `password_hash IS NOT NULL AS "hasPassword"`
