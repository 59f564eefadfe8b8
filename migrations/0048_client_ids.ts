import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const STEP = `
ALTER TABLE routes ADD COLUMN client_id uuid;
CREATE UNIQUE INDEX routes_client_key ON routes (user_id, client_id) WHERE client_id IS NOT NULL;
ALTER TABLE collections ADD COLUMN client_id uuid;
CREATE UNIQUE INDEX collections_client_key ON collections (user_id, client_id) WHERE client_id IS NOT NULL;
`

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  // The index of a large table takes longer than a request may.
  yield* sql`SET LOCAL statement_timeout = 0`
  // The driver sends one statement at a time.
  yield* sql.unsafe(`DO $step$ BEGIN ${STEP} END $step$`)
})
