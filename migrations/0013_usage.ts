import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const ROUTE_BYTES = "route_bytes(waypoints, geometry, simplified, polyline6, description)"

/** What a row of a table counts for, and which function adds that to the counters of its account. */
const COUNTED = [
  { table: "routes", rows: 1, bytes: ROUTE_BYTES, add: "add_route_usage" },
  { table: "idempotency_keys", rows: 0, bytes: "response_bytes(body, headers)", add: "add_route_usage" },
  { table: "collections", rows: 1, bytes: "0", add: "add_collection_usage" }
]

const ADDED = { name: "added", transition: "NEW TABLE", sign: 1 }
const REMOVED = { name: "removed", transition: "OLD TABLE", sign: -1 }

// Once a statement, however many rows it changes, and in the order of the accounts, so that two sweeps cannot deadlock.
const EVENTS = [
  { name: "INSERT", tables: [ADDED] },
  { name: "UPDATE", tables: [ADDED, REMOVED] },
  { name: "DELETE", tables: [REMOVED] }
]

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // The backfill reads every route's lengths.
  yield* sql`SET LOCAL statement_timeout = 0`

  // One row: the limits that the processes were started with. A table, because behind a pooler no setting of a session
  // reaches the triggers. Without the row nothing is limited.
  yield* sql`
    CREATE TABLE usage_limits (
      id boolean PRIMARY KEY DEFAULT true CHECK (id),
      max_routes bigint NOT NULL,
      max_stored_bytes bigint NOT NULL,
      max_collections bigint NOT NULL
    )`

  // Two tables, because a writer holds its counter until it commits: one that counts a collection goes on to lock the
  // routes in it, one that changes a route has locked that route before it counts.
  yield* sql`
    CREATE TABLE route_usage (
      user_id bigint PRIMARY KEY REFERENCES users ON DELETE CASCADE,
      routes bigint NOT NULL DEFAULT 0,
      stored_bytes bigint NOT NULL DEFAULT 0
    ) WITH (fillfactor = 50)`
  yield* sql`
    CREATE TABLE collection_usage (
      user_id bigint PRIMARY KEY REFERENCES users ON DELETE CASCADE,
      collections bigint NOT NULL DEFAULT 0
    ) WITH (fillfactor = 50)`

  // octet_length takes the length of a long text from its header and does not load it.
  yield* sql`
    CREATE FUNCTION route_bytes(waypoints text, geometry text, simplified text, polyline6 text, description text)
    RETURNS bigint LANGUAGE sql IMMUTABLE
    RETURN octet_length(waypoints) + coalesce(octet_length(geometry), 0) + coalesce(octet_length(simplified), 0)
      + coalesce(octet_length(polyline6), 0) + coalesce(octet_length(description), 0)`
  yield* sql`
    CREATE FUNCTION response_bytes(body text, headers text) RETURNS bigint LANGUAGE sql IMMUTABLE
    RETURN coalesce(octet_length(body), 0) + coalesce(octet_length(headers), 0)`

  yield* sql`
    CREATE FUNCTION require_quota(quota text, most bigint, used bigint, more bigint) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      IF more > 0 AND used + more > most THEN
        RAISE EXCEPTION 'over the quota of an account' USING ERRCODE = 'check_violation', CONSTRAINT = 'usage_limits',
          DETAIL = json_build_object('quota', quota, 'limit', most, 'used', used)::text;
      END IF;
    END $$`

  // An account that is being erased is not counted: its counters go last, when all the rows that they count are locked.
  yield* sql`
    CREATE FUNCTION add_route_usage(owner bigint, more_routes bigint, more_bytes bigint) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      used route_usage;
      most usage_limits;
    BEGIN
      UPDATE route_usage SET routes = routes + more_routes, stored_bytes = stored_bytes + more_bytes
        WHERE user_id = owner AND EXISTS (SELECT FROM users WHERE id = owner) RETURNING * INTO used;
      IF more_routes > 0 OR more_bytes > 0 THEN
        SELECT * INTO most FROM usage_limits;
        PERFORM require_quota('routes', most.max_routes, used.routes - more_routes, more_routes);
        PERFORM require_quota('storedBytes', most.max_stored_bytes, used.stored_bytes - more_bytes, more_bytes);
      END IF;
    END $$`
  yield* sql`
    CREATE FUNCTION add_collection_usage(owner bigint, more bigint, bytes bigint) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      used collection_usage;
      most usage_limits;
    BEGIN
      UPDATE collection_usage SET collections = collections + more
        WHERE user_id = owner AND EXISTS (SELECT FROM users WHERE id = owner) RETURNING * INTO used;
      SELECT * INTO most FROM usage_limits;
      PERFORM require_quota('collections', most.max_collections, used.collections - more, more);
    END $$`

  // The locks that the triggers take keep writers out until the backfill below is committed.
  for (const counted of COUNTED) {
    for (const event of EVENTS) {
      const name = sql.literal(`count_${counted.table}_on_${event.name.toLowerCase()}`)
      const changes = event.tables.map(({ name, sign }) =>
        `SELECT user_id, ${sign} * ${counted.rows} AS amount, ${sign} * (${counted.bytes}) AS bytes FROM ${name}`
      )
      yield* sql`
        CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          PERFORM ${sql.literal(counted.add)}(user_id, amount, bytes) FROM (
            SELECT user_id, sum(amount)::bigint AS amount, sum(bytes)::bigint AS bytes
            FROM (${sql.literal(changes.join(" UNION ALL "))}) changes
            GROUP BY user_id HAVING sum(amount) <> 0 OR sum(bytes) <> 0 ORDER BY user_id
          ) totals;
          RETURN NULL;
        END $$`
      yield* sql`
        CREATE TRIGGER ${sql.literal(`usage_on_${event.name.toLowerCase()}`)}
        AFTER ${sql.literal(event.name)} ON ${sql.literal(counted.table)}
        REFERENCING ${sql.literal(event.tables.map(({ name, transition }) => `${transition} AS ${name}`).join(" "))}
        FOR EACH STATEMENT EXECUTE FUNCTION ${name}()`
    }
  }
  yield* sql`
    CREATE FUNCTION begin_usage() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO route_usage (user_id) SELECT id FROM added;
      INSERT INTO collection_usage (user_id) SELECT id FROM added;
      RETURN NULL;
    END $$`
  yield* sql`
    CREATE TRIGGER usage_on_insert AFTER INSERT ON users REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION begin_usage()`

  yield* sql`
    INSERT INTO route_usage (user_id, routes, stored_bytes)
    SELECT u.id, coalesce(r.routes, 0), coalesce(r.bytes, 0) + coalesce(k.bytes, 0)
    FROM users u
      LEFT JOIN (
        SELECT user_id, count(*) AS routes,
          sum(${sql.literal(ROUTE_BYTES)}) AS bytes
        FROM routes GROUP BY user_id
      ) r ON r.user_id = u.id
      LEFT JOIN (
        SELECT user_id, sum(response_bytes(body, headers)) AS bytes FROM idempotency_keys GROUP BY user_id
      ) k ON k.user_id = u.id`
  yield* sql`
    INSERT INTO collection_usage (user_id, collections)
    SELECT u.id, count(c.id) FROM users u LEFT JOIN collections c ON c.user_id = u.id GROUP BY u.id`
})
