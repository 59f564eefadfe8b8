import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const STEP = `
IF 'lz4' = ANY ((SELECT enumvals FROM pg_settings WHERE name = 'default_toast_compression')::text[]) THEN
  ALTER TABLE routes ALTER waypoints SET COMPRESSION lz4, ALTER cues SET COMPRESSION lz4,
    ALTER geometry SET COMPRESSION lz4, ALTER simplified SET COMPRESSION lz4, ALTER polyline6 SET COMPRESSION lz4;
  ALTER TABLE route_views ALTER waypoints SET COMPRESSION lz4, ALTER cues SET COMPRESSION lz4,
    ALTER geometry SET COMPRESSION lz4, ALTER simplified SET COMPRESSION lz4, ALTER polyline6 SET COMPRESSION lz4;
END IF;
CREATE FUNCTION require_json() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM NEW.waypoints::json, NEW.geometry::json, NEW.simplified::json, NEW.cues::json;
  RETURN NEW;
END $$;
CREATE TRIGGER json_on_write BEFORE INSERT OR UPDATE OF waypoints, geometry, simplified, cues ON routes
  FOR EACH ROW EXECUTE FUNCTION require_json();
CREATE TRIGGER json_on_write BEFORE INSERT OR UPDATE OF waypoints, geometry, simplified, cues ON route_views
  FOR EACH ROW EXECUTE FUNCTION require_json();
`

/** Texts that are stored already keep their compression until their route is stored again. */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  // The driver sends one statement at a time.
  yield* sql.unsafe(`DO $step$ BEGIN ${STEP} END $step$`)
})
