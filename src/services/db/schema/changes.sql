-- What changed in an account, for `GET /sync`: triggers append to `pending_changes`, and the service numbers what is committed.

-- Cursors of another epoch are void: an operator renews it after a restore that PostgreSQL cannot know of.
CREATE TABLE change_epochs (
  id boolean PRIMARY KEY DEFAULT true CHECK (id),
  epoch uuid NOT NULL DEFAULT gen_random_uuid()
);
INSERT INTO change_epochs DEFAULT VALUES;

-- Changes without a number. Writers only append and wait for nobody: committed rows are numbered later, with the counter of
-- their account locked. A foreign key would let a writer wait for the erasure of another account.
CREATE TABLE pending_changes (
  position bigint GENERATED ALWAYS AS IDENTITY,
  user_id bigint NOT NULL,
  type text NOT NULL, id bigint NOT NULL, version bigint NOT NULL,
  -- Collections that list the resource have changed with it.
  is_listing boolean NOT NULL
);
CREATE INDEX pending_changes_user_idx ON pending_changes (user_id);

-- A cursor before `complete_from` misses deletions that were purged.
CREATE TABLE change_counters (
  user_id bigint PRIMARY KEY REFERENCES users ON DELETE CASCADE,
  last bigint NOT NULL DEFAULT 0, complete_from bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- The newest change of each route, collection and link, and of the account. Only routes and collections have versions.
CREATE TABLE changes (
  user_id bigint NOT NULL REFERENCES change_counters ON DELETE CASCADE,
  type text NOT NULL CHECK (type IN ('route', 'collection', 'link', 'account')),
  id bigint NOT NULL,
  number bigint NOT NULL, version bigint NOT NULL,
  deleted_at timestamptz, numbered_at timestamptz,
  PRIMARY KEY (user_id, type, id)
);
CREATE INDEX changes_order_idx ON changes (user_id, number);
CREATE INDEX changes_purge_idx ON changes (deleted_at) WHERE deleted_at IS NOT NULL;

-- Each start and each promotion of a server with this database, once a client has read changes or changes were numbered in it.
-- A cursor names the run in which it was made, and is void where that run is unknown: another server made it.
CREATE TABLE server_runs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run text NOT NULL UNIQUE
);

-- The last number of an account when its changes were first numbered in a run: higher ones of earlier runs are lost.
CREATE TABLE kept_changes (
  user_id bigint NOT NULL REFERENCES change_counters ON DELETE CASCADE,
  run_id bigint NOT NULL REFERENCES server_runs,
  last bigint NOT NULL,
  PRIMARY KEY (user_id, run_id)
);

-- Names the run of this server, and records it first.
CREATE FUNCTION current_run() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  running text := (SELECT md5(concat_ws(' ', system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8),
    extract(epoch FROM pg_postmaster_start_time()))) FROM pg_control_system());
BEGIN
  IF NOT EXISTS (SELECT FROM server_runs WHERE run = running) THEN
    INSERT INTO server_runs (run) VALUES (running) ON CONFLICT (run) DO NOTHING;
  END IF;
  RETURN running;
END $$;

-- A trigger, so that processes of an older version record it too.
CREATE FUNCTION keep_last_number() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  running text := current_run();
BEGIN
  INSERT INTO kept_changes (user_id, run_id, last)
  SELECT old.user_id, id, old.last FROM server_runs WHERE run = running
  ON CONFLICT (user_id, run_id) DO NOTHING;
  RETURN new;
END $$;
CREATE TRIGGER keep_on_number BEFORE UPDATE OF last ON change_counters
  FOR EACH ROW WHEN (new.last > old.last) EXECUTE FUNCTION keep_last_number();

-- Wakes the processes that wait for changes of these accounts, once the change is committed.
CREATE FUNCTION announce_changes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM pg_notify('account_changes', user_id::text) FROM (SELECT DISTINCT user_id FROM added) accounts;
  RETURN NULL;
END $$;
CREATE TRIGGER announce_on_insert AFTER INSERT ON pending_changes REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION announce_changes();

-- Records a change of the collections of others that list these routes: what they show depends on whether the route is
-- deleted or private. A writer waits for few of them; it returns whether there may be more, which follow when a change of the
-- route that `is_listing` is numbered.
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

-- Records each new row as a change of the type that the trigger names.
CREATE FUNCTION record_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO pending_changes (user_id, type, id, version, is_listing)
  SELECT user_id, TG_ARGV[0], id, version, false FROM added;
  RETURN NULL;
END $$;
CREATE TRIGGER change_on_insert AFTER INSERT ON routes REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION record_insert('route');
CREATE TRIGGER change_on_insert AFTER INSERT ON collections REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION record_insert('collection');

-- Records each row that is purged. The changes of an account that is being erased are erased with it.
CREATE FUNCTION record_delete() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO pending_changes (user_id, type, id, version, is_listing)
  SELECT user_id, TG_ARGV[0], id, version, TG_ARGV[0] = 'route' AND deleted_at IS NULL
  FROM removed WHERE EXISTS (SELECT FROM users u WHERE u.id = removed.user_id);
  RETURN NULL;
END $$;
CREATE TRIGGER change_on_delete AFTER DELETE ON routes REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION record_delete('route');
CREATE TRIGGER change_on_delete AFTER DELETE ON collections REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION record_delete('collection');

