import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { inBatches } from "./steps.ts"

/** Counts usage as before, each expression in one place. */
const USAGE = `
CREATE FUNCTION route_bytes(
  waypoints text, geometry text, simplified text, polyline6 text, cues text, description text
) RETURNS integer LANGUAGE sql IMMUTABLE
RETURN octet_length(waypoints) + coalesce(octet_length(geometry), 0) + coalesce(octet_length(simplified), 0)
  + coalesce(octet_length(polyline6), 0) + coalesce(octet_length(cues), 0) + coalesce(octet_length(description), 0);
CREATE FUNCTION live_metres(distance float8, deleted_at timestamptz) RETURNS numeric LANGUAGE sql IMMUTABLE
RETURN CASE WHEN deleted_at IS NULL AND distance IS NOT NULL THEN greatest(0, least(distance, 1e8))::numeric ELSE 0 END;
CREATE FUNCTION add_collection_usage(owner bigint, more bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  used collection_usage;
  most usage_limits;
BEGIN
  UPDATE collection_usage SET collections = collections + more
    WHERE user_id = owner AND EXISTS (SELECT FROM users WHERE id = owner) RETURNING * INTO used;
  SELECT * INTO most FROM usage_limits;
  IF more > 0 AND used.collections > most.max_collections THEN
    PERFORM refuse_usage('collections', most.max_collections, used.collections - more);
  END IF;
END $$;
CREATE OR REPLACE FUNCTION count_routes_on_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM add_route_usage(user_id, count(*), sum(route_bytes(waypoints, geometry, simplified, polyline6, cues, description)),
    count(*) FILTER (WHERE deleted_at IS NULL), sum(live_metres(distance, deleted_at)))
  FROM added GROUP BY user_id ORDER BY user_id;
  RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION count_routes_on_update() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM add_route_usage(user_id, sum(amount), sum(bytes), sum(live), sum(metres)) FROM (
    SELECT user_id, 1 AS amount, route_bytes(waypoints, geometry, simplified, polyline6, cues, description) AS bytes,
      (deleted_at IS NULL)::int AS live, live_metres(distance, deleted_at) AS metres FROM added
    UNION ALL
    SELECT user_id, -1, -route_bytes(waypoints, geometry, simplified, polyline6, cues, description),
      -(deleted_at IS NULL)::int, -live_metres(distance, deleted_at) FROM removed
  ) changed
  GROUP BY user_id HAVING sum(amount) <> 0 OR sum(bytes) <> 0 OR sum(live) <> 0 OR sum(metres) <> 0 ORDER BY user_id;
  RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION count_routes_on_delete() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM add_route_usage(user_id, -count(*), -sum(route_bytes(waypoints, geometry, simplified, polyline6, cues, description)),
    -count(*) FILTER (WHERE deleted_at IS NULL), -sum(live_metres(distance, deleted_at)))
  FROM removed GROUP BY user_id ORDER BY user_id;
  RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION count_idempotency_keys_on_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM add_route_usage(user_id, 0, sum(response_bytes(body, headers)))
  FROM added GROUP BY user_id HAVING sum(response_bytes(body, headers)) <> 0 ORDER BY user_id;
  RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION count_idempotency_keys_on_update() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM add_route_usage(user_id, 0, sum(bytes)) FROM (
    SELECT user_id, response_bytes(body, headers) AS bytes FROM added
    UNION ALL SELECT user_id, -response_bytes(body, headers) FROM removed
  ) changed GROUP BY user_id HAVING sum(bytes) <> 0 ORDER BY user_id;
  RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION count_idempotency_keys_on_delete() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM add_route_usage(user_id, 0, -sum(response_bytes(body, headers)))
  FROM removed GROUP BY user_id HAVING sum(response_bytes(body, headers)) <> 0 ORDER BY user_id;
  RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION count_collections_on_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM add_collection_usage(user_id, count(*))
  FROM added WHERE deleted_at IS NULL GROUP BY user_id ORDER BY user_id;
  RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION count_collections_on_update() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM add_collection_usage(user_id, sum(amount)) FROM (
    SELECT user_id, 1 AS amount FROM added WHERE deleted_at IS NULL
    UNION ALL SELECT user_id, -1 FROM removed WHERE deleted_at IS NULL
  ) changed GROUP BY user_id HAVING sum(amount) <> 0 ORDER BY user_id;
  RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION count_collections_on_delete() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM add_collection_usage(user_id, -count(*))
  FROM removed WHERE deleted_at IS NULL GROUP BY user_id ORDER BY user_id;
  RETURN NULL;
END $$;
DROP FUNCTION route_bytes(text, text, text, text, text);
DROP FUNCTION add_collection_usage(bigint, bigint, bigint);
`

