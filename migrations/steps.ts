import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Runs a part of a migration outside of its transaction, so that no lock is held between its statements: rows that are
 * written batch by batch, or `CREATE INDEX CONCURRENTLY`. It may have run before, in part or whole, since a migration
 * that waits too long for a lock is tried again.
 */
export const outsideTransaction = <A, E, R>(part: Effect.Effect<A, E, R>) =>
  SqlClient.SqlClient.use((sql) => Effect.updateContext(part, Context.omit(sql.transactionService)))
