import { assert, describe, it } from "@effect/vitest"
import polyline from "@mapbox/polyline"
import { Schema } from "effect"
import type { Position } from "../../src/schema/Geometry.ts"
import { TraceRequest } from "../../src/schema/Routing.ts"
import type { HeavyJob } from "../../src/services/admission/HeavyJob.ts"
import {
  checkMatch,
  fillHeights,
  joinMatches,
  measureShortTrace,
  readBare,
  readHeights,
  readRoadless,
  readTrace,
  readTrip,
  readWays,
  surfaceShares
} from "../../src/services/routing/EngineJobs.ts"

const line = (...points: ReadonlyArray<[lat: number, lng: number]>) => polyline.encode([...points], 6)

const ran = async <I, O>(job: HeavyJob<I, O>, input: I) => job.run(input)

const onText = async <O>(job: HeavyJob<string, O>, value: unknown) => ran(job, JSON.stringify(value))

describe("elevations of the engine", () => {
  it("are read for the positions without one, of 20,000 in each call", async () => {
    const bare = Array.from({ length: 20_001 }, (_, n): Position => [9 + n / 1e5, 47])
    const calls = await onText(readBare, [[8, 46, 5], ...bare])
    assert.deepStrictEqual(calls.map(({ count }) => count), [20_000, 1])
    assert.deepStrictEqual(polyline.decode(calls[1]?.polyline ?? "", 6), [[47, 9.2]])
    assert.deepStrictEqual(await onText(readBare, [[8, 46, 5]]), [])
  })

  it("are those from 12,000 metres below the sea to 12,000 above, in their order, and the parts of a line stay", async () => {
    const heights = await onText(readHeights, { height: [12_000, 12_000.1, null, -12_000, -32_768] })
    assert.deepStrictEqual([...heights ?? []], [12_000, 12_000.1, Number.NaN, -12_000, -32_768])
    const positions = [[1, 11], [2, 12], [3, 13, 5], [4, 14], [5, 15], [6, 16], [7, 17]]
    const filled = await ran(fillHeights, {
      json: JSON.stringify(positions),
      segments: "[0,3]",
      heights: heights ?? new Float64Array()
    })
    assert.deepStrictEqual(JSON.parse(filled.line.json), [
      [1, 11, 12_000],
      [2, 12],
      [3, 13, 5],
      [4, 14],
      [5, 15, -12_000],
      [6, 16],
      [7, 17]
    ])
    assert.deepStrictEqual([filled.filled, filled.missing, filled.line.segments], [2, 4, "[0,3]"])
    const whole = await ran(fillHeights, { json: "[[1,2]]", segments: undefined, heights: Float64Array.of(7) })
    assert.deepStrictEqual([whole.line.json, whole.line.segments], ["[[1,2,7]]", undefined])
    for (const value of [{}, { height: ["1"] }, { height: Array.from({ length: 20_001 }, () => 1) }]) {
      assert.isUndefined(await onText(readHeights, value))
    }
  })
})

const edge = (surface: string | undefined, length: number, begin: number, end: number) => ({
  ...(surface === undefined ? {} : { surface }),
  length,
  begin_shape_index: begin,
  end_shape_index: end
})

const point = (lat: number, lon: number, members: object = {}) => ({ lat, lon, type: "matched", ...members })

const joined = async (metres: number, ...matches: ReadonlyArray<object>) => {
  const pieces = matches.map((match) =>
    "unmatched" in match ? { unmatched: JSON.stringify(match.unmatched) } : { match: JSON.stringify(match) }
  )
  const bytes = await ran(joinMatches, { metres, pieces })
  return bytes === undefined ? undefined : JSON.parse(Buffer.from(bytes).toString())
}

const MATCH = { shape: line([0, 10], [0, 10.01]), edges: [edge("paved", 1, 0, 1)], matched_points: [point(0, 10)] }

