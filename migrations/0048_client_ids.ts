import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const STEP = `
ALTER TABLE routes ADD COLUMN client_id uuid;
ALTER TABLE collections ADD COLUMN client_id uuid;
`

export default SqlClient.SqlClient.use((sql) =>
  // The driver sends one statement at a time.
  Effect.asVoid(sql.unsafe(`DO $step$ BEGIN ${STEP} END $step$`))
)
