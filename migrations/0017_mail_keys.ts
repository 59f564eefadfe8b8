import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // By which the provider recognises a mail that it is given again. Not the id: a database that was restored from a backup
  // counts on from there, and the provider would drop another mail.
  yield* sql`ALTER TABLE outbox ADD COLUMN idempotency_key uuid NOT NULL DEFAULT gen_random_uuid()`
})
