import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default SqlClient.SqlClient.use((sql) => Effect.asVoid(sql`ALTER TABLE routes ADD COLUMN surfaces text`))
