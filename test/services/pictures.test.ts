import { assert, describe, it } from "@effect/vitest"
import { Resvg } from "@resvg/resvg-js"
import { Deferred, Effect, Exit, Fiber, Metric } from "effect"
import * as fc from "fast-check"
import type { Position } from "../../src/schema/Geometry.ts"
import { DEFAULT_PICTURE, type PictureOptions, ROAD_DATA_ATTRIBUTION } from "../../src/schema/Picture.ts"
import { drawPicture, drawPng, drawSvg } from "../../src/services/pictures/PictureJobs.ts"
import { makePictureCache } from "../../src/services/pictures/Pictures.ts"
import { roundLength } from "../../src/services/pictures/Shapes.ts"
import { numbers } from "../support/Numbers.ts"

const draw = (
  positions: ReadonlyArray<Position>,
  options: Partial<PictureOptions> = {},
  members: { readonly name?: string; readonly attribution?: string; readonly waypoints?: ReadonlyArray<Position> } = {}
) =>
  drawPicture(
    { name: "A ride", attribution: undefined, waypoints: [], ...members, positions },
    { ...DEFAULT_PICTURE, ...options }
  )

/** Returns the corners of the polylines, which a path has as one absolute point and then relative ones. */
const cornersOf = (svg: string) =>
  [...svg.matchAll(/ d="M([-\d.]+) ([-\d.]+)((?:l[-\d.]+ [-\d.]+)*)"/g)].map(([, x = "", y = "", steps = ""]) => {
    const corners = [[Number(x), Number(y)] as const]
    for (const [, byX, byY] of steps.matchAll(/l([-\d.]+) ([-\d.]+)/g)) {
      const [lastX = 0, lastY = 0] = corners.at(-1) ?? []
      corners.push([lastX + Number(byX), lastY + Number(byY)])
    }
    return corners
  })

const assertInside = (svg: string, { height, width }: Pick<PictureOptions, "height" | "width">) => {
  for (const [x, y] of cornersOf(svg).flat()) {
    assert.isTrue(x >= -0.5 && x <= width + 0.5 && y >= -0.5 && y <= height + 0.5, `${x} ${y}`)
  }
  assert.notMatch(svg, /NaN|Infinity|undefined/)
}

const position = fc.oneof(
  fc.tuple(fc.constantFrom(-180, 180, 0, 9), fc.constantFrom(-90, 90, 0, 47)),
  fc.tuple(
    numbers(-180, 180),
    numbers(-90, 90),
    fc.double({ noNaN: true, noDefaultInfinity: true })
  )
)

const options = fc.record({
  width: fc.integer({ min: 64, max: 1200 }),
  height: fc.integer({ min: 64, max: 1200 }),
  theme: fc.constantFrom("light" as const, "dark" as const),
  profile: fc.boolean()
})