describe("the match of a trace", () => {
  it("is documented for the same points in both forms", () => {
    const [given, encoded] = Schema.resolveAnnotations(TraceRequest)?.examples ?? []
    const points = given?.shape ?? []
    assert.strictEqual(encoded?.encodedPolyline, polyline.encode(points.map(({ lat, lon }) => [lat, lon]), 6))
  })

  it("joins its pieces at a common position, and beside each other where there is none", async () => {
    const matched = await joined(
      4000,
      {
        shape: line([0, 10], [0, 10.01]),
        edges: [edge("paved", 1, 0, 1)],
        matched_points: [point(0, 10, { edge_index: 0 }), point(0, 10.01, { distance_from_trace_point: 2.5 })]
      },
      {
        shape: line([0, 10.01], [1, 10.01], [1, 11]),
        edges: [edge("gravel", 0.5, 0, 1), edge("paved", 0.25, 1, 2)],
        matched_points: [point(0, 10.01, { edge_index: 0 }), point(1, 11, { edge_index: 1 })]
      },
      { unmatched: [{ lat: 1, lon: 11 }, { lat: 2, lon: 12 }] },
      {
        shape: line([1, 12], [1, 13]),
        edges: [edge("dirt", 0.25, 0, 1)],
        matched_points: [point(2, 12), point(1, 13)]
      },
      {
        shape: line([7, 13], [8, 13]),
        edges: [edge(undefined, 0, 0, 1)],
        matched_points: [point(1, 13), point(8, 13)]
      },
      { shape: line([9, 9]), edges: [], matched_points: [point(8, 13), point(9, 9)] },
      { shape: line([9, 9], [9, 8]), edges: [edge(undefined, 0, 0, 1)], matched_points: [point(9, 9), point(9, 8)] }
    )
    assert.deepStrictEqual(polyline.decode(matched.shape, 6), [
      [0, 10],
      [0, 10.01],
      [1, 10.01],
      [1, 11],
      [1, 12],
      [1, 13],
      [7, 13],
      [8, 13],
      [9, 9],
      [9, 8]
    ])
    assert.deepStrictEqual(
      matched.edges.map((edge: Record<string, number>) => [edge["begin_shape_index"], edge["end_shape_index"]]),
      [[0, 1], [1, 2], [2, 3], [4, 5], [6, 7], [8, 9]]
    )
    assert.deepStrictEqual(matched.matched_points, [
      point(0, 10, { edge_index: 0 }),
      point(0, 10.01, { distance_from_trace_point: 2.5 }),
      point(1, 11, { edge_index: 2 }),
      { lat: 2, lon: 12, type: "unmatched" },
      point(1, 13),
      point(8, 13),
      point(9, 9),
      point(9, 8)
    ])
    assert.strictEqual(matched.coverage, 0.5)
    assert.deepStrictEqual(matched.surfaces.map(({ surface }: Record<string, string>) => surface), [
      "paved",
      "gravel",
      "dirt",
      "unknown"
    ])
  })

  it("of one position is joined to the piece that begins there", async () => {
    const { edges, shape } = await joined(
      1,
      { ...MATCH, shape: line([0, 10]), edges: [] },
      MATCH
    )
    assert.deepStrictEqual([polyline.decode(shape, 6).length, edges[0].begin_shape_index], [2, 0])
  })

  it("has the share that was matched in four decimals, at most all, and none of a trace without a length", async () => {
    const coverages = [3000, 1001, 999, 0]
    assert.deepStrictEqual(
      (await Promise.all(coverages.map((metres) => joined(metres, MATCH)))).map(({ coverage }) => coverage),
      [0.3333, 0.999, 1, 0]
    )
  })

  it("is unusable where a part of it is not what the engine sends", async () => {
    const points = [1, null, "x", [], {}]
      .concat(
        ["lat", "lon", "type", "edge_index", "distance_from_trace_point"].flatMap((name): Array<object> => [
          { ...point(0, 10), [name]: null },
          { ...point(0, 10), [name]: name === "type" ? 1 : "1" }
        ]),
        ["lat", "lon", "type"].map((name) =>
          Object.fromEntries(Object.entries(point(0, 10)).filter(([key]) => key !== name))
        )
      )
    for (const broken of points) {
      assert.isUndefined(await joined(1, { ...MATCH, matched_points: [point(0, 10), broken] }), JSON.stringify(broken))
    }
    for (const body of [1, "x", null, [], {}, { ...MATCH, shape: 1 }, { ...MATCH, shape: "\u0001" }]) {
      assert.isUndefined(await ran(joinMatches, { metres: 1, pieces: [{ match: JSON.stringify(body) }] }))
    }
    for (const edges of [undefined, null, [1], [{ ...edge("paved", 1, 0, 1), length: "1" }]]) {
      assert.isUndefined(await joined(1, { ...MATCH, edges }), JSON.stringify(edges))
    }
    assert.isUndefined(await joined(1, { ...MATCH, matched_points: {} }))
    assert.isDefined(await joined(1, { ...MATCH, matched_points: undefined }))
    const full = point(0, 10, { edge_index: 0, distance_from_trace_point: 1 })
    assert.deepStrictEqual((await joined(1, { ...MATCH, matched_points: [full] })).matched_points, [full])
    assert.deepStrictEqual([await ran(checkMatch, "{}") === undefined, await ran(checkMatch, "{")], [false, undefined])
  })
})

