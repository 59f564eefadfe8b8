import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import simplify from "simplify-js"
import type { Position } from "../../src/schema/Geometry.ts"
import { boundsOf, coordinatesOf } from "../../src/services/geometry/Geodesy.ts"
import { simplifiedLine } from "../../src/services/geometry/MeasuredPolyline.ts"
import { numbers } from "../support/Numbers.ts"

const COUNT = 100_000

const lineOf = (at: (index: number) => readonly [number, number], count = COUNT): ReadonlyArray<Position> =>
  Array.from({ length: count }, (_, index) => at(index))

/** The ride turns a little at each of its positions, with the noise of a receiver. */
const rideOf = (turns: ReadonlyArray<number>): ReadonlyArray<Position> => {
  const ride = { heading: 0, lng: 9, lat: 47 }
  return turns.map((turn, index) => {
    ride.heading += turn
    ride.lng += Math.cos(ride.heading) * 1e-4 + (turns.at(-index) ?? 0) * 1e-5
    ride.lat += Math.sin(ride.heading) * 1e-4 + (turns.at(index / 2) ?? 0) * 1e-5
    return [ride.lng, ride.lat]
  })
}

interface Point {
  readonly x: number
  readonly y: number
}

/** Thins a line by the library's recursive Douglas-Peucker, with a tolerance that grows until 200 are left. */
const byLibrary = (positions: ReadonlyArray<Position>): ReadonlyArray<Position> => {
  const bounds = boundsOf(coordinatesOf(positions))
  const size = bounds === undefined ? 0 : Math.max(bounds.east - bounds.west, bounds.north - bounds.south)
  const scale = Math.cos(((positions[0]?.[1] ?? 0) * Math.PI) / 180)
  const thin = (points: Array<Point>, tolerance: number): Array<Point> =>
    points.length <= 200 ? points : thin(simplify(points, tolerance), tolerance * 1.5)
  const points = positions.map(([lng, lat]) => ({ x: lng * scale, y: lat }))
  const kept = new Set(thin(points, Math.max(size / 5000, Number.EPSILON)))
  return positions.filter((_, index) => kept.has(points[index] ?? { x: 0, y: 0 }))
}

const simplified = (positions: ReadonlyArray<Position>): ReadonlyArray<Position> => {
  const { indexes } = simplifiedLine(coordinatesOf(positions))
  assert.deepStrictEqual([...indexes], [...new Set(indexes)].toSorted((a, b) => a - b))
  const kept = new Set(indexes)
  return positions.filter((_, index) => kept.has(index))
}

const zigzag = (index: number) => [index / COUNT, index % 2] as const

const UNUSUAL: Readonly<Record<string, ReadonlyArray<Position>>> = {
  zigzag: lineOf(zigzag),
  "zigzag of 5,000": lineOf(zigzag, 5000),
  "zigzag that narrows": lineOf((index) => [index / COUNT, (index % 2) * (1 - index / COUNT)]),
  "zigzag across the antimeridian": lineOf((index) => [index % 2 === 0 ? 180 : -180, index / COUNT]),
  spiral: lineOf((index) => [Math.cos(index / 10) * index / COUNT, Math.sin(index / 10) * index / COUNT]),
  "one position": lineOf(() => [9, 47]),
  "two positions in turn": lineOf((index) => [index % 2, 47]),
  lanes: lineOf((index) => [9 + Math.abs(index % 200 - 100) / 1e4, 47 + Math.floor(index / 100) / 1e5])
}

