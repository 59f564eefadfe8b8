import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const STEP = `
ALTER TABLE routes ADD COLUMN segments text, ADD COLUMN simplified_segments text;
ALTER TABLE route_views ADD COLUMN segments text, ADD COLUMN simplified_segments text;
CREATE OR REPLACE FUNCTION require_json() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM NEW.waypoints::json, NEW.geometry::json, NEW.simplified::json, NEW.cues::json, NEW.segments::json,
    NEW.simplified_segments::json;
  RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER json_on_write
  BEFORE INSERT OR UPDATE OF waypoints, geometry, simplified, cues, segments, simplified_segments ON routes
  FOR EACH ROW EXECUTE FUNCTION require_json();
CREATE OR REPLACE TRIGGER json_on_write
  BEFORE INSERT OR UPDATE OF waypoints, geometry, simplified, cues, segments, simplified_segments ON route_views
  FOR EACH ROW EXECUTE FUNCTION require_json();
`

/** Routes that are stored already have no gaps. */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  // The driver sends one statement at a time.
  yield* sql.unsafe(`DO $step$ BEGIN ${STEP} END $step$`)
})
