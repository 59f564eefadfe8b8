import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Ref } from "effect"
import { SqlClient } from "effect/sql"
import { databaseLive } from "../../src/layers/Database.ts"
import { Places } from "../../src/services/geometry/Places.ts"
import { PlaceSweep } from "../../src/services/routes/PlaceSweep.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { configLayer } from "../support/TestServer.ts"

class Asked extends Context.Service<Asked, Ref.Ref<number>>()("test/placeSweep/Asked") {}

/** Every place is named after its longitude, and how often it was asked for is counted. */
const byLongitude = Layer.effect(
  Places,
  Effect.map(Asked, (asked) =>
    Places.of({
      at: ([lng]) => Effect.as(Ref.update(asked, (count) => count + 1), { placeCity: `at ${lng}` }),
      hasCities: Effect.succeed(true)
    }))
)

/** Gives the sweep a pool of its own, as another process would have it. */
const sweeperOn = (url: string, places: Layer.Layer<Places, never, Asked> = byLongitude) =>
  Layer.fresh(PlaceSweep.layer.pipe(Layer.provide(places), Layer.provideMerge(databaseLive))).pipe(
    Layer.provide(configLayer(url, {}))
  )

class Url extends Context.Service<Url, string>()("test/placeSweep/Url") {}

const onDatabase = Layer.unwrap(
  Effect.map(clonedDatabase, (url) => Layer.merge(sweeperOn(url), Layer.succeed(Url, url)))
).pipe(
  Layer.provideMerge(Layer.effect(Asked, Ref.make(0)))
)

/** Inserts so many routes of one rider, of an earlier version, which start at their number. */
const routes = Effect.fnUntraced(function*(count: number, columns: { geometry?: string; waypoints?: string } = {}) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`DELETE FROM users`
  yield* sql`
    WITH rider AS (
      INSERT INTO users (email, email_key, email_verified_at, name, handle, created_at, updated_at)
      VALUES ('r@example.com', 'r@example.com', now(), 'rider', 'rider', now(), now()) RETURNING id
    )
    INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, geometry, provenance, share_token,
      place_city, place_region, published_at, created_at, updated_at, version)
    SELECT rider.id, 'x', 'public', '{}', false, ${columns.waypoints ?? `[{"coord":[1,1]}]`},
      coalesce(${columns.geometry ?? null}, '[[' || n || '.5,47.1,400],[' || n || '.6,47.2,410]]'),
      'generation', md5('r' || n), 'Kreuzberg', 'Berlin', '2020-01-01', '2020-01-01', '2020-01-01', 7
    FROM rider, generate_series(1, ${count}) n`
})

const stored = SqlClient.SqlClient.use((sql) =>
  sql<{ city: string | null; region: string | null; place_version: number; version: number; is_old: boolean }>`
    SELECT place_city AS city, place_region AS region, place_version, version, updated_at = '2020-01-01' AS is_old
    FROM routes ORDER BY id`
)

const asked = Effect.flatMap(Asked, Ref.get)

const derive = PlaceSweep.use(({ deriveDue }) => deriveDue)

layer(onDatabase, { excludeTestServices: true })("places derived again", (it) => {
  it.effect("a route gets the place that its line starts in, which is no edit", () =>
    Effect.gen(function*() {
      yield* routes(2)
      assert.isTrue(yield* PlaceSweep.use(({ isDue }) => isDue))
      assert.strictEqual((yield* derive).rows, 2)
      const [first, second] = yield* stored
      assert.deepInclude(first, { city: "at 1.5", region: null, is_old: true })
      assert.strictEqual(Number(first?.version), 7)
      assert.strictEqual(second?.city, "at 2.5")
      assert.isFalse(yield* PlaceSweep.use(({ isDue }) => isDue))
      assert.strictEqual((yield* derive).rows, 0)
    }))

  it.effect("a route without a line has the place of its first waypoint", () =>
    Effect.gen(function*() {
      yield* routes(1, { geometry: "[]", waypoints: `[{"coord":[8.25,47]},{"coord":[9,47]}]` })
      yield* derive
      assert.strictEqual((yield* stored)[0]?.city, "at 8.25")
    }))

  it.effect("a route that cannot be read keeps its place and delays no other", () =>
    Effect.gen(function*() {
      yield* routes(1, { geometry: `[["broken"]]` })
      yield* derive
      assert.deepInclude((yield* stored)[0], { city: "Kreuzberg", place_version: 1 })
    }))

  it.effect("two processes derive every route once", () =>
    Effect.gen(function*() {
      yield* routes(450)
      const before = yield* asked
      const url = yield* Url
      const swept = yield* Effect.all([derive, derive.pipe(Effect.provide(sweeperOn(url)))], { concurrency: 2 })
      const rest = yield* derive
      assert.strictEqual([...swept, rest].reduce((sum, { rows }) => sum + rows, 0), 450)
      assert.strictEqual((yield* asked) - before, 450)
      assert.isTrue((yield* stored).every(({ city, place_version }) => place_version === 1 && city !== "Kreuzberg"))
    }))

  it.effect("a process that dies in a batch leaves whole batches, and the next one goes on there", () =>
    Effect.gen(function*() {
      yield* routes(250)
      const url = yield* Url
      const before = yield* asked
      const dying = Layer.effect(
        Places,
        Effect.map(Asked, (count) =>
          Places.of({
            at: ([lng]) =>
              Ref.updateAndGet(count, (many) => many + 1).pipe(
                Effect.flatMap((many) =>
                  many - before > 150 ? Effect.die(new Error("killed")) : Effect.succeed({ placeCity: `at ${lng}` })
                )
              ),
            hasCities: Effect.succeed(true)
          }))
      )
      yield* Effect.exit(derive.pipe(Effect.provide(sweeperOn(url, dying))))
      const done = (yield* stored).filter(({ place_version }) => place_version === 1)
      assert.strictEqual(done.length, 100)
      assert.strictEqual((yield* derive).rows, 150)
      assert.isTrue((yield* stored).every(({ city, place_version }) => place_version === 1 && city !== "Kreuzberg"))
    }))

  it.effect("without the cities every route keeps its place", () =>
    Effect.gen(function*() {
      yield* routes(1)
      const url = yield* Url
      const empty = Layer.succeed(Places, { at: () => Effect.succeed({}), hasCities: Effect.succeed(false) })
      assert.strictEqual((yield* derive.pipe(Effect.provide(sweeperOn(url, empty)))).rows, 0)
      assert.deepInclude((yield* stored)[0], { city: "Kreuzberg", place_version: 0 })
    }))
})
