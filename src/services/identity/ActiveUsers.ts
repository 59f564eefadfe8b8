import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { UserId } from "../../schema/Ids.ts"
import { Missing } from "../DomainErrors.ts"
import { databaseDefects } from "../sql/DatabaseDefects.ts"
import { isActive } from "./AccountState.ts"

/** The same error for a user who does not exist and one whose deletion is pending. */
export const activeUsers = Effect.map(SqlClient.SqlClient, (sql) => ({
  requireActive: Effect.fnUntraced(function*(id: UserId) {
    const rows = yield* sql`SELECT 1 FROM users WHERE id = ${id} AND ${isActive(sql)}`
    if (rows.length === 0) return yield* new Missing({ kind: "user" })
  }, databaseDefects)
}))
