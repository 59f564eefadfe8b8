-- Collections and the order of the routes in them.

CREATE TABLE collections (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
  description text CHECK (char_length(description) <= 255),
  visibility text NOT NULL CHECK (visibility IN ('private', 'unlisted', 'public')),
  share_token text NOT NULL CONSTRAINT collections_share_token_key UNIQUE CHECK (share_token ~ '^[0-9a-f]{32}$'),
  imported_from text CHECK (imported_from ~ '^[0-9a-f]{32}$'),
  client_id uuid, client_digest text,
  version bigint NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL, deleted_at timestamptz
);
CREATE UNIQUE INDEX collections_import_key ON collections (user_id, imported_from) WHERE imported_from IS NOT NULL;
CREATE UNIQUE INDEX collections_client_key ON collections (user_id, client_id) WHERE client_id IS NOT NULL;
CREATE INDEX collections_user_idx ON collections (user_id);
CREATE INDEX collections_owner_idx ON collections (user_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX collections_trash_idx ON collections (user_id, deleted_at DESC, id DESC) WHERE deleted_at IS NOT NULL;
CREATE INDEX collections_purge_idx ON collections (deleted_at) WHERE deleted_at IS NOT NULL;

-- Positions only order: they may have gaps.
CREATE TABLE collection_routes (
  collection_id bigint NOT NULL REFERENCES collections ON DELETE CASCADE,
  route_id bigint NOT NULL REFERENCES routes ON DELETE CASCADE,
  position integer NOT NULL,
  PRIMARY KEY (collection_id, route_id)
);
CREATE INDEX collection_routes_order_idx ON collection_routes (collection_id, position);
CREATE INDEX collection_routes_route_idx ON collection_routes (route_id);
