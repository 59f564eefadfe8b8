import { Deferred, Effect, Fiber } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { until } from "./Waiting.ts"

/** Runs work while another transaction has the locks of `lock`. */
export const whileLocked = <A, E, R>(
  lock: (sql: SqlClient.SqlClient) => Effect.Effect<unknown, SqlError.SqlError>,
  work: Effect.Effect<A, E, R>
) =>
  SqlClient.SqlClient.use((sql) =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const done = yield* Deferred.make<void>()
      const holder = yield* Effect.forkChild(sql.withTransaction(Effect.gen(function*() {
        yield* lock(sql)
        yield* Deferred.succeed(begun, undefined)
        yield* Deferred.await(done)
      })))
      yield* Deferred.await(begun)
      const result = yield* work
      yield* Deferred.succeed(done, undefined)
      yield* Fiber.join(holder)
      return result
    })
  )

/** Ends when this many statements wait for a lock. A transaction would see only the connections of its first look. */
export const untilLocked = (statements: number) =>
  SqlClient.SqlClient.use((sql) =>
    until(Effect.map(
      sql`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
      (waiting) => waiting.length === statements
    ))
  )
