import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const STEP = `
ALTER TABLE routes
  ADD COLUMN recorded_at timestamptz,
  ADD COLUMN source_provider text,
  ADD COLUMN source_external_id text,
  ADD COLUMN source_url text,
  ADD CONSTRAINT routes_recorded_at_check
    CHECK (recorded_at >= '1980-01-01T00:00Z' AND recorded_at < '2200-01-01T00:00Z') NOT VALID,
  ADD CONSTRAINT routes_source_provider_check CHECK (source_provider ~ '^[a-z0-9.-]{1,40}$') NOT VALID,
  ADD CONSTRAINT routes_source_external_id_check CHECK (char_length(source_external_id) BETWEEN 1 AND 255) NOT VALID,
  ADD CONSTRAINT routes_source_url_check CHECK (char_length(source_url) <= 2048) NOT VALID
`

export default SqlClient.SqlClient.use((sql) => Effect.asVoid(sql.unsafe(STEP)))
