import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** An ID token may be used again until it expires: which were used is no longer kept. */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`DROP TABLE used_id_tokens`
})
