import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { databaseLayer } from "../src/layers/Database.ts"
import { emptyDatabase } from "./support/Databases.ts"

const tables = SqlClient.SqlClient.use((sql) =>
  sql<{ name: string }>`SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'`
)

it.live(
  "several processes that start at once migrate a new database once, and all of them start",
  () =>
    Effect.gen(function*() {
      const url = yield* emptyDatabase
      const started = Layer.fresh(databaseLayer).pipe(
        Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ DATABASE_URL: url, DATABASE_POOL_SIZE: "2" })))
      )
      const counts = yield* Effect.all(
        Array.from({ length: 6 }, () => Effect.map(tables.pipe(Effect.provide(started)), (rows) => rows.length)),
        { concurrency: "unbounded" }
      )
      assert.isAbove(counts[0] ?? 0, 3)
      assert.deepStrictEqual(new Set(counts).size, 1)
    }).pipe(Effect.scoped),
  30_000
)
