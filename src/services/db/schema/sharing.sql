-- Links to routes and collections, and what others see of routes near a privacy zone.

CREATE TABLE share_links (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  route_id bigint REFERENCES routes ON DELETE CASCADE,
  collection_id bigint REFERENCES collections ON DELETE CASCADE,
  token text NOT NULL CONSTRAINT share_links_token_key UNIQUE CHECK (token ~ '^[0-9a-f]{32}$'),
  label text CHECK (char_length(label) BETWEEN 1 AND 100),
  allow_download boolean NOT NULL,
  expires_at timestamptz,
  uses bigint NOT NULL DEFAULT 0, last_used_at timestamptz,
  created_at timestamptz NOT NULL,
  -- As those of routes.
  client_id uuid, client_digest text,
  CHECK (num_nonnulls(route_id, collection_id) = 1)
);
CREATE INDEX share_links_route_idx ON share_links (route_id) WHERE route_id IS NOT NULL;
CREATE INDEX share_links_collection_idx ON share_links (collection_id) WHERE collection_id IS NOT NULL;
CREATE INDEX share_links_expiry_idx ON share_links (expires_at) WHERE expires_at IS NOT NULL;

-- `users.zones_revision` is from here, so that no revision comes twice: what was cut for one is not shown for another.
CREATE SEQUENCE zones_revisions;

-- Degrees and metres. The circle that is cut is kept, since a new one for the same home could be averaged with it.
CREATE TABLE privacy_zones (
  user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
  position smallint NOT NULL,
  lng float8 NOT NULL, lat float8 NOT NULL, radius float8 NOT NULL,
  label text,
  cut_lng float8 NOT NULL, cut_lat float8 NOT NULL, cut_radius float8 NOT NULL,
  PRIMARY KEY (user_id, position)
);

-- What others see of a route whose owner has zones. A row of another version of the route, of the zones, of the places or
-- of the cut is not shown.
CREATE TABLE route_views (
  route_id bigint PRIMARY KEY REFERENCES routes ON DELETE CASCADE,
  route_version bigint NOT NULL, zones_revision bigint NOT NULL,
  place_version smallint NOT NULL, cut_version smallint NOT NULL DEFAULT 0,
  is_whole boolean NOT NULL,
  geometry text, simplified text, polyline6 text,
  position_count integer NOT NULL DEFAULT 0,
  segments text, simplified_segments text,
  bounds box,
  waypoints text, cues text,
  distance float8, duration float8, elevation_gain float8,
  start_address text, end_address text, place_city text,
  words tsvector,
  -- The gate of `routes`, by what others see.
  is_indexable boolean GENERATED ALWAYS AS (position_count >= 20 AND coalesce(distance, 0) >= 500) STORED,
  place_region text, place_country_code text
);
CREATE TRIGGER json_on_write
  BEFORE INSERT OR UPDATE OF waypoints, geometry, simplified, cues, segments, simplified_segments ON route_views
  FOR EACH ROW EXECUTE FUNCTION require_json();
IF 'lz4' = ANY ((SELECT enumvals FROM pg_settings WHERE name = 'default_toast_compression')::text[]) THEN
  ALTER TABLE route_views ALTER waypoints SET COMPRESSION lz4, ALTER cues SET COMPRESSION lz4,
    ALTER geometry SET COMPRESSION lz4, ALTER simplified SET COMPRESSION lz4, ALTER polyline6 SET COMPRESSION lz4;
END IF;
