import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const LIVE = "(deleted_at IS NULL)"

/** Of the live routes. Decimal, so that what is added and taken away again leaves nothing behind. */
const METRES = `CASE WHEN ${LIVE} AND distance IS NOT NULL THEN greatest(0, least(distance, 1e8))::numeric ELSE 0 END`

/** As in the migration that counts the bytes of cues. */
const BYTES = "route_bytes(waypoints, geometry, simplified, polyline6, description) + coalesce(octet_length(cues), 0)"

const EVENTS = {
  insert: [["added", 1]],
  update: [["added", 1], ["removed", -1]],
  delete: [["removed", -1]]
} as const

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // The backfill reads every route.
  yield* sql`SET LOCAL statement_timeout = 0`
  yield* sql`LOCK TABLE routes IN SHARE ROW EXCLUSIVE MODE`

  yield* sql`
    ALTER TABLE route_usage
      ADD COLUMN live_routes bigint NOT NULL DEFAULT 0,
      ADD COLUMN live_distance numeric NOT NULL DEFAULT 0`

  yield* sql`DROP FUNCTION add_route_usage(bigint, bigint, bigint)`
  yield* sql`
    CREATE FUNCTION add_route_usage(
      owner bigint, more bigint, bytes bigint, live bigint DEFAULT 0, metres numeric DEFAULT 0
    ) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      used route_usage;
      most usage_limits;
    BEGIN
      UPDATE route_usage SET routes = routes + more, stored_bytes = stored_bytes + bytes,
          live_routes = live_routes + live, live_distance = live_distance + metres
        WHERE user_id = owner AND EXISTS (SELECT FROM users WHERE id = owner) RETURNING * INTO used;
      IF more > 0 OR bytes > 0 THEN
        SELECT * INTO most FROM usage_limits;
        IF more > 0 AND used.routes > most.max_routes THEN
          PERFORM refuse_usage('routes', most.max_routes, used.routes - more);
        END IF;
        IF bytes > 0 AND used.stored_bytes > most.max_stored_bytes THEN
          PERFORM refuse_usage('storedBytes', most.max_stored_bytes, used.stored_bytes - bytes);
        END IF;
      END IF;
    END $$`

  for (const [event, tables] of Object.entries(EVENTS)) {
    const changes = tables.map(([table, sign]) =>
      `SELECT user_id, ${sign} AS amount, ${sign} * (${BYTES}) AS bytes, ${sign} * ${LIVE}::int AS live,
        ${sign} * ${METRES} AS metres FROM ${table}`
    )
    yield* sql`
      CREATE OR REPLACE FUNCTION ${sql.literal(`count_routes_on_${event}`)}() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM add_route_usage(user_id, amount, bytes, live, metres) FROM (
          SELECT user_id, sum(amount) AS amount, sum(bytes) AS bytes, sum(live) AS live, sum(metres) AS metres
          FROM (${sql.literal(changes.join(" UNION ALL "))}) changes
          GROUP BY user_id HAVING sum(amount) <> 0 OR sum(bytes) <> 0 OR sum(live) <> 0 OR sum(metres) <> 0
          ORDER BY user_id
        ) totals;
        RETURN NULL;
      END $$`
  }

  yield* sql`
    UPDATE route_usage u SET live_routes = live, live_distance = metres FROM (
      SELECT user_id, sum(${sql.literal(LIVE)}::int) AS live, sum(${sql.literal(METRES)}) AS metres
      FROM routes GROUP BY user_id
    ) r WHERE r.user_id = u.user_id`
})
