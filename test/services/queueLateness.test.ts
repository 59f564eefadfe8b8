import { assert, it, layer } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { databaseLive } from "../../src/layers/Database.ts"
import { QueueLateness } from "../../src/services/admission/ConnectionQueue.ts"
import { databaseProxy } from "../support/DatabaseProxy.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { configLayer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const databaseAt = (url: string) => Layer.provide(databaseLive, configLayer(url, { DATABASE_POOL_SIZE: "1" }))

const database = Layer.unwrap(Effect.map(clonedDatabase, databaseAt))

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

it.live("a database that hangs does not make its queue late, so that requests that need no primary are taken", () =>
  Effect.gen(function*() {
    const { proxy, url } = yield* databaseProxy(yield* clonedDatabase)
    yield* Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const lateness = yield* QueueLateness
      yield* sql`SELECT 1`
      yield* Effect.promise(() => proxy.set("hang"))
      const statements = yield* Effect.replicateEffect(Effect.forkChild(Effect.exit(sql`SELECT 1`)), 2)
      const seen = { latest: 0 }
      yield* until(Effect.sync(() => {
        seen.latest = Math.max(seen.latest, lateness())
        return statements.every((statement) => statement.pollUnsafe() !== undefined)
      }))
      assert.isAbove(seen.latest, 0)
      assert.isBelow(seen.latest, 0.5)
    }).pipe(Effect.provide(databaseAt(url)))
  }).pipe(Effect.scoped))
