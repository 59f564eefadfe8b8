import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // When a process with these limits was last there, and which limits they replaced: those of an older process.
  yield* sql`
    ALTER TABLE usage_limits
      ADD COLUMN seen_at timestamptz NOT NULL DEFAULT 'epoch',
      ADD COLUMN replaced bigint[]`
})
