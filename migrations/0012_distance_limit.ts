import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // A table may hold more than is read in a statement's five seconds.
  yield* sql`SET LOCAL statement_timeout = 0`
  // Most of the time goes into this search, during which routes are read and written as before.
  const clamp = sql`
    UPDATE routes SET distance = 1e8, version = version + 1 WHERE distance > 1e8`
  yield* clamp
  // From here on nothing longer comes in; what did meanwhile is cut too, and the validation finds no other.
  yield* sql`ALTER TABLE routes ADD CONSTRAINT routes_distance_max CHECK (distance <= 1e8) NOT VALID`
  yield* clamp
  yield* sql`ALTER TABLE routes VALIDATE CONSTRAINT routes_distance_max`
})