describe("pictures", () => {
  it("of any line are SVG whose lines lie inside the picture", () => {
    fc.assert(
      fc.property(
        fc.array(position, { maxLength: 40 }),
        fc.array(position, { maxLength: 4 }),
        fc.string({ unit: "binary" }),
        options,
        (line, waypoints, name, options) => {
          const svg = draw(line, options, { name, attribution: ROAD_DATA_ATTRIBUTION, waypoints })
          assertInside(svg, options)
          const { height, width } = new Resvg(svg, { font: { loadSystemFonts: false } })
          assert.deepStrictEqual([width, height], [options.width, options.height])
        }
      ),
      { numRuns: 200 }
    )
  })

  it("of 100,000 positions have a bounded length, whatever the line", () => {
    const lines: ReadonlyArray<(index: number) => Position> = [
      (index) => [index % 2 === 0 ? 9 : 10, 47 + index / 100_000, index % 500],
      (index) => [((index * 170) % 360) - 180, ((index * 7) % 180) - 90, index],
      () => [9, 47, 100]
    ]
    for (const at of lines) {
      const svg = draw(Array.from({ length: 100_000 }, (_, index) => at(index)), {
        width: 1200,
        height: 1200,
        profile: true
      })
      assert.isBelow(svg.length, 150_000)
      assertInside(svg, { width: 1200, height: 1200 })
    }
  })

  it("of a line across the antimeridian show it without a jump", () => {
    const [casing = []] = cornersOf(draw([[179.8, -17], [179.9, -17.1], [-179.9, -17], [-179.8, -17.1]]))
    const steps = casing.slice(1).map(([x], index) => x - (casing[index]?.[0] ?? 0))
    assert.strictEqual(steps.length, 3)
    assert.isTrue(steps.every((step) => step > 0))
    assert.closeTo(steps[1] ?? 0, 2 * (steps[0] ?? 0), 1)
  })

  it("mark every waypoint that is not an end of the line, also where others see neither the first nor the last", () => {
    const line: ReadonlyArray<Position> = [[9, 47], [9.1, 47], [9.2, 47]]
    const dots = (waypoints: ReadonlyArray<Position>) => draw(line, {}, { waypoints }).split("<circle").length - 2
    assert.deepStrictEqual([[], line, line.slice(1, 2), line.slice(1)].map(dots), [0, 1, 1, 1])
  })

  it("have a scale bar of a round length that is true for the line", () => {
    for (const lat of [0, 60]) {
      const svg = draw([[9, lat], [10, lat]])
      const [, pixels = "", kilometres = ""] = /v5h([\d.]+)v-5[^]*?>(\d+) km</.exec(svg) ?? []
      const [[from, to] = []] = cornersOf(svg)
      const degree = (to?.[0] ?? 0) - (from?.[0] ?? 0)
      assert.closeTo(Number(kilometres) / Number(pixels), 111.19 * Math.cos(lat * Math.PI / 180) / degree, 0.001)
    }
    assert.deepStrictEqual([7, 49, 50, 0.3].map(roundLength), [5, 20, 50, 0.2])
  })

  it("draw the elevation profile below the line where there are elevations, and nothing instead where there are none", () => {
    const high = draw([[9, 47, 400], [9.1, 47, 1234], [9.2, 47, 800]], { profile: true })
    for (const text of ["1234 m", "400 m", "15.2 km"]) assert.include(high, `>${text}</text>`)
    const flat = draw([[9, 47, 400], [9.1, 47, 400]], { profile: true })
    assert.strictEqual(flat.split(">400 m</text>").length - 1, 1, "two labels at one height would cover each other")
    assert.strictEqual(draw([[9, 47], [9.1, 47]], { profile: true }), draw([[9, 47], [9.1, 47]]))
  })

  it("draw a rise of 40 m and more as high as there is room, and a smaller one in proportion", () => {
    const heightOf = (rise: number) => {
      const profile = cornersOf(draw([[9, 47, 400], [9.1, 47, 400 + rise]], { profile: true })).at(-1) ?? []
      const ys = profile.map(([, y]) => y)
      return Math.max(...ys) - Math.min(...ys)
    }
    assert.closeTo(heightOf(40), heightOf(400), 0.2)
    assert.closeTo(heightOf(10), heightOf(40) / 4, 0.2)
    assert.isAbove(heightOf(40), 20)
  })

  it("name the source of the roads for lines of the routing engine only", () => {
    assert.include(draw([[9, 47]], {}, { attribution: ROAD_DATA_ATTRIBUTION }), `>${ROAD_DATA_ATTRIBUTION}</text>`)
    assert.notInclude(draw([[9, 47]]), "OpenStreetMap")
  })

  it("have the source beside the scale from a width of 400, and above the line in a narrower one", () => {
    const baselineOf = (width: number) => {
      const svg = draw([[9, 47], [9.1, 47]], { width, height: 300 }, { attribution: ROAD_DATA_ATTRIBUTION })
      return Number(new RegExp(`y="([\\d.]+)"[^>]*>${ROAD_DATA_ATTRIBUTION}`).exec(svg)?.[1])
    }
    assert.isAbove(baselineOf(400), 250)
    assert.isBelow(baselineOf(399), 50)
  })

  it("escape the name, and show it in no picture", () => {
    const svg = draw([[9, 47]], {}, { name: "</title><script>alert(1)</script>" })
    assert.include(svg, "<title>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;</title>")
  })

  it.effect("are made for the others too when the client that asked first leaves, and kept if they are current", () =>
    Effect.gen(function*() {
      const getOrMake = yield* makePictureCache<never>()
      const figures = Effect.map(Metric.snapshot, (metrics) =>
        metrics.flatMap((metric) => {
          if (metric.type === "Counter") return [`${metric.attributes?.["outcome"]} ${metric.state.count}`]
          return metric.type === "Gauge" ? [`bytes ${metric.state.value}`] : []
        }).toSorted())
      assert.deepStrictEqual(yield* figures, ["bytes 0", "joined 0", "kept 0", "made 0"])
      const ready = yield* Deferred.make<void>()
      const bytes = Uint8Array.of(1)
      const made = (isCurrent: boolean) => Effect.as(Deferred.await(ready), { bytes, isCurrent })
      const twice = Effect.die(new Error("made twice"))
      const first = yield* Effect.forkChild(getOrMake("seen", made(true)), { startImmediately: true })
      const second = yield* Effect.forkChild(getOrMake("seen", twice), { startImmediately: true })
      yield* Fiber.interrupt(first)
      yield* Deferred.succeed(ready, undefined)
      assert.deepStrictEqual(yield* Fiber.join(second), { bytes, isCurrent: true })
      assert.deepStrictEqual(yield* getOrMake("seen", twice), { bytes, isCurrent: true })
      assert.deepStrictEqual(yield* getOrMake("changed meanwhile", made(false)), { bytes, isCurrent: false })
      assert.isTrue(Exit.isFailure(yield* Effect.exit(getOrMake("changed meanwhile", twice))))
      assert.deepStrictEqual(yield* figures, ["bytes 1", "joined 1", "kept 1", "made 3"])
    }).pipe(Effect.scoped, Effect.provideService(Metric.MetricRegistry, new Map())))

  it.effect("in PNG are those in SVG, with texts", () =>
    Effect.promise(async () => {
      const order = {
        name: "A ride",
        geometry: "[[9,47],[9.1,47.05]]",
        waypoints: "[]",
        attribution: ROAD_DATA_ATTRIBUTION,
        options: DEFAULT_PICTURE
      }
      const sizeOf = (png: Uint8Array) => [Buffer.from(png).readUInt32BE(16), Buffer.from(png).readUInt32BE(20)]
      const png = await drawPng.run(order)
      assert.deepStrictEqual(sizeOf(png), [800, 500])
      const silent = await drawPng.run({ ...order, attribution: undefined })
      assert.isAbove(png.length, silent.length + 500)
      assert.include(new TextDecoder().decode(await drawSvg.run(order)), ROAD_DATA_ATTRIBUTION)
    }))
})
