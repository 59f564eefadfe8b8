import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const FUNCTIONS = `
DROP FUNCTION relist_for_others;
CREATE FUNCTION relist_for_others(owner bigint, route_ids bigint[]) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  most bigint := least(100 * cardinality(route_ids), 10000);
  seen bigint;
BEGIN
  WITH listed AS MATERIALIZED (
    SELECT c.user_id, c.id, c.version
    FROM collection_routes m JOIN collections c ON c.id = m.collection_id
    WHERE m.route_id = ANY(route_ids) AND c.user_id <> owner AND c.deleted_at IS NULL LIMIT most
  ), recorded AS (
    INSERT INTO pending_changes (user_id, type, id, version, is_listing)
    SELECT DISTINCT user_id, 'collection', id, version, false FROM listed
  )
  SELECT count(*) INTO seen FROM listed;
  RETURN seen = most;
END $$;
CREATE OR REPLACE FUNCTION relist_routes_of_user() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF relist_for_others(new.id, (SELECT array_agg(r.id) FROM routes r WHERE r.user_id = new.id)) THEN
    INSERT INTO pending_changes (user_id, type, id, version, is_listing)
    SELECT new.id, 'route', r.id, r.version, true FROM routes r WHERE r.user_id = new.id;
  END IF;
  RETURN NULL;
END $$;
`

/** Processes of the version before call `relist_for_others` as well, and need not know what it returns. */
export default SqlClient.SqlClient.use((sql) =>
  // The driver sends one statement at a time.
  Effect.asVoid(sql.unsafe(`DO $step$ BEGIN ${FUNCTIONS} END $step$`))
)
