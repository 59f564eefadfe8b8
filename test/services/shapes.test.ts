import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import type { Position } from "../../src/schema/Geometry.ts"
import { coordinatesOf } from "../../src/services/geometry/Geodesy.ts"
import { distance, metres, pathsOf, project, roundLength, thinned } from "../../src/services/pictures/Shapes.ts"
import { numbers } from "../support/Numbers.ts"

const BOX = { x: 30, y: 20, width: 400, height: 100 }

const projected = (line: ReadonlyArray<Position>, marks: ReadonlyArray<Position> = []) =>
  project(coordinatesOf(line), coordinatesOf(marks), BOX)

/** The Mercator projection in degrees of the equator, as in EPSG:3857, which ends at 85.0511 degrees. */
const northing = (lat: number) => {
  const inside = Math.max(-85.051_128_78, Math.min(85.051_128_78, lat))
  return Math.asinh(Math.tan(inside * Math.PI / 180)) * 180 / Math.PI
}

const positions = fc.array(
  fc.tuple(numbers(-180, 180), numbers(-90, 90)),
  { minLength: 1, maxLength: 9 }
)

const points = (xs: ReadonlyArray<number>, ys: ReadonlyArray<number> = xs.map(() => 0)) => ({
  xs: Float64Array.from(xs),
  ys: Float64Array.from(ys)
})

describe("a projected line", () => {
  it("has every position where Mercator's projection has it in its frame, in the middle of the box, which it fills", () => {
    fc.assert(fc.property(positions, positions, (line, beside) => {
      const { frame: { degrees, north, west }, line: drawn, marks, metresPerPixel } = projected(line, beside)
      const xs = [...drawn.xs, ...marks.xs]
      const ys = [...drawn.ys, ...marks.ys]
      for (const [n, [lng, lat]] of [...line, ...beside].entries()) {
        const turns = (west + (xs[n] ?? 0) * degrees - lng) / 360
        assert.closeTo(turns, Math.round(turns), 1e-9)
        assert.closeTo(north - (ys[n] ?? 0) * degrees, northing(lat), 1e-6)
      }
      const [left, right] = [Math.min(...xs), Math.max(...xs)]
      const [top, bottom] = [Math.min(...ys), Math.max(...ys)]
      assert.closeTo((left + right) / 2, 230, 1e-6)
      assert.closeTo((top + bottom) / 2, 70, 1e-6)
      assert.isAtMost(right - left, 400 + 1e-6)
      assert.isAtMost(bottom - top, 100 + 1e-6)
      const fills = right - left > 400 - 1e-6 || bottom - top > 100 - 1e-6
      assert.isTrue(fills || Math.abs(metresPerPixel - 2) < 1e-9, "the height of the box is 200 metres at least")
    }))
  })

  it("shows at least 200 metres, anywhere", () => {
    for (const lat of [0, 60, -60]) {
      assert.closeTo(projected([[9, lat]]).metresPerPixel, 2, 1e-9)
      assert.closeTo(projected([[9, lat], [9, lat + 0.001]]).metresPerPixel, 2, 1e-9)
      const [from = 0, to = 0] = projected([[9, lat], [9.1, lat]]).line.xs
      assert.closeTo(
        (to - from) * projected([[9, lat], [9.1, lat]]).metresPerPixel,
        11_119.5 * Math.cos(lat * Math.PI / 180),
        1
      )
    }
  })

  it("has the ratio of its largest scale to its smallest, that of the equator if that is inside", () => {
    const ratio = (from: number, to: number) => projected([[9, from], [9, to]]).distortion
    assert.closeTo(ratio(0, 60), 2, 1e-9)
    assert.closeTo(ratio(-60, 60), 2, 1e-9)
    assert.closeTo(ratio(-60, 45), 2, 1e-9)
    assert.closeTo(ratio(45, 60), Math.SQRT2, 1e-9)
    assert.closeTo(ratio(-60, -45), Math.SQRT2, 1e-9)
    assert.closeTo(ratio(50, 50), 1, 1e-9)
  })

  it("continues across the antimeridian, up to once around the Earth, with the marks beside it", () => {
    const steps = (...lngs: ReadonlyArray<number>) => {
      const { xs } = projected(lngs.map((lng) => [lng, 0])).line
      return [...xs.subarray(1)].map((x, index) => Math.round(x - (xs[index] ?? 0)))
    }
    assert.deepStrictEqual(steps(179.9, -179.9, -179.7), [200, 200])
    assert.deepStrictEqual(steps(0, 120, -120, 0), [133, 133, 133])
    assert.deepStrictEqual(steps(0, 120, -120, 0, 120), [200, -400, 200, 200])
    const [mark = 0] = projected([[179.8, 0], [179.9, 0]], [[-179.9, 0]]).marks.xs
    assert.closeTo(mark, 430, 1e-6)
    assert.closeTo(Math.abs(projected([], [[179.9, 0], [-179.9, 0]]).frame.degrees), 0.2 / 400, 1e-9)
  })
})

