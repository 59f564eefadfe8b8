import type { SqlClient } from "effect/sql"
import { inBatches } from "./steps.ts"

const BATCH = 100

/** A text with one of these characters has other words since migration 56. */
const CHANGED =
  "[\\u0660-\\u0669\\u06f0-\\u06f9\\u0900-\\u109f\\u1780-\\u17ff\\u2300-\\u23ff\\u25a0-\\u25ff\\u2b00-\\u2bff]"

/** Writes the words of a batch of routes after one. A change of such a route waits, else its new words would be lost. */
const writtenAfter = (sql: SqlClient.SqlClient, after: number) =>
  sql<{ readonly last: number | null }>`
    WITH batch AS MATERIALIZED (
      SELECT id FROM routes WHERE id > ${after} ORDER BY id LIMIT ${BATCH}
    ), changed AS (
      SELECT r.* FROM routes r JOIN batch USING (id)
      WHERE concat_ws(' ', name, description, array_to_string(tags, ' '), place_city, place_region, waypoints) ~ ${CHANGED}
      ORDER BY id FOR NO KEY UPDATE OF r
    ), words AS (
      UPDATE route_words w SET words = route_lexemes(r.user_id, r.name, r.description, r.tags, r.waypoints, r.place_city,
        r.place_region, r.visibility, r.deleted_at)
      FROM changed r WHERE w.route_id = r.id
    ), views AS (
      UPDATE route_views v SET words = search_vector(concat_ws(' ', r.name, array_to_string(r.tags, ' '), r.description,
        v.place_city, r.place_region, waypoint_names(v.waypoints)))
      FROM changed r WHERE v.route_id = r.id AND v.words IS NOT NULL
    )
    SELECT max(id)::float8 AS last FROM batch`

export default inBatches(writtenAfter)
