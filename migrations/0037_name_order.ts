import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // A table may hold more than a statement's five seconds index.
  yield* sql`SET LOCAL statement_timeout = 0`
  // The root order of Unicode (CLDR), whatever the locale of the database: letters before case and accents.
  yield* sql`CREATE COLLATION name_order (provider = icu, locale = 'und')`
  yield* sql`
    CREATE INDEX routes_name_idx ON routes (user_id, name COLLATE name_order, id) WHERE deleted_at IS NULL`
})
