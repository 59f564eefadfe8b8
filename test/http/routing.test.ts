import { assert, layer, vi } from "@effect/vitest"
import polyline from "@mapbox/polyline"
import { Effect, Fiber, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import type { Socket } from "node:net"
import { INLINE_BYTES } from "../../src/services/heavy/HeavyWork.ts"
import { anonymous, signedIn } from "../support/Actors.ts"
import { HTTP_FAULTS } from "../support/HttpFaults.ts"
import { type Behaviour, json, refusal, StandInEngine } from "../support/StandInEngine.ts"
import { TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const line = (...points: ReadonlyArray<[number, number]>) => polyline.encode([...points], 6)

const TRIP = {
  trip: {
    locations: [{ lat: 1, lon: 2, original_index: 0 }],
    legs: [
      {
        shape: line([47.1, 9.5], [47.15, 9.55]),
        summary: { length: 4.096, time: 642.74, has_ferry: false, cost: 7 },
        maneuvers: []
      },
      { shape: line([47.15, 9.55], [47.2, 9.6]), summary: { length: 1.5, time: 60, has_ferry: false } }
    ],
    summary: { has_ferry: true, has_highway: true, length: 5.6, time: 700 },
    units: "kilometers",
    language: "en-US"
  },
  warnings: [{ code: 500, text: "an option was reset" }]
}

const REQUEST = {
  activity: "cycle",
  preferences: { surfacePreference: "paved", avoidFerries: true },
  locations: [{ lat: 47.1, lon: 9.5 }, { lat: 47.15, lon: 9.55 }, { lat: 47.2, lon: 9.6 }]
}

const Warned = Schema.Struct({ warnings: Schema.Array(Schema.Struct({ code: Schema.String, message: Schema.String })) })

/** A trip that there is nothing to warn of. */
const quiet = json({ trip: { ...TRIP.trip, summary: {} } })

/** A request that nobody made before, so that no answer is kept. */
const fresh = (n: number) => ({
  ...REQUEST,
  locations: [{ lat: 40 + n / 1000, lon: 9 }, ...REQUEST.locations.slice(1)]
})

const SHORT_TRACE = { activity: "walk", shape: [{ lat: 0, lon: 10 }, { lat: 0, lon: 10.01 }] }

const matchOf = (body: unknown) =>
  Effect.flatMap(anonymous, (visitor) => visitor.post("/routing/trace-attributes", body))

const ask = (body: unknown) => Effect.flatMap(anonymous, (visitor) => visitor.post("/routing/route", body))

const asked = Effect.map(StandInEngine, (engine) => engine.asked)

const lastAsked = Effect.map(
  asked,
  (calls) =>
    Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Json))(
      calls.findLast(({ body }) => !body.includes("edge_walk"))?.body
    )
)

