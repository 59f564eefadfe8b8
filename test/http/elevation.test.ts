import { assert, layer } from "@effect/vitest"
import polyline from "@mapbox/polyline"
import { Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { anonymous, signedIn } from "../support/Actors.ts"
import { created, newRoute } from "../support/Routes.ts"
import { line, serverLayer } from "../support/RoutingCalls.ts"
import { type Behaviour, json, refusal, StandInEngine } from "../support/StandInEngine.ts"
import { until } from "../support/Waiting.ts"

const Asked = Schema.fromJsonString(Schema.Struct({ encoded_polyline: Schema.String, height_precision: Schema.Int }))

/** Responds to one call after the other with the next heights. */
const heights = (...parts: ReadonlyArray<ReadonlyArray<number | null>>): Behaviour => {
  const rest = [...parts]
  return (request, response) => json({ height: rest.shift() ?? [] })(request, response)
}

const LINE = [[9.5, 47.1], [9.51, 47.1, 455], [9.52, 47.12]]

const GPX = `<gpx version="1.1" creator="x"><trk><trkseg><trkpt lat="46.1" lon="9.5"/><trkpt lat="46.2" lon="9.5"/>`
  + `</trkseg></trk></gpx>`

const warning = (count: number) => ({
  code: "elevation_missing",
  message: "Positions without an elevation: the routing engine has none for them, or did not respond",
  count
})

layer(serverLayer())("elevations", (it) => {
  const behave = (behaviour: Behaviour) => Effect.flatMap(StandInEngine, (engine) => engine.behave(behaviour))

  it.effect("are filled where they are missing, and stay where they are", () =>
    Effect.gen(function*() {
      yield* behave(heights([440.5, null]))
      const visitor = yield* anonymous
      const { body } = yield* visitor.post("/routing/elevation", { geometry: LINE })
      assert.deepStrictEqual(body, {
        geometry: [[9.5, 47.1, 440.5], [9.51, 47.1, 455], [9.52, 47.12]],
        filled: 1,
        missing: 1
      })
      const call = (yield* StandInEngine).asked.at(-1)
      assert.strictEqual(call?.path, "/height")
      assert.deepStrictEqual(Schema.decodeSync(Asked)(call?.body ?? ""), {
        encoded_polyline: line([47.1, 9.5], [47.12, 9.52]),
        height_precision: 1
      })
      const none = yield* visitor.post("/routing/elevation", { geometry: LINE.slice(1, 2) })
      assert.deepInclude(none.body, { filled: 0, missing: 0 })
    }))

  it.effect("of a long line are read in several calls", () =>
    Effect.gen(function*() {
      const calls = (yield* StandInEngine).asked.length
      yield* behave((request, response) => {
        const { encoded_polyline } = Schema.decodeSync(Asked)(request.body)
        json({ height: polyline.decode(encoded_polyline, 6).map(([, lng]) => Math.round(1e6 * (lng - 9))) })(
          request,
          response
        )
      })
      const geometry = Array.from({ length: 40_001 }, (_, index) => [9 + index / 1e6, 47])
      const { body } = yield* (yield* anonymous).post("/routing/elevation", { geometry })
      const filled = geometry.map(([lng = 0, lat = 0], index) => index <= 12_000 ? [lng, lat, index] : [lng, lat])
      assert.deepStrictEqual(body, { geometry: filled, filled: 12_001, missing: 28_000 })
      assert.strictEqual((yield* StandInEngine).asked.length - calls, 3)
    }))

  it.effect("near the north pole are read south of it, where the engine survives, and the line stays", () =>
    Effect.gen(function*() {
      yield* behave(heights([1, 2, 3, 4]))
      const polar = [[180, 89.5], [-180, 90], [0, 88.9999999], [9.5, 47.1]]
      const { body } = yield* (yield* anonymous).post("/routing/elevation", { geometry: polar })
      assert.deepInclude(body, { geometry: polar.map(([lng, lat], index) => [lng, lat, index + 1]) })
      const { encoded_polyline } = Schema.decodeSync(Asked)((yield* StandInEngine).asked.at(-1)?.body ?? "")
      assert.deepStrictEqual(polyline.decode(encoded_polyline, 6).map(([lat]) => lat), [
        88.999999,
        88.999999,
        88.999999,
        47.1
      ])
    }))

  it.effect("need a line, and an engine that responds", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const bare = yield* visitor.post("/routing/elevation", {})
      assert.deepInclude(bare.body, {
        statusCode: 400,
        message: "body.geometry: Expected either geometry or polyline6"
      })
      for (const behaviour of [json({ height: "high" }), json({ height: [1] }), refusal(199)]) {
        yield* behave(behaviour)
        assert.strictEqual((yield* visitor.post("/routing/elevation", { geometry: LINE })).status, 502)
      }
    }))

  it.effect("are stored with a route that is created or imported with `elevation=true`", () =>
    Effect.gen(function*() {
      const owner = yield* signedIn
      yield* behave(heights([440, 470], [500, 600]))
      const made = yield* owner.post("/routes?elevation=true", newRoute({ geometry: LINE }))
      assert.deepInclude(made.body, {
        geometry: [[9.5, 47.1, 440], [9.51, 47.1, 455], [9.52, 47.12, 470]],
        elevationGain: 30,
        warnings: []
      })
      assert.deepInclude((yield* owner.get(`/routes/${created(made.body).id}`)).body, { elevationGain: 30 })
      const imported = yield* owner.call("POST", "/routes/import?elevation=true", {
        raw: GPX,
        headers: { "content-type": "application/gpx+xml" }
      })
      assert.deepInclude(imported.body, {
        geometry: [[9.5, 46.1, 500], [9.5, 46.2, 600]],
        warnings: [],
        elevationGain: 100
      })
    }))

  it.effect("that the engine does not have, or does not send, are named, and the route is stored", () =>
    Effect.gen(function*() {
      const owner = yield* signedIn
      yield* behave(heights([null, null]))
      const without = yield* owner.post("/routes?elevation=true", newRoute({ geometry: LINE }))
      assert.deepInclude(without.body, { geometry: LINE, warnings: [warning(2)] })
      yield* behave(refusal(199))
      const down = yield* owner.post("/routes?elevation=true", newRoute({ geometry: LINE }))
      assert.deepInclude(down.body, { geometry: LINE, warnings: [warning(2)] })
      const imported = yield* owner.call("POST", "/routes/import?elevation=true&duplicates=allow", {
        raw: GPX,
        headers: { "content-type": "application/gpx+xml" }
      })
      assert.deepInclude(imported.body, { geometry: [[9.5, 46.1], [9.5, 46.2]], warnings: [warning(2)] })
      assert.notProperty((yield* owner.post("/routes", newRoute({ geometry: LINE }))).body, "warnings")
    }))

  it.effect("of an engine that hangs are not waited for longer than 4 seconds", () =>
    Effect.gen(function*() {
      const owner = yield* signedIn
      yield* behave(() => undefined)
      const { asked } = yield* StandInEngine
      const before = asked.length
      const storing = yield* Effect.forkChild(owner.post("/routes?elevation=true", newRoute({ geometry: LINE })))
      yield* until(Effect.sync(() => asked.length > before))
      yield* TestClock.adjust("4 seconds")
      const { body, status } = yield* Fiber.join(storing)
      assert.strictEqual(status, 201)
      assert.deepInclude(body, { geometry: LINE, warnings: [warning(2)] })
    }))

  it.effect("are returned as a profile to those who may see the route", () =>
    Effect.gen(function*() {
      const owner = yield* signedIn
      const geometry = Array.from({ length: 11 }, (_, index) => [9, 47 + index / 1000, 400 + 10 * index])
      const route = created((yield* owner.post("/routes", newRoute({ geometry, visibility: "unlisted" }))).body)
      const visitor = yield* anonymous
      assert.strictEqual((yield* visitor.get(`/routes/${route.id}/profile`)).status, 404)
      const path = `/routes/${route.shareToken}/profile`
      const { body, headers } = yield* visitor.get(`${path}?points=3`)
      assert.deepStrictEqual(body, {
        distance: 1111.9,
        points: [{ distance: 0, height: 400 }, { distance: 556, height: 450 }, { distance: 1111.9, height: 500 }]
      })
      const known = { headers: { "if-none-match": headers.get("etag") ?? "" } }
      assert.strictEqual((yield* visitor.get(`${path}?points=3`, known)).status, 304)
      assert.strictEqual((yield* visitor.get(`${path}?points=4`, known)).status, 200)
      for (const points of ["1", "1001", "x"]) {
        assert.strictEqual((yield* visitor.get(`${path}?points=${points}`)).status, 400)
      }
    }))
})
