import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { builtBesideRequests, outsideTransaction } from "./steps.ts"

/** Nearly each database has the index, since it has no box for which the migration before removes it. */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  // The build waits for each transaction that has read something, as the one of this migration would have.
  const valid = yield* outsideTransaction(sql`
    SELECT FROM pg_index WHERE indexrelid = to_regclass('routes_bounds_idx') AND indisvalid`)
  if (valid.length > 0) return
  yield* builtBesideRequests(
    "routes_bounds_idx",
    "routes USING gist (bounds) INCLUDE (user_id, is_indexable, activity, distance) "
      + "WHERE visibility = 'public' AND deleted_at IS NULL",
    "INDEX"
  )
})
