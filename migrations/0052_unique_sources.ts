import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { outsideTransaction } from "./steps.ts"

const INDEX = [
  // A build that was broken off leaves an index that is not valid.
  "DROP INDEX CONCURRENTLY IF EXISTS routes_source_key",
  `CREATE UNIQUE INDEX CONCURRENTLY routes_source_key ON routes (user_id, source_provider, source_external_id)
    WHERE source_provider IS NOT NULL`
]

const LIMITS = ["statement_timeout", "lock_timeout"]

const CHECKS = ["recorded_at", "source_provider", "source_external_id", "source_url"].map(
  (column) => `VALIDATE CONSTRAINT routes_${column}_check`
)

/** Reads all routes, with no lock that a request waits for. */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  const built = Effect.gen(function*() {
    const connection = yield* sql.reserve
    const run = (statement: string) => connection.executeUnprepared(statement, [], undefined)
    // A large table takes longer than a request may. What it waits for, such as a report, would begin it anew with a limit.
    yield* Effect.forEach(LIMITS, (limit) => run(`SET ${limit} = 0`))
    yield* Effect.forEach(INDEX, run).pipe(
      Effect.ensuring(Effect.ignore(Effect.forEach(LIMITS, (limit) => run(`RESET ${limit}`))))
    )
  })

  yield* outsideTransaction(Effect.scoped(built))
  yield* sql.unsafe(`ALTER TABLE routes ${CHECKS.join(", ")}`)
})
