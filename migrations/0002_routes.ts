import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // waypoints and geometry are JSON text, not jsonb: they come back to the last digit, and go into an answer unparsed.
  yield* sql`
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
      geometry text,
      distance float8 CHECK (distance >= 0 AND distance < 'Infinity'),
      duration float8 CHECK (duration >= 0 AND duration <= 1e8),
      elevation_gain float8 CHECK (elevation_gain >= 0 AND elevation_gain <= 1e6),
      start_address text CHECK (char_length(start_address) <= 255),
      end_address text CHECK (char_length(end_address) <= 255),
      place_city text,
      place_region text,
      place_country_code text,
      routing_preferences text,
      provenance text NOT NULL
        CHECK (provenance IN ('routing-engine', 'legacy-provider', 'gpx-import', 'generation')),
      share_token text NOT NULL CONSTRAINT routes_share_token_key UNIQUE CHECK (share_token ~ '^[0-9a-f]{32}$'),
      published_at timestamptz,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      deleted_at timestamptz
    )`

  // Serves the owner's list newest first and, as an index-only scan, the owner's statistics.
  yield* sql`
    CREATE INDEX routes_owner_idx ON routes (user_id, created_at DESC, id DESC) INCLUDE (distance)
    WHERE deleted_at IS NULL`
})
