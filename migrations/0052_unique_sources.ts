import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { builtBesideRequests } from "./steps.ts"

const CHECKS = ["recorded_at", "source_provider", "source_external_id", "source_url"].map(
  (column) => `VALIDATE CONSTRAINT routes_${column}_check`
)

/** Reads all routes, with no lock that a request waits for. */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* builtBesideRequests(
    "routes_source_key",
    "routes (user_id, source_provider, source_external_id) WHERE source_provider IS NOT NULL"
  )
  yield* sql.unsafe(`ALTER TABLE routes ${CHECKS.join(", ")}`)
})