const serverLayer = (settings: Record<string, string> = {}) =>
  Layer.unwrap(
    Effect.map(StandInEngine, ({ url }) =>
      TestServer.layer({ ROUTING_ENGINE_URL: url, TRUSTED_PROXIES: "127.0.0.0/8", ...settings }))
  ).pipe(
    Layer.provideMerge(StandInEngine.layer)
  )

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

  it.effect("says that it is not all paved, or goes over highways, where that was to be avoided", () =>
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

  it.effect("that the engine has none of is told by its reason", () =>
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
        assert.notInclude(answer.text, "canary")
      }
      yield* engine.behave(refusal(125))
      assert.deepInclude((yield* ask(fresh(125))).body, { statusCode: 500, code: "INTERNAL" })
      yield* engine.behave(refusal(499))
      assert.deepInclude((yield* ask(fresh(499))).body, { statusCode: 502, code: "INTERNAL" })
    }))

  it.effect("whose locations have no road near names them, where the engine's search can tell", () =>
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

  it.effect("is computed once for those who ask at once, and kept", () =>
    Effect.gen(function*() {
      const engine = yield* StandInEngine
      yield* engine.behave((_request, response) =>
        void setTimeout(() => json(TRIP)({ path: "", body: "" }, response), 50)
      )
      const before = engine.asked.length
      const answers = yield* Effect.all(Array.from({ length: 20 }, () => ask(fresh(999))), { concurrency: "unbounded" })
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

  it.effect("does not wait for the engine to say how it is, on a clock that stands still", () =>
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

layer(serverLayer(), { excludeTestServices: true })("an engine whose status hangs", (it) => {
  it.effect("is away to probes, which do not wait for it", () =>
    Effect.gen(function*() {
      yield* (yield* StandInEngine).setMapDate(undefined)
      const visitor = yield* anonymous
      const started = performance.now()
      assert.deepStrictEqual((yield* visitor.get("//health/ready")).body, {
        status: "ok",
        routingEngine: { status: "away" }
      })
      assert.isBelow(performance.now() - started, 5000)
    }))

  it.effect("or says what cannot be is away as well", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      for (const date of [8.65e12, -1]) {
        yield* (yield* StandInEngine).setMapDate(date)
        yield* Effect.sleep("1100 millis")
        const { body } = yield* visitor.get("//health/ready")
        assert.deepStrictEqual(body, { status: "ok", routingEngine: { status: "away" } }, String(date))
      }
    }))
})

const withShape = (shape: string) =>
  json({ trip: { ...TRIP.trip, legs: TRIP.trip.legs.map((leg) => ({ ...leg, shape })) } })

const garbage: ReadonlyArray<readonly [string, Behaviour]> = [
  ["HTML", (_request, response) => void response.end("<html>canary</html>")],
  ["half of a JSON", (_request, response) => void response.end(`{"trip":{"legs":[`)],
  ["another shape", json({ trip: { legs: [] }, canary: true })],
  ["a redirect", (_request, response) => void response.writeHead(302, { location: "http://127.0.0.1:1/canary" }).end()],
  ["an error of its own", json({ error: "canary" }, 500)],
  ["too few legs", json({ trip: { ...TRIP.trip, legs: TRIP.trip.legs.slice(1) } })],
  ["too many legs", json({ trip: { ...TRIP.trip, legs: [...TRIP.trip.legs, ...TRIP.trip.legs] } })],
  ["a line without a point", withShape("")],
  ["a line that leaves the earth", withShape(line([47, 9], [4700, 9]))],
  ["far too much", json({ ...TRIP, filler: "x".repeat(5 * 1024 * 1024) })],
  [
    "far too much of unknown length",
    (_request, response) => void response.write(" ".repeat(5 * 1024 * 1024), () => response.end(JSON.stringify(TRIP)))
  ]
]

layer(serverLayer({ ROUTING_ENGINE_TIMEOUT: "1 second" }), { excludeTestServices: true })(
  "an engine that fails",
  (it) => {
    it.effect("with garbage is 502, and none of it is seen", () =>
      Effect.gen(function*() {
        const engine = yield* StandInEngine
        for (const [n, [what, behaviour]] of garbage.entries()) {
          yield* engine.behave(behaviour)
          const answer = yield* ask(fresh(n))
          assert.deepInclude(answer.body, { statusCode: 502, code: "INTERNAL" }, what)
          assert.notInclude(answer.text, "canary")
          yield* engine.behave(json(TRIP))
          assert.strictEqual((yield* ask(fresh(n))).status, 200, what)
        }
      }))

    it.effect("tells where an operator finds the rest", () =>
      Effect.gen(function*() {
        yield* (yield* StandInEngine).behave(json({}, 500))
        const visitor = yield* anonymous
        const traceId = "0af7651916cd43dd8448eb211c80319c"
        const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` }
        const { body } = yield* visitor.post("/routing/route", fresh(50), { headers })
        assert.deepInclude(body, { statusCode: 502, details: { traceId } })
        yield* (yield* StandInEngine).behave(json(TRIP))
        assert.strictEqual((yield* ask(fresh(50))).status, 200)
      }))

    it.effect("for a moment is asked once more, and no more", () =>
      Effect.gen(function*() {
        const engine = yield* StandInEngine
        const calls = { count: 0 }
        const failing = (times: number): Behaviour => (request, response) => {
          calls.count += 1
          if (calls.count > times) json(TRIP)(request, response)
          else response.destroy()
        }
        yield* engine.behave(failing(1))
        assert.strictEqual((yield* ask(fresh(60))).status, 200)
        calls.count = 0
        yield* engine.behave(failing(2))
        assert.strictEqual((yield* ask(fresh(61))).status, 503)
        assert.strictEqual(calls.count, 2)
        yield* engine.behave(json({ error_code: 102 }, 503))
        assert.strictEqual((yield* ask(fresh(62))).status, 503)
        yield* engine.behave(json(TRIP))
        assert.strictEqual((yield* ask(fresh(62))).status, 200)
      }))

    it.effect("by being slow is 504 at our own deadline", () =>
      Effect.gen(function*() {
        const engine = yield* StandInEngine
        yield* engine.behave(() => undefined)
        const started = performance.now()
        assert.deepInclude((yield* ask(fresh(200))).body, { statusCode: 504, code: "INTERNAL" })
        assert.isBelow(performance.now() - started, 4000)
        yield* engine.behave(json(TRIP))
        assert.strictEqual((yield* ask(fresh(201))).status, 200)
      }))

    it.effect("by hanging in its search alone is told without what that would have found", () =>
      Effect.gen(function*() {
        const engine = yield* StandInEngine
        yield* engine.behave((request, response) => {
          if (request.path !== "/locate") refusal(171)(request, response)
        })
        const answer = yield* ask(fresh(210))
        assert.deepInclude(answer.body, { statusCode: 404, details: { reason: "no_road_near_location" } })
      }))

    it.effect("again and again is not asked for a while, then tried again", () =>
      Effect.gen(function*() {
        const engine = yield* StandInEngine
        yield* engine.down
        for (let n = 0; n < 5; n++) assert.strictEqual((yield* ask(fresh(300 + n))).status, 503)
        yield* engine.up
        yield* engine.behave(json(TRIP))
        const before = engine.asked.length
        assert.strictEqual((yield* ask(fresh(310))).status, 503)
        assert.strictEqual(engine.asked.length, before)
        const visitor = yield* anonymous
        assert.deepStrictEqual((yield* visitor.get("//health/ready")).body, {
          status: "ok",
          routingEngine: { status: "circuit-open" }
        })
        const rider = yield* signedIn
        assert.strictEqual((yield* rider.get("/routes")).status, 200)
        yield* Effect.sleep("5100 millis")
        assert.strictEqual((yield* ask(fresh(311))).status, 200)
      }), 20_000)

    it.effect("by hanging, under a crowd, refuses those whom it cannot serve, at once", () =>
      Effect.gen(function*() {
        const engine = yield* StandInEngine
        const peak = { now: 0, count: 0 }
        yield* engine.behave((_request, response) => {
          peak.now += 1
          peak.count = Math.max(peak.count, peak.now)
          response.on("close", () => (peak.now -= 1))
        })
        const before = engine.asked.length
        const visitor = yield* anonymous
        const answers = yield* Effect.all(Array.from({ length: 300 }, (_, n) => ask(fresh(400 + n))), {
          concurrency: "unbounded"
        })
        const statuses = answers.map(({ status }) => status)
        assert.isTrue(statuses.every((status) => status === 503 || status === 504))
        assert.isAtLeast(statuses.filter((status) => status === 503).length, 100)
        assert.isBelow(engine.asked.length - before, 150)
        assert.strictEqual(peak.count, 32)
        assert.strictEqual((yield* visitor.get("/routes/public")).status, 200)
      }))
  }
)

layer(serverLayer({ ROUTING_ENGINE_TIMEOUT: "1 second" }), { excludeTestServices: true })(
  "an engine that does not respond",
  (it) => {
    for (const [n, fault] of (["drip", "dripHeaders", "endless", "notHttp"] as const).entries()) {
      it.effect(`with ${fault} ends in time, and with it the connection`, () =>
        Effect.gen(function*() {
          const engine = yield* StandInEngine
          const sockets: Array<Socket> = []
          yield* engine.misbehave((request, response) => {
            sockets.push(request.socket)
            HTTP_FAULTS[fault](request, response)
          })
          const answers = yield* Effect.all([ask(fresh(70)), ask(fresh(71)), matchOf(SHORT_TRACE)], {
            concurrency: "unbounded"
          })
          const expected = { drip: 504, dripHeaders: 504, endless: 502, notHttp: 503 }[fault]
          for (const { body } of answers) assert.deepInclude(body, { statusCode: expected, code: "INTERNAL" })
          yield* until(Effect.sync(() => sockets.every(({ destroyed }) => destroyed)))
          yield* engine.behave(json(TRIP))
          assert.strictEqual((yield* ask(fresh(72 + n))).status, 200)
        }))
    }

    it.effect("with what is not JSON, to routes or to traces, is not called for a while", () =>
      Effect.gen(function*() {
        const engine = yield* StandInEngine
        const outcomes = Effect.map(
          Effect.flatMap(anonymous, (visitor) => visitor.get("//metrics")),
          ({ text }) => Number(/^routing_engine_calls_total\{outcome="bad_answer"\} (\d+)/m.exec(text)?.[1])
        )
        const isOpen = Effect.flatMap(anonymous, (visitor) =>
          Effect.map(visitor.get("//health/ready"), ({ text }) => text.includes("circuit-open")))
        const long = " ".repeat(INLINE_BYTES)
        const trace = matchOf(SHORT_TRACE)
        const nonsense = [
          ["<html>canary</html>", trace],
          [`{"trip":${long}`, ask(fresh(80))],
          [`{"shape":${long}`, trace]
        ] as const
        for (const [n, [text, call]] of nonsense.entries()) {
          const before = yield* outcomes
          yield* engine.behave((_request, response) =>
            void response.end(text)
          )
          assert.strictEqual((yield* call).status, 502)
          assert.strictEqual(yield* outcomes, before + 1)
          yield* engine.behave(json(TRIP))
          assert.strictEqual((yield* ask(fresh(81 + n))).status, 200)
        }
        yield* engine.behave((_request, response) => void response.end(`{"shape":${long}`))
        for (let calls = 0; calls < 5; calls++) assert.strictEqual((yield* trace).status, 502)
        assert.isTrue(yield* isOpen)
        assert.strictEqual((yield* trace).status, 503)
      }))
  }
)

const Place = Schema.Struct({ lat: Schema.Finite, lon: Schema.Finite })

type Place = typeof Place.Type

const ORIGIN = { lat: 0, lon: 0 }

layer(serverLayer())("a trace", (it) => {
  const match = (body: unknown) =>
    Effect.flatMap(anonymous, (visitor) => visitor.post("/routing/trace-attributes", body))

  const edge = (surface: string, length: number, begin: number, end: number) => ({
    surface,
    length,
    begin_shape_index: begin,
    end_shape_index: end,
    names: ["Street"],
    road_class: "residential",
    use: "road"
  })

  const MATCH = {
    shape: line([0, 10], [0, 10.005], [0, 10.01]),
    edges: [edge("paved", 0.556, 0, 1), edge("gravel", 0.556, 1, 2)],
    matched_points: [{ lat: 0, lon: 10, type: "matched", edge_index: 1 }]
  }

  it.effect("has its edges, its surfaces with their shares, and how much of it was matched", () =>
    Effect.gen(function*() {
      yield* (yield* StandInEngine).behave(json({ ...MATCH, confidence_score: 1, admins: [] }))
      const answer = yield* match({ activity: "walk", shape: [{ lat: 0, lon: 10, time: 5 }, { lat: 0, lon: 10.02 }] })
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.headers.get("content-type"), "application/json")
      assert.deepStrictEqual(answer.body, {
        coverage: 0.5,
        ...MATCH,
        surfaces: [{ surface: "paved", length: 0.556, share: 0.5 }, { surface: "gravel", length: 0.556, share: 0.5 }]
      })
      assert.deepInclude(yield* lastAsked, { costing: "pedestrian", shape_match: "map_snap" })
    }))

  it.effect("of which the engine returns what cannot be is 502, lengths whose sum is infinite among it", () =>
    Effect.gen(function*() {
      const engine = yield* StandInEngine
      const shape = [{ lat: 0, lon: 10 }, { lat: 0, lon: 10.01 }]
      const [point] = MATCH.matched_points
      const huge = (surface: string) => edge(surface, 1.7e308, 0, 1)
      const broken = [
        { ...MATCH, edges: [huge("paved"), huge("gravel")] },
        { ...MATCH, edges: [huge("paved"), huge("paved")] },
        { ...MATCH, edges: [huge("paved"), edge("gravel", -1.7e308, 0, 1), edge("paved", 0.1, 1, 2), huge("paved")] },
        { ...MATCH, edges: [{ ...edge("paved", 1, 0, 1), length: "1" }] },
        { ...MATCH, matched_points: [{ ...point, lat: null }] },
        { ...MATCH, matched_points: [{ ...point, edge_index: "1" }] },
        { ...MATCH, matched_points: [[]] },
        { ...MATCH, matched_points: null },
        { ...MATCH, shape: 1 },
        { shape: MATCH.shape },
        []
      ]
      for (const body of broken) {
        yield* engine.behave(json(body))
        const answer = yield* match({ activity: "walk", shape })
        assert.deepInclude(answer.body, { statusCode: 502, code: "INTERNAL" }, JSON.stringify(body))
      }
      yield* engine.behave((_request, response) => void response.end(`{"shape":`))
      assert.strictEqual((yield* match({ activity: "walk", shape })).status, 502)
      yield* engine.behave(json({ ...MATCH, matched_points: [{ ...point, canary: 1 }] }))
      const answer = yield* match({ activity: "walk", shape })
      assert.strictEqual(answer.status, 200)
      assert.notInclude(answer.text, "canary")
    }))

  it.effect("may be an encoded polyline, and nothing that is none", () =>
    Effect.gen(function*() {
      yield* (yield* StandInEngine).behave(json(MATCH))
      const encodedPolyline = line([0, 10], [0, 10.01])
      assert.strictEqual((yield* match({ activity: "cycle", encodedPolyline })).status, 200)
      assert.deepInclude(yield* lastAsked, { shape: [{ lat: 0, lon: 10 }, { lat: 0, lon: 10.01 }] })
      const point = { lat: 0, lon: 10 }
      const refused = [
        {},
        { shape: [point] },
        { shape: [] },
        { shape: [point, point], encodedPolyline },
        { encodedPolyline: "" },
        { encodedPolyline: "\u0001\u0002" },
        { encodedPolyline: line([0, 10]) },
        { encodedPolyline: line([0, 10], [99, 10]) },
        { shape: Array.from({ length: 50_001 }, () => point) }
      ]
      for (const body of refused) {
        assert.strictEqual(
          (yield* match({ activity: "cycle", ...body })).status,
          400,
          JSON.stringify(body).slice(0, 60)
        )
      }
    }))

  const Asked = Schema.fromJsonString(Schema.Struct({ shape: Schema.Array(Place) }))

  /** Matches each point where it is, and says that the piece has two edges. */
  const matched: Behaviour = (request, response) => {
    const { shape } = Schema.decodeSync(Asked)(request.body)
    const [first = ORIGIN, last = ORIGIN] = [shape[0], shape.at(-1)]
    json({
      shape: line([first.lat, first.lon], [1, (first.lon + last.lon) / 2], [last.lat, last.lon]),
      edges: [edge("paved", 0.556, 0, 1), edge("gravel", 0.556, 1, 2)],
      matched_points: shape.map(({ lat, lon }) => ({ lat, lon, type: "matched", edge_index: 1 }))
    })(request, response)
  }

  const Joined = Schema.Struct({
    coverage: Schema.Finite,
    shape: Schema.String,
    edges: Schema.Array(Schema.Struct({ begin_shape_index: Schema.Int, end_shape_index: Schema.Int })),
    matched_points: Schema.Array(
      Schema.Struct({ ...Place.fields, type: Schema.String, edge_index: Schema.optionalKey(Schema.Int) })
    )
  })

  /** As text, which is compared in a hundredth of the time that a deep comparison takes. */
  const assertSamePlaces = (actual: ReadonlyArray<Place>, expected: ReadonlyArray<Place>) =>
    assert.strictEqual(JSON.stringify(actual.map(({ lat, lon }) => ({ lat, lon }))), JSON.stringify(expected))

  const pointsTo = (count: number) => Array.from({ length: count }, (_, n) => ({ lat: 0, lon: 10 + n / 1e6 }))

  it.effect("that is longer than the engine takes is matched in pieces and joined, each point once", () =>
    Effect.gen(function*() {
      const engine = yield* StandInEngine
      yield* engine.behave(matched)
      const shape = pointsTo(40_000)
      const before = engine.asked.length
      const answer = yield* match({ activity: "cycle", shape })
      assert.strictEqual(answer.status, 200)
      const pieces = engine.asked.slice(before).map(({ body }) => Schema.decodeSync(Asked)(body).shape.length)
      assert.deepStrictEqual(pieces.toSorted((a, b) => b - a), [16_000, 16_000, 8002])
      const joined = Schema.decodeUnknownSync(Joined)(answer.body)
      assert.deepStrictEqual(joined.edges.map(({ begin_shape_index }) => begin_shape_index), [0, 1, 2, 3, 4, 5])
      assert.strictEqual(polyline.decode(joined.shape, 6).length, 7)
      assertSamePlaces(joined.matched_points, shape)
      const indexes = [0, 15_999, 16_000, 31_998, 31_999, 39_999].map((n) => joined.matched_points[n]?.edge_index)
      assert.deepStrictEqual(indexes, [1, 1, 3, 3, 5, 5])
    }))

  it.effect("of which a piece follows no road is matched as far as the others do", () =>
    Effect.gen(function*() {
      const engine = yield* StandInEngine
      const shape = pointsTo(20_000)
      yield* engine.behave((request, response) =>
        (request.body.includes("\"lon\":10}") ? refusal(443) : matched)(request, response)
      )
      const answer = yield* match({ activity: "cycle", shape })
      const { coverage, edges, matched_points } = Schema.decodeUnknownSync(Joined)(answer.body)
      assertSamePlaces(matched_points, shape)
      assert.deepStrictEqual(matched_points[0], { lat: 0, lon: 10, type: "unmatched" })
      assert.deepInclude(matched_points.at(-1), { type: "matched", edge_index: 1 })
      assert.deepStrictEqual(edges.map(({ begin_shape_index }) => begin_shape_index), [0, 1])
      assert.isAbove(coverage, 0)
      yield* engine.behave(refusal(443))
      assert.strictEqual((yield* match({ activity: "cycle", shape })).status, 404)
    }))

  it.effect("around the world is refused, however few or many its points", () =>
    Effect.gen(function*() {
      const zigzag = (count: number) =>
        Array.from({ length: count }, (_, n) => ({ lat: n % 2 === 0 ? -60 : 60, lon: n % 100 }))
      for (const shape of [zigzag(100), zigzag(50_000)]) {
        const answer = yield* match({ activity: "walk", shape })
        assert.strictEqual(answer.status, 400)
        assert.include(answer.text, `"reason":"too_far"`)
        assert.include(answer.text, `"path":"shape"`)
      }
      const encodedPolyline = line([0, 0], [60, 0])
      assert.include((yield* match({ activity: "walk", encodedPolyline })).text, `"path":"encodedPolyline"`)
    }))

  it.effect("may have 2 MiB", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const raw = `{"activity":"walk","filler":"${"x".repeat(2 * 1024 * 1024)}"}`
      const answer = yield* visitor.post("/routing/trace-attributes", undefined, {
        raw,
        headers: { "content-type": "application/json" }
      })
      assert.strictEqual(answer.status, 413)
    }))
})
