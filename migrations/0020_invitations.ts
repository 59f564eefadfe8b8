import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // Where strangers may not sign up, a link makes an account for an address that was invited, and for no other.
  yield* sql`ALTER TABLE sign_ups ADD COLUMN is_invited boolean NOT NULL DEFAULT false`
})
