import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const STEP = `
ALTER TABLE routes ADD COLUMN client_digest text;
ALTER TABLE collections ADD COLUMN client_digest text;
ALTER TABLE share_links ADD COLUMN client_id uuid, ADD COLUMN client_digest text;
ALTER TABLE changes ADD COLUMN numbered_at timestamptz;
ALTER TABLE changes DROP CONSTRAINT changes_type_check;
ALTER TABLE changes ADD CONSTRAINT changes_type_check
  CHECK (type IN ('route', 'collection', 'link', 'account')) NOT VALID;
CREATE OR REPLACE FUNCTION record_update_of_routes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
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
CREATE OR REPLACE FUNCTION record_update_of_collections() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO pending_changes (user_id, type, id, version, is_listing)
  SELECT n.user_id, 'collection', n.id, n.version, false FROM added n JOIN removed o ON o.id = n.id
  WHERE (n.version, n.deleted_at) IS DISTINCT FROM (o.version, o.deleted_at);
  INSERT INTO pending_changes (user_id, type, id, version, is_listing)
  SELECT n.user_id, 'link', l.id, 0, false
  FROM added n JOIN removed o ON o.id = n.id JOIN share_links l ON l.collection_id = n.id
  WHERE (n.deleted_at IS NULL) <> (o.deleted_at IS NULL);
  RETURN NULL;
END $$;
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
CREATE FUNCTION record_account() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO pending_changes (user_id, type, id, version, is_listing) VALUES (new.id, 'account', new.id, 0, false);
  RETURN NULL;
END $$;
CREATE TRIGGER change_on_update AFTER UPDATE OF name, handle, avatar, preferences ON users FOR EACH ROW
  WHEN ((new.name, new.handle, new.avatar, new.preferences) IS DISTINCT FROM (old.name, old.handle, old.avatar, old.preferences))
  EXECUTE FUNCTION record_account();
CREATE FUNCTION record_zone() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO pending_changes (user_id, type, id, version, is_listing)
  SELECT id, 'account', id, 0, false FROM users WHERE id = coalesce(new.user_id, old.user_id);
  RETURN NULL;
END $$;
CREATE TRIGGER change_on_write AFTER INSERT OR UPDATE OR DELETE ON privacy_zones
  FOR EACH ROW EXECUTE FUNCTION record_zone();
`

/** A process of the version before passes these changes over, and numbers what it finds of them. */
export default SqlClient.SqlClient.use((sql) =>
  // The driver sends one statement at a time.
  Effect.asVoid(sql.unsafe(`DO $step$ BEGIN ${STEP} END $step$`))
)
