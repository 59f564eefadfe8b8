import { assert, describe, it } from "@effect/vitest"
import { measureSheet } from "../../src/services/routes/RouteSheet.ts"

/** A hundredth of a degree of the equator. */
const STEP = 2 * Math.PI * 6_371_000 / 36_000

const METRES_IN_DEGREES = 0.01 / STEP

interface Members {
  readonly line?: ReadonlyArray<ReadonlyArray<number>>
  readonly segments?: ReadonlyArray<number>
  readonly waypoints?: ReadonlyArray<unknown>
  readonly cues?: ReadonlyArray<unknown>
}

const sheetOf = async ({ cues = [], line = [], segments = [], waypoints = [] }: Members) =>
  measureSheet.run({
    geometry: JSON.stringify(line),
    segments: JSON.stringify(segments),
    waypoints: JSON.stringify(waypoints),
    cues: JSON.stringify(cues)
  })

const cueAt = (begin_shape_index: number, type = 8) => ({
  instruction: `Cue ${begin_shape_index}`,
  type,
  begin_shape_index,
  length: 0,
  time: 0
})

const still = (positions: number) => Array.from({ length: positions }, () => [0, 0])

describe("the sheet of a route", () => {
  it("has the slope at each height, in percent, between the heights before and after it", async () => {
    const { samples } = await sheetOf({ line: [[0, 0, 0], [0.01, 0, 50], [0.02, 0], [0.03, 0, 20]] })
    const heights = [
      [0, 0, 100 * 50 / STEP],
      [STEP, 50, 100 * 20 / (3 * STEP)],
      [3 * STEP, 20, -100 * 30 / (2 * STEP)]
    ] as const
    assert.lengthOf(samples, heights.length)
    heights.forEach(([metres, height, slope], index) => {
      assert.closeTo(samples[index]?.metres ?? NaN, metres, 0.05)
      assert.strictEqual(samples[index]?.height, height)
      assert.closeTo(samples[index]?.slope ?? NaN, slope, 0.001)
    })
  })

  it("has a slope over less than a metre, and none where two heights are at one place", async () => {
    const slopesOf = async (lng: number) =>
      (await sheetOf({ line: [[0, 0, 10], [lng, 0, 11]] })).samples.map(({ slope }) => slope)
    assert.deepStrictEqual(await slopesOf(0.5 * METRES_IN_DEGREES), [200, 200])
    assert.deepStrictEqual(await slopesOf(0), [0, 0])
  })

  it("has three hundred heights of a longer line", async () => {
    const line = Array.from({ length: 400 }, (_, index) => [index / 1000, 0, index])
    assert.lengthOf((await sheetOf({ line })).samples, 300)
    assert.lengthOf((await sheetOf({ line: line.slice(0, 299) })).samples, 299)
  })

  it("lists the waypoints that have a name and the cues along the line, and no cue beyond it", async () => {
    const line = [0, 1, 2, 3, 4].map((index) => [index / 100, 0])
    const { stopCount, stops } = await sheetOf({
      line,
      waypoints: [
        { coord: [0, 0], name: "Start" },
        { coord: [0.01, 0], type: "routed" },
        { coord: [0.02, 0] },
        { coord: [0.03, 0], name: null },
        { coord: [0.03, 0], name: "" },
        { coord: [0.03, 0], name: "Inn" },
        { coord: [0.04, 0], name: "End" }
      ],
      cues: [cueAt(1, 15), cueAt(4, 10), cueAt(5)]
    })
    assert.deepStrictEqual(
      stops.map(({ kind, metres, text, turn }) => [kind, Math.round(metres / STEP), text, turn]),
      [
        ["waypoint", 0, "Start", undefined],
        ["cue", 1, "Cue 1", "Left"],
        ["waypoint", 3, "Inn", undefined],
        ["waypoint", 4, "End", undefined],
        ["cue", 4, "Cue 4", "Right"]
      ]
    )
    assert.strictEqual(stopCount, 5)
  })

  it("lists the first waypoint at the start and the last at the end within 100 m, else in their order at the nearest positions", async () => {
    // The way back passes 50 m beside the start, and ends there.
    const near = 50 * METRES_IN_DEGREES
    const line = [[0, 0], [0.01, 0], [0.02, 0], [0.01, 0], [near, 0], [0, 0]]
    /** Returns the metres of each waypoint, in their order. */
    const stopsAt = async (...lngs: ReadonlyArray<number>) => {
      const { stops } = await sheetOf({
        line,
        waypoints: lngs.map((lng, order) => ({ coord: [lng, 0], name: `Waypoint ${order}` }))
      })
      return lngs.map((_, order) => Math.round(stops.find(({ text }) => text === `Waypoint ${order}`)?.metres ?? NaN))
    }
    const length = Math.round(4 * STEP)
    assert.deepStrictEqual(await stopsAt(near, near, near), [0, length - 50, length])
    const [within, beyond] = [99.5 * METRES_IN_DEGREES, 100.5 * METRES_IN_DEGREES]
    assert.deepStrictEqual(await stopsAt(within, 0.01, within), [0, Math.round(STEP), length])
    assert.deepStrictEqual(await stopsAt(beyond, beyond), [length - 50, length - 50])
    assert.deepStrictEqual(await stopsAt(0.01, 0.02, 0.01, 0), [1, 2, 3, 4].map((steps) => Math.round(steps * STEP)))
    assert.deepStrictEqual(await stopsAt(0.02), [Math.round(2 * STEP)])
  })

  it("lists the first five hundred stops, and counts all", async () => {
    const line = Array.from({ length: 600 }, (_, index) => [index / 100, 0])
    const { stopCount, stops } = await sheetOf({ line, cues: line.map((_, index) => cueAt(index)) })
    assert.strictEqual(stopCount, 600)
    assert.deepStrictEqual(stops.map(({ text }) => text), line.slice(0, 500).map((_, index) => `Cue ${index}`))
  })

  it("draws the line, or the waypoints of a route without one, from its start", async () => {
    // Google's document of the format has this example.
    const example = [[-120.2, 38.5], [-120.95, 40.7], [-126.453, 43.252]]
    const encoded = "_p~iF~ps|U_ulLnnqC_mqNvxq`@"
    const waypoints = example.map((coord) => ({ coord, name: "x" }))
    const drawn = await sheetOf({ line: example, waypoints: [{ coord: [0, 0] }] })
    assert.deepInclude(drawn, { polyline5: encoded, start: [-120.2, 38.5], steps: "0 252925 535980" })
    const { polyline5, start, stops } = await sheetOf({ waypoints })
    assert.deepStrictEqual([polyline5, start], [encoded, [-120.2, 38.5]])
    assert.deepStrictEqual(stops.map(({ metres }) => metres), [0, 0, 0])
    assert.deepInclude(await sheetOf({ line: [[0, 0]], waypoints }), { polyline5: "??", start: [0, 0] })
    assert.deepInclude(await sheetOf({}), { polyline5: "", start: undefined, stops: [], stopCount: 0 })
  })

  it("draws at most five thousand positions, with the ends of each part", async () => {
    const drawnOf = async (positions: number, segments: ReadonlyArray<number> = []) =>
      // A position at no distance from the last is two characters.
      (await sheetOf({ line: still(positions), segments })).polyline5.split(" ").map(({ length }) => length / 2)
    assert.deepStrictEqual(await drawnOf(5000), [5000])
    assert.deepStrictEqual(await drawnOf(5001), [2501])
    assert.deepStrictEqual(await drawnOf(5002), [2502])
    assert.deepStrictEqual(await drawnOf(5002, [0, 2002]), [1002, 1501])
    assert.deepStrictEqual(await drawnOf(6, [0, 2]), [2, 4])
  })
})
