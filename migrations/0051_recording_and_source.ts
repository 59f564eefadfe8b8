import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const STEP = `
ALTER TABLE routes
  ADD COLUMN recorded_at timestamptz
    CHECK (recorded_at >= '1980-01-01T00:00Z' AND recorded_at < '2200-01-01T00:00Z'),
  ADD COLUMN source_provider text CHECK (source_provider ~ '^[a-z0-9.-]{1,40}$'),
  ADD COLUMN source_external_id text CHECK (char_length(source_external_id) BETWEEN 1 AND 255),
  ADD COLUMN source_url text CHECK (char_length(source_url) <= 2048);
CREATE UNIQUE INDEX routes_source_key ON routes (user_id, source_provider, source_external_id)
  WHERE source_provider IS NOT NULL;
`

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  // Constraints of a large table are checked for longer than a request may take.
  yield* sql`SET LOCAL statement_timeout = 0`
  // The driver sends one statement at a time.
  yield* sql.unsafe(`DO $step$ BEGIN ${STEP} END $step$`)
})
