import { Context, Effect } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"

/**
 * Runs a part of a migration outside of its transaction, so that no lock is held between its statements: rows that are
 * written batch by batch, or `CREATE INDEX CONCURRENTLY`. It may have run before, in part or whole, since a migration
 * that waits too long for a lock is tried again.
 */
export const outsideTransaction = <A, E, R>(part: Effect.Effect<A, E, R>) =>
  SqlClient.SqlClient.use((sql) => Effect.updateContext(part, Context.omit(sql.transactionService)))

type BatchAfter = (
  sql: SqlClient.SqlClient,
  after: number
) => Statement.Statement<{ readonly last: number | null }>

/** Changes rows batch by batch, each of which begins after the last id of the one before and may take as long as it needs. */
export const inBatches = (batchAfter: BatchAfter) =>
  SqlClient.SqlClient.use((sql) => {
    const unlimited = sql`SELECT set_config('statement_timeout', '0', true)`
    const change = (after: number): Effect.Effect<void, SqlError.SqlError> =>
      Effect.flatMap(sql.withTransaction(Effect.andThen(unlimited, batchAfter(sql, after))), ([row]) => {
        const last = row?.last ?? null
        return last === null ? Effect.void : change(last)
      })
    return outsideTransaction(change(0))
  })

const LIMITS = ["statement_timeout", "lock_timeout"]

/** Builds an index, a unique one as a rule, while requests read and write its table. */
export const builtBesideRequests = Effect.fnUntraced(
  function*(name: string, definition: string, kind = "UNIQUE INDEX") {
    const sql = yield* SqlClient.SqlClient
    const built = Effect.gen(function*() {
      const connection = yield* sql.reserve
      const run = (statement: string) => connection.executeUnprepared(statement, [], undefined)
      // A large table takes longer than a request may. A limit would end the build while a report is open, and start it again.
      yield* Effect.forEach(LIMITS, (limit) => run(`SET ${limit} = 0`))
      // A build that was broken off leaves an index that is not valid.
      yield* run(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`).pipe(
        Effect.andThen(run(`CREATE ${kind} CONCURRENTLY ${name} ON ${definition}`)),
        Effect.ensuring(Effect.ignore(Effect.forEach(LIMITS, (limit) => run(`RESET ${limit}`))))
      )
    })
    yield* outsideTransaction(Effect.scoped(built))
  }
)
