import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // A table may hold more than is read in a statement's five seconds.
  yield* sql`SET LOCAL statement_timeout = 0`
  // A public route without the instant has no position in the public lists. What it shows does not change.
  yield* sql`
    ALTER TABLE routes ADD CONSTRAINT routes_published_at CHECK (visibility <> 'public' OR published_at IS NOT NULL)
    NOT VALID`
  yield* sql`UPDATE routes SET published_at = updated_at WHERE visibility = 'public' AND published_at IS NULL`
  yield* sql`ALTER TABLE routes VALIDATE CONSTRAINT routes_published_at`
})
