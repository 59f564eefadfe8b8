import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Views of the version before have no country, and are made again. */
export default SqlClient.SqlClient.use((sql) => Effect.asVoid(sql`ALTER TABLE route_views ADD place_country_code text`))
