import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** As in the migration that counts usage, with the bytes of cues. */
const BYTES = "route_bytes(waypoints, geometry, simplified, polyline6, description) + coalesce(octet_length(cues), 0)"

const EVENTS = {
  insert: [["added", 1]],
  update: [["added", 1], ["removed", -1]],
  delete: [["removed", -1]]
} as const

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  yield* sql`ALTER TABLE routes ADD COLUMN cues text`

  for (const [event, tables] of Object.entries(EVENTS)) {
    const changes = tables.map(([table, sign]) =>
      `SELECT user_id, ${sign} AS amount, ${sign} * (${BYTES}) AS bytes FROM ${table}`
    )
    yield* sql`
      CREATE OR REPLACE FUNCTION ${sql.literal(`count_routes_on_${event}`)}() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM add_route_usage(user_id, amount, bytes) FROM (
          SELECT user_id, sum(amount) AS amount, sum(bytes) AS bytes
          FROM (${sql.literal(changes.join(" UNION ALL "))}) changes
          GROUP BY user_id HAVING sum(amount) <> 0 OR sum(bytes) <> 0 ORDER BY user_id
        ) totals;
        RETURN NULL;
      END $$`
  }
})
