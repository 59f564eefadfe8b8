import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Reads all changes, with no lock that a request waits for. */
export default SqlClient.SqlClient.use((sql) =>
  Effect.asVoid(sql`ALTER TABLE changes VALIDATE CONSTRAINT changes_type_check`)
)
