import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // So that the response to a revoked token says why. A table of its own: processes of the version before must not find the
  // token any more.
  yield* sql`
    CREATE TABLE revoked_tokens (
      token_hash text PRIMARY KEY,
      user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
      revoked_at timestamptz NOT NULL
    )`
  yield* sql`CREATE INDEX revoked_tokens_user_idx ON revoked_tokens (user_id)`
  yield* sql`CREATE INDEX revoked_tokens_revoked_idx ON revoked_tokens (revoked_at)`

  yield* sql`ALTER TABLE personal_access_tokens ADD COLUMN expiry_mailed_at timestamptz`
})
