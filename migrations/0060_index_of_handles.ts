import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { builtBesideRequests } from "./steps.ts"

/** An index takes the place of a constraint of the same name, which made a new handle wait for other calls of the account. */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* builtBesideRequests("users_handle_idx", "users (handle) WHERE handle IS NOT NULL")
  yield* sql`ALTER TABLE users DROP CONSTRAINT IF EXISTS users_handle_key`
  yield* sql`ALTER INDEX users_handle_idx RENAME TO users_handle_key`
})
