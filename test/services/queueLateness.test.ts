import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { databaseLive } from "../../src/layers/Database.ts"
import { QueueLateness } from "../../src/services/admission/ConnectionQueue.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { configLayer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const database = Layer.unwrap(
  Effect.map(clonedDatabase, (url) => Layer.provide(databaseLive, configLayer(url, { DATABASE_POOL_SIZE: "1" })))
)

layer(database, { excludeTestServices: true })("the queue for the database", (it) => {
  it.effect("says how late it is while a statement waits for the only connection", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const lateness = yield* QueueLateness
      assert.strictEqual(lateness(), 0)
      const statement = yield* Effect.scoped(Effect.gen(function*() {
        yield* sql.reserve
        const waiting = yield* Effect.forkChild(sql`SELECT 1`)
        yield* until(Effect.sync(() => lateness() > 0))
        return waiting
      }))
      yield* Fiber.join(statement)
      assert.strictEqual(lateness(), 0)
    }))
})
