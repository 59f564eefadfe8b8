import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // A table may hold more than a statement's five seconds index.
  yield* sql`SET LOCAL statement_timeout = 0`
  // The erasure of an account looks for all that refers to it, deleted or not, which no partial index serves.
  yield* sql`CREATE INDEX routes_user_idx ON routes (user_id)`
  yield* sql`CREATE INDEX sessions_user_idx ON sessions (user_id)`
  yield* sql`CREATE INDEX collections_user_idx ON collections (user_id)`
})