/** A degree of the equator has so many metres. */
const DEGREE = 2 * Math.PI * 6_371_000 / 360

describe("a trace", () => {
  const piecesOf = async (...metres: ReadonlyArray<number>) => {
    const shape = metres.map((metres) => ({ lat: 0, lon: metres / DEGREE }))
    const trace = await ran(measureShortTrace, { activity: "walk", shape })
    assert.closeTo(trace?.metres ?? 0, metres.at(-1) ?? 0, 0.01)
    return trace?.pieces.map((piece) =>
      JSON.parse(piece).map(({ lon }: { readonly lon: number }) => Math.round(lon * DEGREE / 100) / 10)
    )
  }

  it("has pieces of up to 190 kilometres, each of which begins where the one before ends, unless two points are farther", async () => {
    const every = await piecesOf(...Array.from({ length: 41 }, (_, n) => 10_100 * n))
    assert.deepStrictEqual(every?.map((piece) => [piece.length, piece[0], piece.at(-1)]), [
      [19, 0, 181.8],
      [19, 181.8, 363.6],
      [5, 363.6, 404]
    ])
    assert.deepStrictEqual(await piecesOf(0, 95_000, 189_999.5), [[0, 95, 190]])
    assert.deepStrictEqual(await piecesOf(0, 95_000, 190_000.5), [[0, 95], [95, 190]])
    assert.deepStrictEqual(await piecesOf(0, 500_000, 1_000_000, 1_000_100, 1_100_000), [
      [0, 500],
      [500, 1000],
      [1000, 1000.1, 1100]
    ])
  })

  it("has pieces of up to 16,000 points", async () => {
    const trace = await ran(measureShortTrace, {
      activity: "walk",
      shape: Array.from({ length: 32_000 }, (_, n) => ({ lat: 0, lon: n / 1e6 }))
    })
    assert.deepStrictEqual(trace?.pieces.map((piece) => JSON.parse(piece).length), [16_000, 16_000, 2])
    assert.strictEqual(trace?.member, "shape")
  })

  it("may be a polyline of 2 to 50,000 points on the Earth", async () => {
    const measured = async (encodedPolyline: string) => ran(measureShortTrace, { activity: "walk", encodedPolyline })
    const most = await measured("??".repeat(50_000))
    assert.deepStrictEqual([most?.member, most?.metres, most?.pieces.length], ["encodedPolyline", 0, 4])
    const two = await measured(line([1, 2], [3, 4]))
    assert.deepStrictEqual(two?.pieces, [`[{"lat":1,"lon":2},{"lat":3,"lon":4}]`])
    for (const broken of ["??".repeat(50_001), line([1, 2]), "", "\u0001", line([1, 2], [91, 2])]) {
      assert.isUndefined(await measured(broken))
    }
  })

  it("is taken out of a long body, which stays one that is accepted", async () => {
    const read = async (body: object) => {
      const bytes = new TextEncoder().encode(JSON.stringify(body))
      return ran(readTrace, bytes.buffer)
    }
    const { issues, parts, text } = await read({ activity: "walk", shape: [{ lat: 1, lon: 2 }, { lat: 3, lon: 4 }] })
    assert.deepStrictEqual([issues, parts?.trace.pieces.length], [[], 1])
    assert.deepStrictEqual((await read(JSON.parse(text))).issues, [])
    assert.deepStrictEqual((await read({ activity: "walk", encodedPolyline: "\u0001" })).issues, [{
      path: "encodedPolyline",
      message: "Expected a polyline with six decimals of 2 to 50000 points"
    }])
  })
})

const maneuver = (begin_shape_index: number, instruction = "Turn.") => ({
  type: 1,
  instruction,
  begin_shape_index,
  length: 1,
  time: 2
})

const leg = (shape: string, ...maneuvers: ReadonlyArray<object>) => ({
  shape,
  summary: { length: 1, time: 2 },
  maneuvers
})

const tripOf = (...legs: ReadonlyArray<object>) => ({ trip: { legs, summary: {} } })

