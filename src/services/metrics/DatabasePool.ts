import { Clock, Config, Context, Effect, Fiber, Layer, Metric } from "effect"
import { SqlClient } from "effect/sql"
import { whole } from "../settings/SettingTypes.ts"

/** Connections that a process opens at most (`DATABASE_POOL_SIZE`). */
export const poolSize = whole(1, 1000, "DATABASE_POOL_SIZE").pipe(Config.withDefault(10))

/** A probe that gets no connection in this time says so by taking that long. */
const PATIENCE = "250 millis"

const size = Metric.gauge("database_pool_size_connections", {
  description: "Connections that the pool opens at most"
})

const wait = Metric.gauge("database_pool_wait_seconds", {
  description: "How long the last probe waited for a connection; it gives up after 0.25 s"
})

/** The pool tells neither who has its connections nor who waits for one, so it is asked for one, as a request would. */
export class DatabasePool extends Context.Service<DatabasePool, {
  readonly probe: Effect.Effect<void>
}>()("route-planning-service/DatabasePool") {
  static readonly layer = Layer.effect(
    DatabasePool,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* Metric.update(size, yield* poolSize)
      return DatabasePool.of({
        probe: Effect.gen(function*() {
          const started = yield* Clock.currentTimeMillis
          // Like a query to a hung server, a connection that is being opened is not to be waited for.
          const connection = yield* Effect.forkDetach(Effect.scoped(sql.reserve))
          yield* Fiber.join(connection).pipe(Effect.timeoutOption(PATIENCE), Effect.ignore)
          connection.interruptUnsafe()
          yield* Metric.update(wait, ((yield* Clock.currentTimeMillis) - started) / 1000)
        })
      })
    })
  )
}
