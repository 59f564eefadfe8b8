import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // What waits to be mailed to somebody goes with them.
  yield* sql`ALTER TABLE outbox ADD COLUMN user_id bigint REFERENCES users ON DELETE CASCADE`
  yield* sql`CREATE INDEX outbox_user_idx ON outbox (user_id)`

  // What the sweeps look for.
  yield* sql`CREATE INDEX users_deletion_idx ON users (deletion_requested_at) WHERE deletion_requested_at IS NOT NULL`
  yield* sql`CREATE INDEX sessions_expiry_idx ON sessions (expires_at)`
  yield* sql`CREATE INDEX email_tokens_expiry_idx ON email_tokens (expires_at)`
  yield* sql`
    CREATE INDEX personal_access_tokens_expiry_idx ON personal_access_tokens (expires_at)
    WHERE expires_at IS NOT NULL`
  yield* sql`CREATE INDEX collections_purge_idx ON collections (deleted_at) WHERE deleted_at IS NOT NULL`
})
