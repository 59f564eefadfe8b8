import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { databaseLive } from "../../src/layers/Database.ts"
import type { UserId } from "../../src/schema/Ids.ts"
import { HeavyWork } from "../../src/services/admission/HeavyWork.ts"
import { RouteViews, routeViewSweepLayer } from "../../src/services/routes/RouteViews.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { configLayer, nowhere } from "../support/TestServer.ts"
import { untilFound, untilSwept } from "../support/Waiting.ts"

/** Each is one more than a batch has. */
const OWNERS = 101
const ROUTES_OF_ONE = 101

const onOwnDatabase = Layer.unwrap(
  Effect.map(clonedDatabase, (url) => Layer.provide(databaseLive, configLayer(url, {})))
)

const viewsLayer = RouteViews.layer.pipe(Layer.provide([HeavyWork.layer, nowhere]))

const sweepLayer = Layer.provide(routeViewSweepLayer, viewsLayer)

layer(onOwnDatabase)("views", (it) => {
  it.effect("are made once the transaction that needs them has ended, however long it takes", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const views = yield* RouteViews
      yield* sql`
        INSERT INTO users (email, email_key, email_verified_at, name, handle, created_at, updated_at)
        VALUES ('one@example.com', 'one@example.com', 'epoch', 'x', 'one', 'epoch', 'epoch')`
      const [owner] = yield* sql<{ id: UserId }>`SELECT id FROM users WHERE handle = 'one'`
      assert(owner !== undefined)
      yield* sql`
        INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, provenance, share_token, published_at,
          created_at, updated_at)
        VALUES (${owner.id}, 'x', 'public', '{}', false, '[]', 'generation', md5('one'), 'epoch', 'epoch', 'epoch')`
      yield* sql.withTransaction(Effect.gen(function*() {
        yield* sql`UPDATE users SET zones_revision = 1 WHERE id = ${owner.id}`
        yield* views.refresh(owner.id)
        yield* TestClock.adjust("2 seconds")
        yield* TestClock.withLive(Effect.sleep("100 millis"))
      }))
      yield* untilSwept(Effect.map(sql`SELECT FROM route_views`, ({ length }) => length === 1))
    }).pipe(Effect.provide(viewsLayer)))
})

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
