import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default SqlClient.SqlClient.use((sql) =>
  Effect.asVoid(sql`ALTER TABLE route_views ADD COLUMN place_region text`)
)
