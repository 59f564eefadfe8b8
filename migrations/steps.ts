import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Runs a part of a migration outside of its transaction, so that no lock is held between its statements: rows that are
 * written batch by batch, or `CREATE INDEX CONCURRENTLY`. It may have run before, in part or whole, since a migration
 * that waits too long for a lock is tried again.
 */
export const outsideTransaction = <A, E, R>(part: Effect.Effect<A, E, R>) =>
  SqlClient.SqlClient.use((sql) => Effect.updateContext(part, Context.omit(sql.transactionService)))

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