/** Records changes as before, by one function for both tables where they do the same. */
const CHANGES = `
CREATE FUNCTION record_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO pending_changes (user_id, type, id, version, is_listing)
  SELECT user_id, TG_ARGV[0], id, version, false FROM added;
  RETURN NULL;
END $$;
CREATE FUNCTION record_delete() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO pending_changes (user_id, type, id, version, is_listing)
  SELECT user_id, TG_ARGV[0], id, version, TG_ARGV[0] = 'route' AND deleted_at IS NULL
  FROM removed WHERE EXISTS (SELECT FROM users u WHERE u.id = removed.user_id);
  RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION record_update_of_collections() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO pending_changes (user_id, type, id, version, is_listing)
  SELECT n.user_id, 'collection', n.id, n.version, false FROM added n JOIN removed o ON o.id = n.id
  WHERE (n.version, n.deleted_at) IS DISTINCT FROM (o.version, o.deleted_at);
  RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER change_on_insert AFTER INSERT ON routes REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION record_insert('route');
CREATE OR REPLACE TRIGGER change_on_insert AFTER INSERT ON collections REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION record_insert('collection');
CREATE OR REPLACE TRIGGER change_on_delete AFTER DELETE ON routes REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION record_delete('route');
CREATE OR REPLACE TRIGGER change_on_delete AFTER DELETE ON collections REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION record_delete('collection');
DROP FUNCTION record_insert_of_routes, record_delete_of_routes, record_insert_of_collections, record_delete_of_collections;
`

/**
 * Nobody has proven these addresses. Everything that they store stays, and belongs to the person who proves to have the
 * mailbox.
 */
const ACCOUNTS = `
DELETE FROM sessions WHERE user_id IN (SELECT id FROM users WHERE email_verified_at IS NULL);
DELETE FROM personal_access_tokens WHERE user_id IN (SELECT id FROM users WHERE email_verified_at IS NULL);
DELETE FROM email_tokens WHERE user_id IN (SELECT id FROM users WHERE email_verified_at IS NULL);
UPDATE users SET email_verified_at = updated_at, password_hash = NULL WHERE email_verified_at IS NULL;
DROP INDEX users_unproven_idx;
ALTER TABLE users ALTER COLUMN email_verified_at SET NOT NULL;
ALTER TABLE email_tokens DROP COLUMN password_hash;
`

const BATCH = 1000

/** Writes the words that the sweep of earlier versions has not written yet, of a batch of routes after one. */
const wordsAfter = (sql: SqlClient.SqlClient, after: number) =>
  sql<{ readonly last: number | null }>`
    WITH batch AS (
      SELECT * FROM routes r WHERE id > ${after} AND EXISTS (SELECT FROM route_words_due)
        AND NOT EXISTS (SELECT FROM route_words w WHERE w.route_id = r.id)
      ORDER BY id LIMIT ${BATCH} FOR KEY SHARE
    ), added AS (
      INSERT INTO route_words (route_id, words)
      SELECT id, route_lexemes(user_id, name, description, tags, waypoints, place_city, place_region, visibility, deleted_at)
      FROM batch ON CONFLICT (route_id) DO NOTHING
    )
    SELECT max(id)::float8 AS last FROM batch`

/**
 * Migrates from migration 40, the last of commit 31ed898afd, to the schema that later migrations start from. No empty
 * database runs it.
 */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  yield* inBatches(wordsAfter)
  const words = "DROP TABLE route_words_due;"
  // The driver sends one statement at a time.
  yield* Effect.forEach([words, ACCOUNTS, USAGE, CHANGES], (step) => sql.unsafe(`DO $step$ BEGIN ${step} END $step$`))
})