describe("a thinned line", () => {
  const xsOf = (...parts: Parameters<typeof thinned>) => [...thinned(...parts).xs]

  it("has no point nearer than 1.2 pixels to the one before, but its ends", () => {
    assert.deepStrictEqual(xsOf(points([0, 1, 2, 3, 3.5])), [0, 2, 3.5])
    assert.deepStrictEqual([...thinned(points([5, 5, 5, 5], [10, 11.1, 12.3, 20])).ys], [10, 12.3, 20])
    assert.deepStrictEqual(xsOf(points([0, 1.2, 2.4, 9])), [0, 1.2, 2.4, 9])
    assert.deepStrictEqual(xsOf(points([10, 11.1, 12.3, 20])), [10, 12.3, 20])
    assert.deepStrictEqual(xsOf(points([0, 0.9, 1.8, 2], [0, 0.9, 1.8, 2])), [0, 0.9, 1.8, 2])
    assert.deepStrictEqual([[0, 0.1], [7], []].map((xs) => xsOf(points(xs))), [[0, 0.1], [7], []])
  })

  it("keeps the first and the last point of each of its parts", () => {
    const { segments, xs } = thinned(points([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]), [0, 3, 5])
    assert.deepStrictEqual([...xs], [0, 0.2, 0.3, 0.4, 0.5, 0.7])
    assert.deepStrictEqual(segments, [0, 2, 4])
  })

  it("has 3,000 points, or every third of more, and the ends of its parts", () => {
    const far = (count: number) => points(Array.from({ length: count }, (_, n) => 2 * n))
    assert.deepStrictEqual([3000, 3001].map((count) => xsOf(far(count)).length), [3000, 1001])
    const third = xsOf(far(3003))
    assert.deepStrictEqual([third.length, third[1], third.at(-2), third.at(-1)], [1002, 6, 6000, 6004])
    const { segments, xs } = thinned(far(4000), [0, 1000, 2001, 3999])
    const starts = segments.map((at) => [xs[at - 1], xs[at]])
    assert.deepStrictEqual(starts, [[undefined, 0], [1998, 2000], [4000, 4002], [7996, 7998]])
  })
})

describe("the path of a line", () => {
  const pathOf = (xs: ReadonlyArray<number>, ys?: ReadonlyArray<number>) =>
    pathsOf({ ...points(xs, ys), segments: [] }).join()

  it("has tenths of a pixel, whose errors do not add up, and no point twice, but for a line of one", () => {
    assert.strictEqual(pathOf([1.04, 3], [2.06, 2]), "M1 2.1l2 -0.1")
    assert.strictEqual(pathOf([0, 0.14, 0.28, 0.42]), "M0 0l0.1 0l0.2 0l0.1 0")
    assert.strictEqual(pathOf([0, 1, 2]), "M0 0l1 0l1 0")
    assert.strictEqual(pathOf([0, 0, 0], [0, 1, 2]), "M0 0l0 1l0 1")
    assert.strictEqual(pathOf([0, 5, 5.01, 9]), "M0 0l5 0l4 0")
    assert.strictEqual(pathOf([1, 1, 1], [1, 1, 1]), "M1 1l0 0")
    assert.strictEqual(pathOf([]), "")
    assert.deepStrictEqual(pathsOf({ ...points([0, 1, 5, 7]), segments: [0, 2] }), ["M0 0l1 0", "M5 0l2 0"])
  })
})

describe("a length on a picture", () => {
  it("has metres below a kilometre, then kilometres with a decimal up to 100", () => {
    const lengths = [0, 999.4, 999.6, 1000, 1500, 1549, 99_949, 99_960, 100_000, 123_456, 1_234_567]
    assert.deepStrictEqual(lengths.map(distance), [
      "0 m",
      "999 m",
      "1000 m",
      "1 km",
      "1.5 km",
      "1.5 km",
      "99.9 km",
      "100 km",
      "100 km",
      "123 km",
      "1235 km"
    ])
    assert.deepStrictEqual([-12.3, 0.4, 4808.6].map(metres), ["-12 m", "0 m", "4809 m"])
  })

  it("of a scale is 1, 2 or 5 times a power of ten", () => {
    assert.deepStrictEqual([1, 1.9, 2, 4.9, 5, 9.9, 1234, 0.03].map(roundLength), [1, 1, 2, 2, 5, 5, 1000, 0.02])
  })
})
