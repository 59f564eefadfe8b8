-- Routes and the indexes of their lists. Their words, changes and usage are kept by triggers: words.sql, changes.sql, usage.sql.

-- The root order of Unicode (CLDR), whatever the locale of the database: letters before case and accents.
CREATE COLLATION name_order (provider = icu, locale = 'und');

-- Waypoints, cues and lines are JSON text and not jsonb: they come back to the last digit, and go into a response unparsed.
CREATE TABLE routes (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
  description text CHECK (char_length(description) <= 10000),
  activity text CHECK (activity IN ('run', 'cycle', 'walk')),
  visibility text NOT NULL CHECK (visibility IN ('private', 'unlisted', 'public')),
  tags text[] NOT NULL CHECK (cardinality(tags) <= 10),
  favourite boolean NOT NULL,
  waypoints text NOT NULL,
  -- The line in each form that a response may have, so that no read converts.
  geometry text, simplified text, polyline6 text,
  position_count integer NOT NULL DEFAULT 0,
  -- Where the parts of the line begin, and those of the simplified one, if it has gaps.
  segments text, simplified_segments text,
  cues text,
  -- [longitude, latitude], with the east edge past 180 degrees where the line crosses the antimeridian.
  bounds box,
  distance float8 CHECK (distance >= 0 AND distance < 'Infinity') CONSTRAINT routes_distance_max CHECK (distance <= 1e8),
  duration float8 CHECK (duration >= 0 AND duration <= 1e8),
  elevation_gain float8 CHECK (elevation_gain >= 0 AND elevation_gain <= 1e6),
  start_address text CHECK (char_length(start_address) <= 255),
  end_address text CHECK (char_length(end_address) <= 255),
  place_city text, place_region text, place_country_code text,
  -- The rule and the data by which the place was derived.
  place_version smallint NOT NULL DEFAULT 0,
  routing_preferences text,
  -- How much of the line has each surface.
  surfaces text,
  provenance text NOT NULL CHECK (provenance IN ('routing-engine', 'legacy-provider', 'gpx-import', 'generation')),
  share_token text NOT NULL CONSTRAINT routes_share_token_key UNIQUE CHECK (share_token ~ '^[0-9a-f]{32}$'),
  -- The share token of the route that was first exported: an import knows by it what it brought before.
  imported_from text CHECK (imported_from ~ '^[0-9a-f]{32}$'),
  -- The client's own name of a route, and what the call had: a repeated call makes no second one and has the first result.
  client_id uuid, client_digest text,
  -- When a recording began.
  recorded_at timestamptz CHECK (recorded_at >= '1980-01-01T00:00Z' AND recorded_at < '2200-01-01T00:00Z'),
  -- Where the route was before, and its id there.
  source_provider text CHECK (source_provider ~ '^[a-z0-9.-]{1,40}$'),
  source_external_id text CHECK (char_length(source_external_id) BETWEEN 1 AND 255),
  source_url text CHECK (char_length(source_url) <= 2048),
  -- Every edit has a new version.
  version bigint NOT NULL DEFAULT 1,
  published_at timestamptz,
  created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL, deleted_at timestamptz,
  -- The quality gate of the public listing.
  is_indexable boolean GENERATED ALWAYS AS (
    position_count >= 20 AND coalesce(distance, 0) >= 500 AND place_country_code IS NOT NULL AND char_length(name) >= 3
  ) STORED,
  -- A public route without the instant would have no position in the public lists.
  CONSTRAINT routes_published_at CHECK (visibility <> 'public' OR published_at IS NOT NULL)
);
CREATE UNIQUE INDEX routes_import_key ON routes (user_id, imported_from) WHERE imported_from IS NOT NULL;
CREATE UNIQUE INDEX routes_client_key ON routes (user_id, client_id) WHERE client_id IS NOT NULL;
CREATE UNIQUE INDEX routes_source_key ON routes (user_id, source_provider, source_external_id)
  WHERE source_provider IS NOT NULL;
CREATE INDEX routes_user_idx ON routes (user_id);
CREATE INDEX routes_place_version_idx ON routes (place_version, id);

-- The owner's lists. The first serves statistics too, as an index-only scan.
CREATE INDEX routes_owner_idx ON routes (user_id, created_at DESC, id DESC) INCLUDE (distance) WHERE deleted_at IS NULL;
CREATE INDEX routes_name_idx ON routes (user_id, name COLLATE name_order, id) WHERE deleted_at IS NULL;
CREATE INDEX routes_bin_idx ON routes (user_id, deleted_at DESC, id DESC) WHERE deleted_at IS NOT NULL;
CREATE INDEX routes_purge_idx ON routes (deleted_at) WHERE deleted_at IS NOT NULL;

-- The public lists, and their totals: with the included columns no route is looked up in the table to be counted.
CREATE INDEX routes_published_idx ON routes (published_at DESC, id DESC) INCLUDE (user_id)
  WHERE visibility = 'public' AND deleted_at IS NULL;
CREATE INDEX routes_indexable_idx ON routes (updated_at DESC, id DESC) INCLUDE (user_id)
  WHERE visibility = 'public' AND deleted_at IS NULL AND is_indexable;
CREATE INDEX routes_bounds_idx ON routes USING gist (bounds) INCLUDE (user_id, is_indexable, activity, distance)
  WHERE visibility = 'public' AND deleted_at IS NULL;
CREATE INDEX routes_city_idx ON routes (lower(place_city), published_at DESC, id DESC)
  WHERE visibility = 'public' AND deleted_at IS NULL;
CREATE INDEX routes_owner_public_idx ON routes (user_id, published_at DESC, id DESC)
  INCLUDE (is_indexable, activity, distance) WHERE visibility = 'public' AND deleted_at IS NULL;

-- LZ4 takes a quarter of the time of PostgreSQL's default. A server that was built without it compresses as it can.
IF 'lz4' = ANY ((SELECT enumvals FROM pg_settings WHERE name = 'default_toast_compression')::text[]) THEN
  ALTER TABLE routes ALTER waypoints SET COMPRESSION lz4, ALTER cues SET COMPRESSION lz4,
    ALTER geometry SET COMPRESSION lz4, ALTER simplified SET COMPRESSION lz4, ALTER polyline6 SET COMPRESSION lz4;
END IF;

-- A response has these texts as they are: one that is no JSON would break each list with its row. A process of a version
-- without gaps replaces the line and leaves them.
CREATE FUNCTION require_json() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM NEW.waypoints::json, NEW.geometry::json, NEW.simplified::json, NEW.cues::json, NEW.simplified_segments::json;
  IF (NEW.segments::json->>-1)::int >= NEW.position_count THEN
    NEW.segments := NULL;
    NEW.simplified_segments := NULL;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER json_on_write
  BEFORE INSERT OR UPDATE OF waypoints, geometry, simplified, cues, segments, simplified_segments ON routes
  FOR EACH ROW EXECUTE FUNCTION require_json();
