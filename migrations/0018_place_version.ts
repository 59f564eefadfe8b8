import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // By which rule and data the place of a route was derived. Rows of before, and those that processes of an earlier
  // version still write, are 0 and derived again beside the requests.
  yield* sql`ALTER TABLE routes ADD COLUMN place_version smallint NOT NULL DEFAULT 0`
  // Building it reads every row.
  yield* sql`SET LOCAL statement_timeout = 0`
  yield* sql`CREATE INDEX routes_place_version_idx ON routes (place_version, id)`
})
