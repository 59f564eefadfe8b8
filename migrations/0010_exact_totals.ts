import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // A table may hold more than a statement's five seconds index.
  yield* sql`SET LOCAL statement_timeout = 0`

  // The public listing counts what it lists, and may be asked for its last page. Of all public routes both read an index
  // alone: with these columns none of them is looked up in the table.
  yield* sql`DROP INDEX routes_owner_public_idx`
  yield* sql`
    CREATE INDEX routes_owner_public_idx ON routes (user_id, published_at DESC, id DESC)
    INCLUDE (is_indexable, activity, distance) WHERE visibility = 'public' AND deleted_at IS NULL`
  yield* sql`DROP INDEX routes_bounds_idx`
  yield* sql`
    CREATE INDEX routes_bounds_idx ON routes USING gist (bounds)
    INCLUDE (user_id, is_indexable, activity, distance) WHERE visibility = 'public' AND deleted_at IS NULL`
  yield* sql`DROP INDEX routes_published_idx`
  yield* sql`
    CREATE INDEX routes_published_idx ON routes (published_at DESC, id DESC) INCLUDE (user_id)
    WHERE visibility = 'public' AND deleted_at IS NULL`
  yield* sql`DROP INDEX routes_indexable_idx`
  yield* sql`
    CREATE INDEX routes_indexable_idx ON routes (updated_at DESC, id DESC) INCLUDE (user_id)
    WHERE visibility = 'public' AND deleted_at IS NULL AND is_indexable`
})
