import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { databaseLive } from "../../src/layers/Database.ts"
import { HeavyWork } from "../../src/services/admission/HeavyWork.ts"
import { RouteViews, routeViewSweepLayer } from "../../src/services/routes/RouteViews.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { configLayer, nowhere } from "../support/TestServer.ts"
import { untilFound } from "../support/Waiting.ts"

/** Each is one more than a batch has. */
const OWNERS = 101
const ROUTES_OF_ONE = 101

const onOwnDatabase = Layer.unwrap(
  Effect.map(clonedDatabase, (url) => Layer.provide(databaseLive, configLayer(url, {})))
)

const sweepLayer = routeViewSweepLayer.pipe(
  Layer.provide(RouteViews.layer),
  Layer.provide([HeavyWork.layer, nowhere])
)

layer(onOwnDatabase)("the sweep of views", (it) => {
  it.effect("makes those of every owner and every route, beyond the first batch of each", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        WITH made AS (
          INSERT INTO users (email, email_key, email_verified_at, name, handle, zones_revision, created_at, updated_at)
          SELECT address, address, 'epoch', 'x', 'rider-' || n, 1, 'epoch', 'epoch'
          FROM generate_series(1, ${OWNERS}) n, LATERAL (SELECT n || '@example.com' AS address) a
          ORDER BY n RETURNING id
        )
        INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, provenance, share_token, published_at,
          created_at, updated_at)
        SELECT id, 'x', 'public', '{}', false, '[]', 'generation', md5(id || '-' || n), 'epoch', 'epoch', 'epoch'
        FROM made, LATERAL generate_series(1, CASE id WHEN (SELECT min(id) FROM made) THEN ${ROUTES_OF_ONE} ELSE 1 END) n`
      yield* Layer.build(sweepLayer)
      const made = sql`SELECT FROM route_views`
      const views = yield* untilFound(made, ({ length }) => length >= OWNERS - 1 + ROUTES_OF_ONE)
      assert.lengthOf(views, OWNERS - 1 + ROUTES_OF_ONE)
    }))
})
