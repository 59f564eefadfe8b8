import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const STEP = `
CREATE TABLE oldest_version (id boolean PRIMARY KEY DEFAULT true CHECK (id), migration integer NOT NULL);
INSERT INTO oldest_version (migration) VALUES (43);
`

export default SqlClient.SqlClient.use((sql) =>
  // The driver sends one statement at a time.
  Effect.asVoid(sql.unsafe(`DO $step$ BEGIN ${STEP} END $step$`))
)
