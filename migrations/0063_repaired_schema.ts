import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import serverRuns from "./0044_server_runs.ts"

const COLUMNS = `
ALTER TABLE routes ADD COLUMN IF NOT EXISTS client_digest text;
ALTER TABLE collections ADD COLUMN IF NOT EXISTS client_digest text;
ALTER TABLE share_links ADD COLUMN IF NOT EXISTS client_digest text;
CREATE OR REPLACE FUNCTION require_json() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM NEW.waypoints::json, NEW.geometry::json, NEW.simplified::json, NEW.cues::json, NEW.simplified_segments::json;
  IF (NEW.segments::json->>-1)::int >= NEW.position_count THEN
    NEW.segments := NULL;
    NEW.simplified_segments := NULL;
  END IF;
  RETURN NEW;
END $$;
`

/** Some commits before had migration 46 and not yet 44, or 53 without the columns that were added to it later. */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  // The driver sends one statement at a time.
  yield* sql.unsafe(`DO $step$ BEGIN ${COLUMNS} END $step$`)
  const [missing] = yield* sql`SELECT WHERE to_regprocedure('current_run()') IS NULL`
  if (missing !== undefined) yield* serverRuns
})
