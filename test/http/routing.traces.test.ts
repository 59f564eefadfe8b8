import { assert, layer } from "@effect/vitest"
import polyline from "@mapbox/polyline"
import { Effect, Schema } from "effect"
import { anonymous } from "../support/Actors.ts"
import { lastAsked, line, serverLayer } from "../support/RoutingCalls.ts"
import { type Behaviour, json, refusal, StandInEngine } from "../support/StandInEngine.ts"

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
      assert.deepInclude(yield* lastAsked, {
        costing: "pedestrian",
        costing_options: { pedestrian: { max_hiking_difficulty: 6 } },
        shape_match: "map_snap"
      })
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

  /** The text is compared in a hundredth of the time that a deep comparison takes. */
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

  it.effect("of which a piece follows no road, or ends outside the map, is matched as far as the others do", () =>
    Effect.gen(function*() {
      const engine = yield* StandInEngine
      const shape = pointsTo(20_000)
      for (const code of [443, 171]) {
        yield* engine.behave((request, response) =>
          (request.body.includes("\"lon\":10}") ? refusal(code) : matched)(request, response)
        )
        const answer = yield* match({ activity: "cycle", shape })
        const { coverage, edges, matched_points } = Schema.decodeUnknownSync(Joined)(answer.body)
        assertSamePlaces(matched_points, shape)
        assert.deepStrictEqual(matched_points[0], { lat: 0, lon: 10, type: "unmatched" })
        assert.deepInclude(matched_points.at(-1), { type: "matched", edge_index: 1 })
        assert.deepStrictEqual(edges.map(({ begin_shape_index }) => begin_shape_index), [0, 1])
        assert.isAbove(coverage, 0)
        yield* engine.behave(refusal(code))
        const unmatched = yield* match({ activity: "cycle", shape })
        assert.deepInclude(unmatched.body, { statusCode: 404, details: { reason: "no_path" } })
      }
    }))

  it.effect("whose last piece goes farther than the engine does is matched without it, and refused if it is all", () =>
    Effect.gen(function*() {
      const engine = yield* StandInEngine
      const shape = [...pointsTo(16_000), { lat: 0, lon: 10.05 }]
      for (const code of [172, 154]) {
        yield* engine.behave((request, response) =>
          (Schema.decodeSync(Asked)(request.body).shape.length === 2 ? refusal(code) : matched)(request, response)
        )
        const answer = yield* match({ activity: "cycle", shape })
        assert.strictEqual(answer.status, 200, String(code))
        const { coverage, matched_points } = Schema.decodeUnknownSync(Joined)(answer.body)
        assertSamePlaces(matched_points, shape)
        assert.deepInclude(matched_points.at(-1), { type: "unmatched" })
        assert.isAbove(coverage, 0)
        assert.isBelow(coverage, 1)
        const refused = yield* match({ activity: "cycle", encodedPolyline: line([0, 10], [0, 10.05]) })
        assert.deepInclude(refused.body, { statusCode: 400 })
        assert.include(refused.text, `"reason":"too_far"`)
        assert.include(
          refused.text,
          `{"path":"body.encodedPolyline","message":"The points of the trace are too far apart"}`
        )
      }
    }))

  it.effect("near a pole follows no road, which the engine is not asked", () =>
    Effect.gen(function*() {
      const { asked } = yield* StandInEngine
      const before = asked.length
      for (const lat of [-90, 89.5]) {
        const { body } = yield* match({
          activity: "walk",
          shape: [{ lat, lon: 0 }, { lat: Math.sign(lat) * 88, lon: 0 }]
        })
        assert.deepInclude(body, { statusCode: 404, details: { reason: "no_path" } })
      }
      assert.strictEqual(asked.length, before)
    }))

  it.effect("around the world is refused, however few or many its points", () =>
    Effect.gen(function*() {
      const zigzag = (count: number) =>
        Array.from({ length: count }, (_, n) => ({ lat: n % 2 === 0 ? -60 : 60, lon: n % 100 }))
      for (const shape of [zigzag(100), zigzag(50_000)]) {
        const answer = yield* match({ activity: "walk", shape })
        assert.strictEqual(answer.status, 400)
        assert.include(answer.text, `"reason":"too_far"`)
        assert.include(answer.text, `"path":"body.shape"`)
      }
      const encodedPolyline = line([0, 0], [60, 0])
      assert.include((yield* match({ activity: "walk", encodedPolyline })).text, `"path":"body.encodedPolyline"`)
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
