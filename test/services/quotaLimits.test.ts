import { assert, layer } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { databaseLive } from "../../src/layers/Database.ts"
import { Quotas } from "../../src/services/admission/Quotas.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { configLayer } from "../support/TestServer.ts"

const onOwnDatabase = Layer.unwrap(
  Effect.map(clonedDatabase, (url) => Layer.provide(databaseLive, configLayer(url, {})))
)

const Limits = Schema.Tuple([Schema.Struct({ routes: Schema.Int })])

layer(onOwnDatabase)("the quotas of processes with different settings", (it) => {
  /** Starts a process that stays until the test ends. */
  const started = (routes: number) =>
    Layer.build(
      Quotas.layer.pipe(
        Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ MAX_ROUTES_PER_USER: String(routes) }))),
        Layer.fresh
      )
    )

  const limit = SqlClient.SqlClient.use((sql) => sql`SELECT max_routes::float8 AS routes FROM usage_limits`).pipe(
    Effect.flatMap(Schema.decodeUnknownEffect(Limits)),
    Effect.map(([{ routes }]) => routes)
  )

  it.effect("are those of the newer ones, also when one of the older ones starts again, until the newer ones are gone", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* started(10)
      assert.strictEqual(yield* limit, 10)
      yield* started(20)
      assert.strictEqual(yield* limit, 20)
      yield* started(10)
      assert.strictEqual(yield* limit, 20)
      yield* started(20)
      yield* started(10)
      assert.strictEqual(yield* limit, 20)
      yield* sql`UPDATE usage_limits SET seen_at = seen_at - interval '181 seconds'`
      yield* started(10)
      assert.strictEqual(yield* limit, 10)
      yield* started(30)
      assert.strictEqual(yield* limit, 30)
    }))
})
