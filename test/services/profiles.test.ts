import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import type { Position } from "../../src/schema/Geometry.ts"
import { profileOf } from "../../src/services/geometry/Elevation.ts"
import { numbers } from "../support/Numbers.ts"

/** Two positions on a meridian are some 111.2 m apart. */
const north = (index: number, height?: number): Position => {
  const lat = index / 1000
  return height === undefined ? [9, lat] : [9, lat, height]
}

const line = (...heights: ReadonlyArray<number | undefined>) => heights.map((height, index) => north(index, height))

describe("an elevation profile", () => {
  it("has the positions of a short line, with null where one has no elevation", () => {
    const { distance, points } = profileOf(line(100, undefined, 120.04), 10)
    assert.deepStrictEqual(points, [
      { distance: 0, height: 100 },
      { distance: 111.2, height: null },
      { distance: 222.4, height: 120 }
    ])
    assert.strictEqual(distance, 222.4)
  })

  it("interpolates a longer line at even distances, but not beside a position without an elevation", () => {
    assert.deepStrictEqual(profileOf(line(0, 10, 20, 30, 40), 3).points.map(({ height }) => height), [0, 20, 40])
    assert.deepStrictEqual(profileOf(line(0, 10, 20, undefined, 40), 4).points.map(({ height }) => height), [
      0,
      13.3,
      null,
      40
    ])
  })

  it("has as many positions as it may have points, and else points at even distances between uneven ones", () => {
    const uneven = [north(0, 0), north(1, 10), north(3, 50), north(4, 40)]
    assert.deepStrictEqual(profileOf(uneven, 4).points.map(({ distance }) => distance), [0, 111.2, 333.6, 444.8])
    assert.deepStrictEqual(profileOf(uneven, 3).points, [
      { distance: 0, height: 0 },
      { distance: 222.4, height: 30 },
      { distance: 444.8, height: 40 }
    ])
  })

  it("begins and ends with the heights of its ends, whatever is known between them, and behind a gap", () => {
    const steps = fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 3, maxLength: 60 })
    fc.assert(fc.property(steps, fc.integer({ min: 2, max: 50 }), (steps, samples) => {
      const lats = steps.map((_, index) => steps.slice(0, index).reduce((sum, step) => sum + step, 0) / 1e5)
      const last = lats.length - 1
      const { points } = profileOf(
        lats.map((lat, index): Position => index % last === 0 ? [9, lat, 100 + index] : [9, lat]),
        samples
      )
      assert.deepStrictEqual([points[0]?.height, points.at(-1)?.height], [100, 100 + last])
    }))
    assert.deepStrictEqual(profileOf(line(100, 200, 300), 2, [0, 2]).points, [
      { distance: 0, height: 100 },
      { distance: 111.2, height: 300 }
    ])
  })

  it("has null for a height that is too large for a number of decimetres", () => {
    assert.deepStrictEqual(profileOf(line(1e308, 5), 2).points.map(({ height }) => height), [null, 5])
  })

  it("has no points without elevations or positions", () => {
    assert.deepStrictEqual(profileOf(line(undefined, undefined), 5), { distance: 111.2, points: [] })
    assert.deepStrictEqual(profileOf([], 5), { distance: 0, points: [] })
  })

  it("of any line goes from its start to its end, and stays between its lowest and highest elevation", () => {
    const height = fc.option(numbers(-400, 8000), { nil: undefined })
    fc.assert(
      fc.property(
        fc.array(height, { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 2, max: 50 }),
        (heights, samples) => {
          const { distance, points } = profileOf(line(...heights), samples)
          const known = heights.filter((height) => height !== undefined)
          if (known.length === 0) return assert.deepStrictEqual(points, [])
          assert.strictEqual(points.length, heights.length <= samples ? heights.length : samples)
          assert.deepStrictEqual([points[0]?.distance, points.at(-1)?.distance], [0, distance])
          assert.deepStrictEqual(
            points.map((point) => point.distance),
            points.map((point) => point.distance).toSorted((a, b) => a - b)
          )
          for (const { height } of points) {
            if (height !== null) assert.isTrue(height >= Math.min(...known) - 0.1 && height <= Math.max(...known) + 0.1)
          }
        }
      )
    )
  })
})
