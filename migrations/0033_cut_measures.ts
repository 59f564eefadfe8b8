import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // Owners with zones may be many.
  yield* sql`SET LOCAL statement_timeout = 0`

  // The measures of the line that others see. Views of before, and new ones of processes of an earlier
  // version, are of the version 0: they are not shown, and made again. One that such a process replaces keeps
  // its version. The gate is that of `routes`.
  yield* sql`
    ALTER TABLE route_views
      ADD COLUMN cut_version smallint NOT NULL DEFAULT 0,
      ADD COLUMN position_count integer NOT NULL DEFAULT 0,
      ADD COLUMN distance float8,
      ADD COLUMN duration float8,
      ADD COLUMN elevation_gain float8,
      ADD COLUMN is_indexable boolean GENERATED ALWAYS AS (
        position_count >= 20 AND coalesce(distance, 0) >= 500
      ) STORED`

  // The entity tags of others name the revision, and what they name has another distance now.
  yield* sql`UPDATE users SET zones_revision = nextval('zones_revisions') WHERE zones_revision IS NOT NULL`
})
