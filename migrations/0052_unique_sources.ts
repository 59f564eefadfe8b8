import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { outsideTransaction } from "./steps.ts"

const INDEX = [
  // A build that was broken off leaves an index that is not valid.
  "DROP INDEX CONCURRENTLY IF EXISTS routes_source_key",
  `CREATE UNIQUE INDEX CONCURRENTLY routes_source_key ON routes (user_id, source_provider, source_external_id)
    WHERE source_provider IS NOT NULL`
]

const CHECKS = ["recorded_at", "source_provider", "source_external_id", "source_url"].map(
  (column) => `VALIDATE CONSTRAINT routes_${column}_check`
)

/** Reads all routes, with no lock that a request waits for. */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  const built = Effect.gen(function*() {
    const connection = yield* sql.reserve
    const run = (statement: string) => connection.executeUnprepared(statement, [], undefined)
    // A large table takes longer than a request may.
    yield* run("SET statement_timeout = 0")
    yield* Effect.forEach(INDEX, run).pipe(Effect.ensuring(Effect.ignore(run("RESET statement_timeout"))))
  })

  yield* outsideTransaction(Effect.scoped(built))
  yield* sql.unsafe(`ALTER TABLE routes ${CHECKS.join(", ")}`)
})
