import { assert, layer, vi } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { SurfaceShares } from "../../src/schema/Routing.ts"
import { anonymous } from "../support/Actors.ts"
import { sampled } from "../support/Connections.ts"
import { ask, asked, fresh, lastAsked, REQUEST, serverLayer, TRIP } from "../support/RoutingCalls.ts"
import { type Behaviour, json, refusal, StandInEngine } from "../support/StandInEngine.ts"
import { until } from "../support/Waiting.ts"

const Warned = Schema.Struct({ warnings: Schema.Array(Schema.Struct({ code: Schema.String, message: Schema.String })) })

const Surfaced = Schema.Struct({ surfaces: Schema.optionalKey(SurfaceShares) })

/** There is nothing to warn of in this trip. */
const quiet = json({ trip: { ...TRIP.trip, summary: {} } })

layer(serverLayer())("a computed route", (it) => {
  it.effect("is what the contract names, with the locations where they were snapped, and what could not be avoided", () =>
    Effect.gen(function*() {
      yield* (yield* StandInEngine).behave(json(TRIP))
      const answer = yield* ask({ ...REQUEST, preferences: { ...REQUEST.preferences, avoidHighways: true } })
      assert.strictEqual(answer.status, 200)
      assert.deepStrictEqual(answer.body, {
        legs: TRIP.trip.legs.map(({ shape, summary: { length, time } }) => ({ shape, summary: { length, time } })),
        locations: [
          { lat: 47.1, lon: 9.5, original_index: 0 },
          { lat: 47.15, lon: 9.55, original_index: 1 },
          { lat: 47.2, lon: 9.6, original_index: 2 }
        ],
        warnings: [
          { code: "ferry_used", message: "The route takes a ferry" },
          { code: "highway_used", message: "The route takes a highway" }
        ]
      })
    }))

  it.effect("is asked of the engine in its own words, and in no words of the client", () =>
    Effect.gen(function*() {
      yield* (yield* StandInEngine).behave(json(TRIP))
      yield* ask({
        ...REQUEST,
        preferences: { avoidFerries: true, surfacePreference: "unpaved" },
        costing: "auto",
        costing_options: { bicycle: { use_ferry: 1 } },
        exclude_polygons: [],
        date_time: {},
        format: "osrm"
      })
      assert.deepStrictEqual<unknown>(yield* lastAsked, {
        locations: REQUEST.locations.map(({ lat, lon }) => ({ lat, lon, search_cutoff: 1000 })),
        costing: "bicycle",
        costing_options: { bicycle: { bicycle_type: "Cross", avoid_bad_surfaces: 0, use_roads: 0.1, use_ferry: 0 } },
        units: "kilometers",
        directions_type: "none"
      })
    }))

  it.effect("has each preference translated for who rides and who walks", () =>
    Effect.gen(function*() {
      yield* (yield* StandInEngine).behave(json(TRIP))
      const options = Effect.fnUntraced(function*(activity: string, preferences: object, members: object = {}) {
        yield* ask({ ...fresh(Math.floor(performance.now() * 100) % 900), activity, preferences, ...members })
        return Schema.decodeUnknownSync(Schema.Struct({ costing: Schema.String, costing_options: Schema.Json }))(
          yield* lastAsked
        )
      })
      const bicycle = (members: object) => ({ costing: "bicycle", costing_options: { bicycle: members } })
      const pedestrian = (members: object) => ({ costing: "pedestrian", costing_options: { pedestrian: members } })
      assert.deepStrictEqual<unknown>(yield* options("cycle", {}), bicycle({ bicycle_type: "Hybrid" }))
      assert.deepStrictEqual<unknown>(
        yield* options("cycle", { surfacePreference: "any" }),
        bicycle({ bicycle_type: "Hybrid" })
      )
      assert.deepStrictEqual<unknown>(
        yield* options("cycle", { surfacePreference: "__proto__" }),
        bicycle({ bicycle_type: "Hybrid" })
      )
      assert.deepStrictEqual<unknown>(
        yield* options("cycle", { surfacePreference: "unpaved" }),
        bicycle({ bicycle_type: "Cross", avoid_bad_surfaces: 0, use_roads: 0.1 })
      )
      assert.deepStrictEqual<unknown>(
        yield* options("cycle", { avoidHighways: true }, { walkingSpeedKmh: 6 }),
        bicycle({ bicycle_type: "Hybrid", use_roads: 0.1 })
      )
      assert.deepStrictEqual<unknown>(yield* options("walk", {}), pedestrian({}))
      assert.deepStrictEqual<unknown>(yield* options("run", {}), pedestrian({ walking_speed: 10 }))
      assert.deepStrictEqual<unknown>(
        yield* options("run", { surfacePreference: "paved", avoidFerries: true, avoidHighways: true }, {
          walkingSpeedKmh: 25
        }),
        pedestrian({ use_tracks: 0, use_ferry: 0, walkway_factor: 0.8, sidewalk_factor: 0.9, walking_speed: 25 })
      )
      assert.deepStrictEqual<unknown>(
        yield* options("walk", { surfacePreference: "unpaved" }),
        pedestrian({ use_tracks: 1 })
      )
    }))

  it.effect("has warnings where it is not all paved, or goes over highways, against the preferences", () =>
    Effect.gen(function*() {
      const engine = yield* StandInEngine
      const walk = (edges: ReadonlyArray<object>): Behaviour => (request, response) =>
        (request.path === "/route" ? quiet : json({ edges }))(request, response)
      const warned = Effect.fnUntraced(function*(n: number, preferences: object) {
        const { body } = yield* ask({ ...fresh(n), preferences })
        return Schema.decodeUnknownSync(Warned)(body).warnings
      })
      yield* engine.behave(walk([{ unpaved: true }, { unpaved: false, road_class: "trunk" }]))
      assert.deepStrictEqual(yield* warned(910, { surfacePreference: "paved" }), [
        { code: "unpaved_used", message: "Parts of the route are not paved" }
      ])
      assert.deepStrictEqual(yield* warned(910, { avoidHighways: true }), [
        { code: "highway_used", message: "The route takes a highway" }
      ])
      assert.deepStrictEqual(yield* warned(910, { surfacePreference: "any" }), [])
      yield* engine.behave(walk([{ unpaved: false, road_class: "residential" }]))
      assert.deepStrictEqual(yield* warned(911, { surfacePreference: "paved", avoidHighways: true }), [])
      yield* engine.behave((request, response) => (request.path === "/route" ? quiet : refusal(443))(request, response))
      assert.deepStrictEqual(yield* warned(912, { surfacePreference: "paved" }), [])
    }))

  it.effect("has how much of it has each surface, where that is asked for and known", () =>
    Effect.gen(function*() {
      const engine = yield* StandInEngine
      const edges = [
        { surface: "paved_smooth", length: 1.25, unpaved: false },
        { surface: "gravel", length: 0.5, unpaved: true },
        { length: 0.25 }
      ]
      const walked: Behaviour = (request, response) =>
        (request.path === "/route" ? quiet : json({ edges }))(request, response)
      const asks = Effect.fnUntraced(function*(query: string, members: object) {
        const visitor = yield* anonymous
        const { body } = yield* visitor.post(`/routing/route${query}`, { ...fresh(915), preferences: {}, ...members })
        return Schema.decodeUnknownSync(Surfaced)(body).surfaces
      })
      yield* engine.behave(walked)
      // Each of the two legs has all edges.
      const surfaces = [
        { surface: "paved_smooth", length: 2.5, share: 0.625 },
        { surface: "gravel", length: 1, share: 0.25 },
        { surface: "unknown", length: 0.5, share: 0.125 }
      ]
      assert.deepStrictEqual(yield* asks("", { surfaces: true }), surfaces)
      assert.deepStrictEqual(yield* asks("?surfaces=true", {}), surfaces)
      assert.isUndefined(yield* asks("", {}))
      // The engine gives no length to an edge that a leg follows backwards.
      yield* engine.behave((request, response) =>
        (request.path === "/route" ? quiet : json({ edges: [{ surface: "gravel", length: 0 }] }))(request, response)
      )
      const backwards = [{ surface: "gravel", length: 5.596, share: 1 }]
      assert.deepStrictEqual(yield* asks("", { surfaces: true, ...fresh(917) }), backwards)
      yield* engine.behave((request, response) => (request.path === "/route" ? quiet : refusal(443))(request, response))
      assert.isUndefined(yield* asks("", { surfaces: true, ...fresh(916) }))
    }))

  it.effect("names a surface preference that it does not know", () =>
    Effect.gen(function*() {
      yield* (yield* StandInEngine).behave(json(TRIP))
      const warned = Effect.fnUntraced(function*(n: number, surfacePreference: string) {
        const { body } = yield* ask({ ...fresh(n), preferences: { surfacePreference } })
        return Schema.decodeUnknownSync(Warned)(body).warnings
      })
      assert.deepStrictEqual(yield* warned(913, "gravel"), [{
        code: "preference_unknown",
        message: "surfacePreference \"gravel\" is unknown and was ignored: Expected one of paved, any, unpaved"
      }])
      assert.deepStrictEqual(yield* warned(914, "unpaved"), [])
    }))

  it.effect("is refused for what the contract does not allow, without asking the engine", () =>
    Effect.gen(function*() {
      const before = (yield* asked).length
      const place = { lat: 1, lon: 2 }
      const refused = [
        { locations: [place] },
        { locations: Array.from({ length: 26 }, () => place) },
        { locations: [place, { lat: 90.1, lon: 0 }] },
        { locations: [place, { lat: 0, lon: 180.1 }] },
        { locations: [place, { lat: "NaN", lon: 0 }] },
        { activity: "swim" },
        { activity: undefined },
        { preferences: undefined },
        { preferences: { avoidFerries: "yes" } },
        { walkingSpeedKmh: 0.49 },
        { walkingSpeedKmh: 25.01 }
      ]
      for (const members of refused) {
        assert.strictEqual((yield* ask({ ...REQUEST, ...members })).status, 400, JSON.stringify(members).slice(0, 60))
      }
      assert.strictEqual((yield* asked).length, before)
    }))

  it.effect("that the engine does not find has a reason", () =>
    Effect.gen(function*() {
      const engine = yield* StandInEngine
      const cases = [
        [154, 400, "VALIDATION_FAILED", "too_far"],
        [150, 400, "VALIDATION_FAILED", "too_many_locations"],
        [170, 404, "NOT_FOUND", "no_path"],
        [442, 404, "NOT_FOUND", "no_path"],
        [171, 404, "NOT_FOUND", "no_road_near_location"],
        [443, 404, "NOT_FOUND", "no_path"],
        [444, 404, "NOT_FOUND", "no_path"]
      ] as const
      for (const [error, status, code, reason] of cases) {
        yield* engine.behave(refusal(error))
        const answer = yield* ask(fresh(error))
        assert.deepInclude(answer.body, { statusCode: status, code }, String(error))
        assert.include(answer.text, `"reason":"${reason}"`)
        if (status === 400) assert.include(answer.text, `"path":"body.locations"`)
        assert.notInclude(answer.text, "canary")
      }
      yield* engine.behave(refusal(125))
      assert.deepInclude((yield* ask(fresh(125))).body, { statusCode: 500, code: "INTERNAL" })
      yield* engine.behave(refusal(499))
      assert.deepInclude((yield* ask(fresh(499))).body, { statusCode: 502, code: "INTERNAL" })
    }))

  it.effect("whose locations have no road near names them, where the engine reports them", () =>
    Effect.gen(function*() {
      const engine = yield* StandInEngine
      const searches: ReadonlyArray<readonly [Behaviour, object]> = [
        [json([{ edges: [{}] }, { edges: [] }]), { locations: [1] }],
        [json([{ edges: null }, { edges: [] }]), { locations: [0, 1] }],
        [json([{ edges: [{}] }, { edges: [{}] }]), {}],
        [json({ canary: true }), {}],
        [refusal(106), {}],
        [json({}, 500), {}]
      ]
      for (const [n, [search, details]] of searches.entries()) {
        yield* engine.behave((request, response) =>
          (request.path === "/locate" ? search : refusal(171))(request, response)
        )
        const answer = yield* ask(fresh(130 + n))
        assert.deepInclude(answer.body, {
          statusCode: 404,
          details: { reason: "no_road_near_location", ...details }
        })
        assert.notInclude(answer.text, "canary")
      }
    }))

  it.effect("whose locations are near a pole names them, without asking the engine", () =>
    Effect.gen(function*() {
      const before = (yield* asked).length
      const locations = [{ lat: 90, lon: 0 }, { lat: 47.1, lon: 9.5 }, { lat: -90, lon: 9.5 }, { lat: 88.9, lon: 0 }]
      assert.deepInclude((yield* ask({ ...REQUEST, locations })).body, {
        statusCode: 404,
        details: { reason: "no_road_near_location", locations: [0, 2] }
      })
      assert.strictEqual((yield* asked).length, before)
    }))

  it.effect("is computed once for those who ask at once, and kept", () =>
    Effect.gen(function*() {
      const engine = yield* StandInEngine
      const held: Array<() => void> = []
      yield* engine.behave((request, response) => void held.push(() => json(TRIP)(request, response)))
      const before = engine.asked.length
      const asking = yield* Effect.forkChild(
        Effect.all(Array.from({ length: 20 }, () => ask(fresh(999))), { concurrency: "unbounded" })
      )
      // The request that reads the count is counted too.
      yield* until(Effect.map(sampled("http_server_active_requests"), (count) => count === 20 + 1))
      yield* until(Effect.sync(() => held.length > 0))
      yield* engine.behave(json(TRIP))
      held.forEach((respond) => respond())
      const answers = yield* Fiber.join(asking)
      assert.isTrue(answers.every(({ status }) => status === 200))
      assert.strictEqual(engine.asked.slice(before).filter(({ path }) => path === "/route").length, 1)
      assert.strictEqual(answers.filter(({ headers }) => headers.get("x-cache") === "miss").length, 1)
      assert.strictEqual((yield* ask(fresh(999))).headers.get("x-cache"), "hit")
    }))

  it.effect("of an older map is forgotten", () =>
    Effect.gen(function*() {
      const engine = yield* StandInEngine
      yield* engine.behave(json(TRIP))
      const cached = Effect.map(ask(fresh(998)), ({ headers }) => headers.get("x-cache"))
      assert.deepStrictEqual([yield* cached, yield* cached], ["miss", "hit"])
      yield* engine.setMapDate(1_800_000_000)
      yield* TestClock.adjust("31 seconds")
      yield* cached
      const visitor = yield* anonymous
      assert.include((yield* visitor.get("//health/ready")).text, "2027-01-15")
      assert.deepStrictEqual([yield* cached, yield* cached], ["miss", "hit"])
    }))

  it.effect("does not wait for the engine's state, on a clock that stands still", () =>
    Effect.gen(function*() {
      const engine = yield* StandInEngine
      yield* engine.behave(json(TRIP))
      yield* engine.setMapDate(undefined)
      yield* TestClock.adjust("31 seconds")
      assert.strictEqual((yield* ask(fresh(997))).status, 200)
    }))

  it.effect("that never comes is 504 before our own deadline, and counts against the engine", () =>
    Effect.gen(function*() {
      const engine = yield* StandInEngine
      yield* engine.behave(() => undefined)
      const before = engine.asked.length
      const calls = yield* Effect.forkChild(
        Effect.all(Array.from({ length: 5 }, (_, n) => ask(fresh(140 + n))), { concurrency: "unbounded" })
      )
      yield* Effect.promise(() => vi.waitUntil(() => engine.asked.length === before + 5))
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual((yield* Fiber.join(calls)).map(({ status }) => status), [504, 504, 504, 504, 504])
      assert.strictEqual((yield* ask(fresh(146))).status, 503)
      yield* TestClock.adjust("5 seconds")
    }))
})