describe("a route of the engine", () => {
  it("has the ends of its legs for locations, and the indexes of maneuvers in the joined line", async () => {
    const trip = await onText(
      readTrip,
      tripOf(
        leg(line([1, 11], [2, 12], [3, 13]), maneuver(0), maneuver(2)),
        leg(line([3, 13]), maneuver(0)),
        leg(line([3, 13], [4, 14]), maneuver(0), maneuver(1, "🚲".repeat(501)))
      )
    )
    assert.deepStrictEqual(trip?.locations, [
      { lat: 1, lon: 11, original_index: 0 },
      { lat: 3, lon: 13, original_index: 1 },
      { lat: 3, lon: 13, original_index: 2 },
      { lat: 4, lon: 14, original_index: 3 }
    ])
    assert.deepStrictEqual(trip?.maneuvers.map(({ begin_shape_index }) => begin_shape_index), [0, 2, 2, 2, 3])
    assert.strictEqual(trip?.maneuvers[4]?.instruction, "🚲".repeat(500))
  })

  it("has no location that is not on the Earth", async () => {
    const found = async (...points: ReadonlyArray<[number, number]>) =>
      (await onText(readTrip, tripOf(leg(line(...points)))))?.locations.map(({ lat, lon }) => [lat, lon])
    assert.deepStrictEqual(await found([1, 2], [91, 2]), [[1, 2]])
    assert.deepStrictEqual(await found([1, 2], [1, 181]), [[1, 2]])
  })

  it("is unusable with a leg that cannot be read, more than 5,000 maneuvers, or one beside its line", async () => {
    const short = line([1, 11], [2, 12])
    const many = (count: number) => Array.from({ length: count }, () => maneuver(0))
    const isUsable = async (...legs: ReadonlyArray<object>) => await onText(readTrip, tripOf(...legs)) !== undefined
    assert.isTrue(await isUsable(leg(short, ...many(4000)), leg(short, ...many(1000))))
    assert.isFalse(await isUsable(leg(short, ...many(4000)), leg(short, ...many(1001))))
    assert.isTrue(await isUsable(leg(short, maneuver(1))))
    assert.isFalse(await isUsable(leg(short, maneuver(2))))
    assert.isFalse(await isUsable(leg(short), leg("\u0001")))
    assert.isFalse(await isUsable())
  })
})

describe("ways of the engine", () => {
  it("have their surfaces with shares in four decimals, the longest first", () => {
    const shares = surfaceShares([
      { length: 0.1234 },
      { surface: "gravel", length: 1 },
      { surface: "paved", length: 2 },
      { surface: "gravel", length: 0.5 },
      { surface: "unknown", length: 0.0003 }
    ])
    assert.deepStrictEqual(shares, [
      { surface: "paved", length: 2, share: 0.5519 },
      { surface: "gravel", length: 1.5, share: 0.4139 },
      { surface: "unknown", length: 0.124, share: 0.0341 }
    ])
    assert.deepStrictEqual(surfaceShares([{ surface: "paved", length: 0 }]), [{
      surface: "paved",
      length: 0,
      share: 0
    }])
  })

  it("are unpaved, highways and surfaces, up to 100,000 kilometres", async () => {
    const none = { hasUnpaved: false, hasHighway: false, surfaces: [] }
    const ways = (...edges: ReadonlyArray<object>) => onText(readWays, { edges })
    assert.deepStrictEqual(await ways({ unpaved: false, road_class: "primary" }, { surface: "dirt" }), none)
    assert.deepStrictEqual(await ways({ unpaved: true }), { ...none, hasUnpaved: true })
    for (const road_class of ["motorway", "trunk"]) {
      assert.deepStrictEqual(await ways({ road_class }), { ...none, hasHighway: true })
    }
    assert.deepStrictEqual(await ways({ length: 100_000, surface: "dirt" }), {
      ...none,
      surfaces: [{ surface: "dirt", length: 100_000, share: 1 }]
    })
    assert.deepStrictEqual(await ways({ length: 100_000.001, unpaved: true }), none)
  })

  it("are missing at locations without an edge", async () => {
    const located = [{ edges: [{}] }, { edges: [] }, { edges: null }, { edges: [{}, {}] }]
    assert.deepStrictEqual(await onText(readRoadless, located), [1, 2])
    assert.deepStrictEqual(await onText(readRoadless, {}), [])
    assert.isUndefined(await ran(readRoadless, "<html>"))
  })
})
