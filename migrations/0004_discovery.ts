import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // What is derived from a route's line at write, so that no read parses it. The box is [longitude, latitude] with its east
  // edge past 180 degrees where the line crosses the antimeridian.
  yield* sql`
    ALTER TABLE routes
      ADD COLUMN simplified text,
      ADD COLUMN polyline6 text,
      ADD COLUMN bounds box,
      ADD COLUMN position_count integer NOT NULL DEFAULT 0,
      ADD COLUMN version bigint NOT NULL DEFAULT 1,
      ADD COLUMN is_indexable boolean GENERATED ALWAYS AS (
        position_count >= 20 AND coalesce(distance, 0) >= 500 AND place_country_code IS NOT NULL
          AND char_length(name) >= 3
      ) STORED`

  // The public listing by each of its gates, by what lies in a box, and by city.
  yield* sql`
    CREATE INDEX routes_published_idx ON routes (published_at DESC, id DESC)
    WHERE visibility = 'public' AND deleted_at IS NULL`
  yield* sql`
    CREATE INDEX routes_indexable_idx ON routes (updated_at DESC, id DESC)
    WHERE visibility = 'public' AND deleted_at IS NULL AND is_indexable`
  yield* sql`
    CREATE INDEX routes_bounds_idx ON routes USING gist (bounds) WHERE visibility = 'public' AND deleted_at IS NULL`
  yield* sql`
    CREATE INDEX routes_city_idx ON routes (lower(place_city), published_at DESC, id DESC)
    WHERE visibility = 'public' AND deleted_at IS NULL`
  yield* sql`
    CREATE INDEX routes_owner_public_idx ON routes (user_id, published_at DESC, id DESC)
    WHERE visibility = 'public' AND deleted_at IS NULL`

  // An owner's bin, and what the purge looks for.
  yield* sql`CREATE INDEX routes_bin_idx ON routes (user_id, deleted_at DESC, id DESC) WHERE deleted_at IS NOT NULL`
  yield* sql`CREATE INDEX routes_purge_idx ON routes (deleted_at) WHERE deleted_at IS NOT NULL`
})