describe("a simplified line", () => {
  it("is what recursive Douglas-Peucker makes of an ordinary line", () => {
    const turn = numbers(-1, 1)
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 3000, size: "max" }), (turns) => {
        const ride = rideOf(turns)
        assert.deepStrictEqual(simplified(ride), byLibrary(ride))
      }),
      { numRuns: 50 }
    )
    const position = fc.tuple(fc.integer({ min: -180, max: 180 }), fc.integer({ min: -90, max: 90 }))
    fc.assert(
      fc.property(fc.array(position, { maxLength: 800, size: "max" }), (line) => {
        assert.deepStrictEqual(simplified(line), byLibrary(line))
      }),
      { numRuns: 50 }
    )
  })

  it("is the same for a ride of 100,000 positions", () => {
    const ride = rideOf(Array.from({ length: COUNT }, (_, index) => Math.sin(index) * Math.sin(index / 77)))
    assert.deepStrictEqual(simplified(ride), byLibrary(ride))
  })

  it("is the same for a walk of 20,000 steps in directions that have nothing to do with each other", () => {
    const at = { lng: 9, lat: 47 }
    const walk = lineOf((index) => {
      at.lng += Math.cos(0.7 * index * index) * 1e-4
      at.lat += Math.sin(0.7 * index * index) * 1e-4
      return [at.lng, at.lat]
    }, 20_000)
    assert.deepStrictEqual(simplified(walk), byLibrary(walk))
  })

  for (const [name, line] of Object.entries(UNUSUAL)) {
    it(`of a ${name} has its ends, and at most 200 positions`, () => {
      const kept = simplified(line)
      assert.isAtMost(kept.length, 200)
      assert.deepStrictEqual([kept[0], kept.at(-1)], [line[0], line.at(-1)])
    })
  }

  it("of a long zigzag still fills its box", () => {
    for (const line of [lineOf(zigzag), lineOf(zigzag, 10_000)]) {
      const [whole, kept] = [boundsOf(coordinatesOf(line)), boundsOf(coordinatesOf(simplified(line)))]
      assert.deepStrictEqual([kept?.south, kept?.north], [whole?.south, whole?.north])
      assert.strictEqual(simplified(line).length, 200)
    }
  })

  it("is the whole line up to 200 positions", () => {
    assert.strictEqual(simplified(lineOf(zigzag, 200)).length, 200)
    assert.isBelow(simplified(lineOf((index) => [index / COUNT, 47], 201)).length, 200)
  })

  it("is that of the library where positions are as far apart as the tolerance", () => {
    // A 5000th of this height is a 1024th, which a binary number has exactly.
    const height = 5000 / 1024
    const step = fc.constantFrom([0, 1], [1, 0], [1, 0], [0, -1])
    fc.assert(
      fc.property(fc.array(step, { minLength: 300, maxLength: 600, size: "max" }), (steps) => {
        const at = { x: 0, y: 0 }
        const walk = steps.map(([x = 0, y = 0]): Position => {
          at.x += x
          at.y += y
          return [at.x / 1024, at.y / 1024]
        })
        const line = [[0, 0] as const, ...walk, [0, height + Math.min(...walk.map(([, lat]) => lat), 0)] as const]
        assert.deepStrictEqual(simplified(line), byLibrary(line))
      }),
      { numRuns: 50 }
    )
  })

  it("has the ends of all its parts up to 100, and else of the first, the last and the longest of them", () => {
    for (const [count, shown] of [[100, 100], [101, 100], [150, 100], [1000, 100]] as const) {
      const lengths = Array.from({ length: count }, (_, part) => (part * 37) % count)
      const inner = new Set(lengths.slice(1, -1).toSorted((a, b) => b - a).slice(0, shown - 2))
      const expected = lengths.flatMap((length, part) =>
        part === 0 || part === count - 1 || inner.has(length) ? [2 * part, 2 * part + 1] : []
      )
      const line = lengths.flatMap((length, part): ReadonlyArray<Position> => [
        [part / 100, 0],
        [part / 100, (1 + length) / 1000]
      ])
      const starts = lengths.map((_, part) => 2 * part)
      const { indexes, segments } = simplifiedLine(coordinatesOf(line), undefined, starts)
      assert.deepStrictEqual([...indexes], expected)
      assert.deepStrictEqual(segments, starts.slice(0, shown))
    }
  })

  it("of several parts has the ends of each, also of one position and of long zigzags", () => {
    const line = lineOf(zigzag)
    const zigzags = simplifiedLine(coordinatesOf(line), undefined, [0, 50_000])
    assert.deepStrictEqual(zigzags.segments, [0, 100])
    assert.deepStrictEqual([0, 99, 100, 199].map((index) => zigzags.indexes[index]), [0, 49_999, 50_000, 99_999])
    assert.strictEqual(zigzags.indexes.length, 200)
    const straight = lineOf((index) => [index / COUNT, 47], 300)
    const { indexes, segments } = simplifiedLine(coordinatesOf(straight), undefined, [0, 1, 2, 150])
    assert.deepStrictEqual([[...indexes], segments], [[0, 1, 2, 149, 150, 299], [0, 1, 2, 4]])
    assert.deepStrictEqual(simplifiedLine(coordinatesOf([])), { indexes: new Uint32Array(), segments: [] })
  })
})
