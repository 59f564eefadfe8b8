-- What an account stores, counted by triggers, and the quotas that refuse more. Exact: a writer holds the counter of its
-- account until it commits. Each trigger counts once a statement, in the order of the accounts, so that two sweeps cannot
-- deadlock.

-- The first response to a request that a client may repeat. Its bytes count as stored.
CREATE TABLE idempotency_keys (
  user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
  endpoint text NOT NULL, key text NOT NULL, request_hash text NOT NULL,
  status integer, body text, headers text,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (user_id, endpoint, key)
);
CREATE INDEX idempotency_keys_age_idx ON idempotency_keys (created_at);

-- One row: the limits of the processes. A table, because behind a pooler no setting of a session reaches the triggers.
-- Without the row nothing is limited. `seen_at` is when a process with these limits was last there, `replaced` the limits
-- that they replaced: those of an older process.
CREATE TABLE usage_limits (
  id boolean PRIMARY KEY DEFAULT true CHECK (id),
  max_routes bigint NOT NULL, max_stored_bytes bigint NOT NULL, max_collections bigint NOT NULL,
  seen_at timestamptz NOT NULL DEFAULT 'epoch', replaced bigint[]
);

-- Two tables, because a writer holds its counter until it commits: one that counts a collection goes on to lock the routes in
-- it, one that changes a route has locked that route before it counts. Routes in the trash count, but for the live ones, whose
-- distance is decimal: what is added and taken away again leaves nothing behind.
CREATE TABLE route_usage (
  user_id bigint PRIMARY KEY REFERENCES users ON DELETE CASCADE,
  routes bigint NOT NULL DEFAULT 0, stored_bytes bigint NOT NULL DEFAULT 0,
  live_routes bigint NOT NULL DEFAULT 0, live_distance numeric NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE TABLE collection_usage (
  user_id bigint PRIMARY KEY REFERENCES users ON DELETE CASCADE,
  collections bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- Gives each new account its counters.
CREATE FUNCTION begin_usage() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO route_usage (user_id) SELECT id FROM added;
  INSERT INTO collection_usage (user_id) SELECT id FROM added;
  RETURN NULL;
END $$;
CREATE TRIGGER usage_on_insert AFTER INSERT ON users REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION begin_usage();

-- Returns the bytes of a route, by the lengths in the headers of its texts, which are not loaded.
CREATE FUNCTION route_bytes(
  waypoints text, geometry text, simplified text, polyline6 text, cues text, description text
) RETURNS integer LANGUAGE sql IMMUTABLE
RETURN octet_length(waypoints) + coalesce(octet_length(geometry), 0) + coalesce(octet_length(simplified), 0)
  + coalesce(octet_length(polyline6), 0) + coalesce(octet_length(cues), 0) + coalesce(octet_length(description), 0);

-- Returns the bytes of a kept response.
CREATE FUNCTION response_bytes(body text, headers text) RETURNS integer LANGUAGE sql IMMUTABLE
RETURN coalesce(octet_length(body), 0) + coalesce(octet_length(headers), 0);

-- Returns the distance of a live route. Decimal, so that what is added and taken away again leaves nothing behind.
CREATE FUNCTION live_metres(distance float8, deleted_at timestamptz) RETURNS numeric LANGUAGE sql IMMUTABLE
RETURN CASE WHEN deleted_at IS NULL AND distance IS NOT NULL THEN greatest(0, least(distance, 1e8))::numeric ELSE 0 END;

-- Fails the statement with the quota, its limit and what was used before.
CREATE FUNCTION refuse_usage(quota text, most bigint, used bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
  RAISE EXCEPTION 'over the quota of an account' USING ERRCODE = 'check_violation', CONSTRAINT = 'usage_limits',
    DETAIL = json_build_object('quota', quota, 'limit', most, 'used', used)::text;
END $$;

-- Adds to the counters of an account, and refuses more than its quotas; less is never refused. An account that is being
-- erased is not counted: its counters go last, when all the rows that they count are locked.
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
END $$;
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

-- Count routes, the texts that they store, and the distance of the live ones.
CREATE FUNCTION count_routes_on_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM add_route_usage(user_id, count(*), sum(route_bytes(waypoints, geometry, simplified, polyline6, cues, description)),
    count(*) FILTER (WHERE deleted_at IS NULL), sum(live_metres(distance, deleted_at)))
  FROM added GROUP BY user_id ORDER BY user_id;
  RETURN NULL;
END $$;
CREATE FUNCTION count_routes_on_update() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
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
CREATE FUNCTION count_routes_on_delete() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM add_route_usage(user_id, -count(*), -sum(route_bytes(waypoints, geometry, simplified, polyline6, cues, description)),
    -count(*) FILTER (WHERE deleted_at IS NULL), -sum(live_metres(distance, deleted_at)))
  FROM removed GROUP BY user_id ORDER BY user_id;
  RETURN NULL;
END $$;

-- Count the bytes of kept responses, of which a request in progress has none.
CREATE FUNCTION count_idempotency_keys_on_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM add_route_usage(user_id, 0, sum(response_bytes(body, headers)))
  FROM added GROUP BY user_id HAVING sum(response_bytes(body, headers)) <> 0 ORDER BY user_id;
  RETURN NULL;
END $$;
CREATE FUNCTION count_idempotency_keys_on_update() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM add_route_usage(user_id, 0, sum(bytes)) FROM (
    SELECT user_id, response_bytes(body, headers) AS bytes FROM added
    UNION ALL SELECT user_id, -response_bytes(body, headers) FROM removed
  ) changed GROUP BY user_id HAVING sum(bytes) <> 0 ORDER BY user_id;
  RETURN NULL;
END $$;
CREATE FUNCTION count_idempotency_keys_on_delete() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM add_route_usage(user_id, 0, -sum(response_bytes(body, headers)))
  FROM removed GROUP BY user_id HAVING sum(response_bytes(body, headers)) <> 0 ORDER BY user_id;
  RETURN NULL;
END $$;

-- Count collections; deleted ones do not count.
CREATE FUNCTION count_collections_on_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM add_collection_usage(user_id, count(*))
  FROM added WHERE deleted_at IS NULL GROUP BY user_id ORDER BY user_id;
  RETURN NULL;
END $$;
CREATE FUNCTION count_collections_on_update() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM add_collection_usage(user_id, sum(amount)) FROM (
    SELECT user_id, 1 AS amount FROM added WHERE deleted_at IS NULL
    UNION ALL SELECT user_id, -1 FROM removed WHERE deleted_at IS NULL
  ) changed GROUP BY user_id HAVING sum(amount) <> 0 ORDER BY user_id;
  RETURN NULL;
END $$;
CREATE FUNCTION count_collections_on_delete() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM add_collection_usage(user_id, -count(*))
  FROM removed WHERE deleted_at IS NULL GROUP BY user_id ORDER BY user_id;
  RETURN NULL;
END $$;

CREATE TRIGGER usage_on_insert AFTER INSERT ON routes REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_routes_on_insert();
CREATE TRIGGER usage_on_update AFTER UPDATE ON routes REFERENCING NEW TABLE AS added OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_routes_on_update();
CREATE TRIGGER usage_on_delete AFTER DELETE ON routes REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_routes_on_delete();
CREATE TRIGGER usage_on_insert AFTER INSERT ON idempotency_keys REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_idempotency_keys_on_insert();
CREATE TRIGGER usage_on_update AFTER UPDATE ON idempotency_keys REFERENCING NEW TABLE AS added OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_idempotency_keys_on_update();
CREATE TRIGGER usage_on_delete AFTER DELETE ON idempotency_keys REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_idempotency_keys_on_delete();
CREATE TRIGGER usage_on_insert AFTER INSERT ON collections REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_collections_on_insert();
CREATE TRIGGER usage_on_update AFTER UPDATE ON collections REFERENCING NEW TABLE AS added OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_collections_on_update();
CREATE TRIGGER usage_on_delete AFTER DELETE ON collections REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_collections_on_delete();