-- Records a route whose version, deletion or place is another. Every edit has a new version; nothing else that is derived
-- again, such as words, is a change. Its links are deleted and restored with it.
CREATE FUNCTION record_update_of_routes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO pending_changes (user_id, type, id, version, is_listing)
  SELECT n.user_id, 'route', n.id, n.version, (n.deleted_at IS NULL) <> (o.deleted_at IS NULL)
    OR (n.visibility = 'private') <> (o.visibility = 'private')
  FROM added n JOIN removed o ON o.id = n.id
  WHERE (n.version, n.deleted_at, n.place_city, n.place_region, n.place_country_code)
    IS DISTINCT FROM (o.version, o.deleted_at, o.place_city, o.place_region, o.place_country_code);
  PERFORM relist_for_others(n.user_id, array_agg(n.id)) FROM added n JOIN removed o ON o.id = n.id
  WHERE (n.deleted_at IS NULL) <> (o.deleted_at IS NULL)
    OR (n.visibility = 'private') <> (o.visibility = 'private') GROUP BY n.user_id;
  INSERT INTO pending_changes (user_id, type, id, version, is_listing)
  SELECT n.user_id, 'link', l.id, 0, false
  FROM added n JOIN removed o ON o.id = n.id JOIN share_links l ON l.route_id = n.id
  WHERE (n.deleted_at IS NULL) <> (o.deleted_at IS NULL);
  RETURN NULL;
END $$;
CREATE TRIGGER change_on_update AFTER UPDATE ON routes REFERENCING NEW TABLE AS added OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION record_update_of_routes();

-- Records a collection whose version or deletion is another, and its links as those of routes.
CREATE FUNCTION record_update_of_collections() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO pending_changes (user_id, type, id, version, is_listing)
  SELECT n.user_id, 'collection', n.id, n.version, false FROM added n JOIN removed o ON o.id = n.id
  WHERE (n.version, n.deleted_at) IS DISTINCT FROM (o.version, o.deleted_at);
  INSERT INTO pending_changes (user_id, type, id, version, is_listing)
  SELECT n.user_id, 'link', l.id, 0, false
  FROM added n JOIN removed o ON o.id = n.id JOIN share_links l ON l.collection_id = n.id
  WHERE (n.deleted_at IS NULL) <> (o.deleted_at IS NULL);
  RETURN NULL;
END $$;
CREATE TRIGGER change_on_update AFTER UPDATE ON collections REFERENCING NEW TABLE AS added OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION record_update_of_collections();

-- Records a link. A use is no change. What is purged with its route or collection was recorded when that was deleted.
CREATE FUNCTION record_link() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO pending_changes (user_id, type, id, version, is_listing)
  SELECT user_id, 'link', coalesce(new.id, old.id), 0, false FROM (
    SELECT user_id FROM routes WHERE id = coalesce(new.route_id, old.route_id)
    UNION ALL SELECT user_id FROM collections WHERE id = coalesce(new.collection_id, old.collection_id)
  ) opened;
  RETURN NULL;
END $$;
CREATE TRIGGER change_on_write AFTER INSERT OR DELETE OR UPDATE OF label, allow_download, expires_at ON share_links
  FOR EACH ROW EXECUTE FUNCTION record_link();

-- Records that an account has another name, handle, picture or preferences.
CREATE FUNCTION record_account() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO pending_changes (user_id, type, id, version, is_listing) VALUES (new.id, 'account', new.id, 0, false);
  RETURN NULL;
END $$;
CREATE TRIGGER change_on_update AFTER UPDATE OF name, handle, avatar, preferences ON users FOR EACH ROW
  WHEN ((new.name, new.handle, new.avatar, new.preferences) IS DISTINCT FROM (old.name, old.handle, old.avatar, old.preferences))
  EXECUTE FUNCTION record_account();

-- Records that an account has another privacy zone. The changes of an account that is being erased are erased with it.
CREATE FUNCTION record_zone() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO pending_changes (user_id, type, id, version, is_listing)
  SELECT id, 'account', id, 0, false FROM users WHERE id = coalesce(new.user_id, old.user_id);
  RETURN NULL;
END $$;
CREATE TRIGGER change_on_write AFTER INSERT OR UPDATE OR DELETE ON privacy_zones
  FOR EACH ROW EXECUTE FUNCTION record_zone();

-- Records the collections of others when an account is to be deleted, or no longer: its routes are hidden meanwhile.
CREATE FUNCTION relist_routes_of_user() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF relist_for_others(new.id, (SELECT array_agg(r.id) FROM routes r WHERE r.user_id = new.id)) THEN
    INSERT INTO pending_changes (user_id, type, id, version, is_listing)
    SELECT new.id, 'route', r.id, r.version, true FROM routes r WHERE r.user_id = new.id;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER change_on_deletion AFTER UPDATE OF deletion_requested_at ON users
  FOR EACH ROW WHEN ((new.deletion_requested_at IS NULL) <> (old.deletion_requested_at IS NULL))
  EXECUTE FUNCTION relist_routes_of_user();

-- Erases the changes without a number of an account; no foreign key does.
CREATE FUNCTION forget_changes_of_user() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  DELETE FROM pending_changes WHERE user_id = old.id;
  RETURN NULL;
END $$;
CREATE TRIGGER forget_changes AFTER DELETE ON users FOR EACH ROW EXECUTE FUNCTION forget_changes_of_user();
