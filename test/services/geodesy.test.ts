import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import type { Position } from "../../src/schema/Geometry.ts"
import {
  boundsOf,
  centimetres,
  type Circle,
  coordinatesOf,
  crosses,
  degrees,
  destination,
  EARTH_RADIUS,
  isInside,
  isOnEarth,
  lineMetres,
  metresAlong,
  nearest,
  radians,
  rangesOf
} from "../../src/services/geometry/Geodesy.ts"
import { boxAround, measurePolyline6, measurePositions } from "../../src/services/geometry/MeasuredPolyline.ts"
import { numbers } from "../support/Numbers.ts"

/** A sphere with the radius of the Earth has degrees of this length on its great circles. */
const DEGREE = 2 * Math.PI * 6_371_000 / 360

const lineOf = (...positions: ReadonlyArray<Position>) => coordinatesOf(positions)

describe("angles and lengths", () => {
  it("are in degrees, radians and metres with two decimals", () => {
    assert.deepStrictEqual([radians(180), degrees(Math.PI)], [Math.PI, 180])
    assert.deepStrictEqual([1.234, 1.236, 1500].map(centimetres), [1.23, 1.24, 1500])
    assert.strictEqual(EARTH_RADIUS, 6_371_000)
  })

  it("a longitude is turned to the value that is nearest to another", () => {
    assert.deepStrictEqual(
      [nearest(10, 20), nearest(-179, 179), nearest(179, -179), nearest(10, 725), nearest(10, -725)],
      [10, 181, -181, 730, -710]
    )
  })
})

describe("coordinates", () => {
  it("are longitudes and latitudes of positions, whether these have elevations or not", () => {
    const { lats, lngs } = lineOf([1, 2, 300], [4, 5])
    assert.deepStrictEqual([[...lngs], [...lats]], [[1, 4], [2, 5]])
  })

  it("are on Earth up to 180 degrees of longitude and 90 of latitude", () => {
    assert.isTrue(isOnEarth(lineOf([180, 90], [-180, -90])))
    assert.isFalse(isOnEarth(lineOf([180.1, 0], [0, 0])))
    assert.isFalse(isOnEarth(lineOf([0, 0], [0, -90.1])))
  })

  it("have a box whose west is from -180 to below 180, and whose east is over 180 across the antimeridian", () => {
    assert.isUndefined(boundsOf(lineOf()))
    assert.isNull(boxAround([]))
    const boxes: ReadonlyArray<readonly [ReadonlyArray<Position>, string]> = [
      [[[9, 47]], "(9,47),(9,47)"],
      [[[9, 47], [8, 46], [10, 48]], "(10,48),(8,46)"],
      [[[179, 1], [-179, 2], [178, 0]], "(181,2),(178,0)"],
      [[[-179, 1], [179, 2]], "(181,2),(179,1)"],
      [[[180, 0], [179, 0]], "(180,0),(179,0)"],
      [[[180, 0], [-179, 0]], "(-179,0),(-180,0)"],
      [[[100, 0], [-140, 0], [-20, 0], [100, 0]], "(460,0),(100,0)"]
    ]
    assert.deepStrictEqual(boxes.map(([positions]) => boxAround(positions)), boxes.map(([, box]) => box))
  })
})

describe("a line", () => {
  it("has parts that begin at its segments and end before the next one, and is one part without segments", () => {
    assert.deepStrictEqual(rangesOf(5, []), [{ from: 0, to: 5 }])
    assert.deepStrictEqual(rangesOf(5, [0, 2, 3]), [{ from: 0, to: 2 }, { from: 2, to: 3 }, { from: 3, to: 5 }])
    assert.deepStrictEqual([rangesOf(0, []), rangesOf(2, [0, 2]), rangesOf(2, [0, 1, 9])], [
      [],
      [{ from: 0, to: 2 }],
      [{ from: 0, to: 1 }, { from: 1, to: 2 }]
    ])
  })

  it("is measured from its start along great circles, without its gaps", () => {
    const line = lineOf([3, 0], [3, 1], [7, 0], [8, 0], [10, 0])
    const metres = [...metresAlong(line, [0, 2])].map((metres) => metres / DEGREE)
    metres.forEach((metres, index) => assert.closeTo(metres, [0, 1, 1, 2, 4][index] ?? Number.NaN, 1e-9))
    assert.closeTo(lineMetres(lineOf([179, 0], [-179, 0], [-178, 0])), 3 * DEGREE, 1e-3)
    assert.closeTo(lineMetres(lineOf([9, 60], [10, 60])), 55_596, 5)
    assert.strictEqual(lineMetres(lineOf()), 0)
  })
})

/** Returns the unit vector from the centre of the Earth. */
const vectorOf = (lng: number, lat: number) => {
  const [east, north] = [lng * Math.PI / 180, lat * Math.PI / 180]
  return [Math.cos(north) * Math.cos(east), Math.cos(north) * Math.sin(east), Math.sin(north)]
}

describe("a destination", () => {
  it("is that of a step on a sphere in space, for any start, direction and distance", () => {
    fc.assert(fc.property(
      numbers(-180, 180),
      numbers(-89, 89),
      numbers(0, 2 * Math.PI),
      numbers(0, 10_000_000),
      (lng, lat, bearing, metres) => {
        const start = vectorOf(lng, lat)
        const [north, east] = [vectorOf(lng, lat + 90), vectorOf(lng + 90, 0)]
        const angle = metres / 6_371_000
        const expected = start.map((value, axis) =>
          value * Math.cos(angle)
          + ((north[axis] ?? 0) * Math.cos(bearing) + (east[axis] ?? 0) * Math.sin(bearing)) * Math.sin(angle)
        )
        const found = destination(lng, lat, bearing, metres)
        vectorOf(found.lng, found.lat).forEach((value, axis) => assert.closeTo(value, expected[axis] ?? 2, 1e-7))
        assert.isAtMost(Math.abs(found.lng), 180)
      }
    ))
  })

  it("is a degree of latitude to the north after a degree of metres", () => {
    const { lat, lng } = destination(9, 47, 0, DEGREE)
    assert.closeTo(lat, 48, 1e-9)
    assert.closeTo(lng, 9, 1e-9)
  })
})

describe("a circle", () => {
  const radius = radians(EARTH_RADIUS)
  const circle: Circle = { lng: 0, lat: 0, radius }

  it("has the positions in it that are no farther from its centre than its radius", () => {
    const inside = ([lng, lat]: readonly [number, number], at = circle) => isInside(at, lng, lat)
    assert.deepStrictEqual(
      [[0, 1], [0, -1], [0.7, 0.7], [0, 1.0001], [1.0001, 0], [0.8, 0.8]].map(([lng = 0, lat = 0]) =>
        inside([lng, lat])
      ),
      [true, true, true, false, false, false]
    )
    assert.isTrue(inside([1, 0], { ...circle, radius: lineMetres(lineOf([0, 0], [1, 0])) }))
    assert.isTrue(inside([-179.6, 47.5], { lng: 179.9, lat: 47, radius }))
  })

  it("is crossed by a line that touches it, and by none that ends before it or passes it", () => {
    const lines: ReadonlyArray<readonly [line: readonly [number, number, number, number], isCrossing: boolean]> = [
      [[-2, 1, 2, 1], true],
      [[-2, -1, 2, -1], true],
      [[1, -2, 1, 2], true],
      [[-1, -2, -1, 2], true],
      [[-2, 1.001, 2, 1.001], false],
      [[-2, -1.001, 2, -1.001], false],
      [[1.001, -2, 1.001, 2], false],
      [[1.5, 0, 3, 0], false],
      [[-3, 0, -1.5, 0], false],
      [[0, 1.5, 0, 3], false],
      [[1.5, 0, 0.5, 0], true],
      [[0.5, 0, 1.5, 0], true],
      [[0.5, 0, 0.5, 0], true],
      [[0.8, 0.8, 0.8, 0.8], false]
    ]
    assert.deepStrictEqual(lines.map(([line]) => crosses(circle, ...line)), lines.map(([, isCrossing]) => isCrossing))
    const north = { lng: 9, lat: 60, radius }
    assert.deepStrictEqual([10.9, 11.1].map((lng) => crosses(north, lng, 59, lng, 61)), [true, false])
    assert.deepStrictEqual([10.9, 11.1].map((lng) => crosses(north, lng, 60, 20, 60)), [true, false])
    assert.isTrue(crosses({ lng: 179.5, lat: 0, radius }, -179.8, -5, -179.8, 5))
    assert.isTrue(crosses({ lng: 179.5, lat: 0, radius }, 177, 0.5, -177, 0.5))
  })

  it("is crossed by a line of which some place is near enough, for any line", () => {
    const place = fc.tuple(numbers(-3, 3), numbers(-3, 3))
    fc.assert(fc.property(place, place, fc.constantFrom(0, 60), ([fromX, fromY], [toX, toY], lat) => {
      const distance = Math.min(...Array.from({ length: 501 }, (_, index) => {
        const share = index / 500
        return Math.hypot(fromX + share * (toX - fromX), fromY + share * (toY - fromY))
      }))
      if (Math.abs(distance - 1) < 0.01) return
      const width = 1 / Math.cos(lat * Math.PI / 180)
      assert.strictEqual(
        crosses({ lng: 9, lat, radius }, 9 + fromX * width, lat + fromY, 9 + toX * width, lat + toY),
        distance < 1
      )
    }))
  })
})

describe("a measured line", () => {
  it("has no length with fewer than two positions, and no box without one", () => {
    const none = { metres: null, elevationGain: null, simplifiedSegments: null, polyline6: "" }
    assert.deepInclude(measurePositions([]), { ...none, json: "[]", simplified: "[]", box: null, positionCount: 0 })
    const one = { ...none, polyline6: "_{ssxA_cidP", json: "[[9,47]]", simplified: "[[9,47]]" }
    assert.deepInclude(measurePositions([[9, 47]]), { ...one, box: "(9,47),(9,47)", positionCount: 1 })
  })

  it("has its measures, and the segments only where they were given and are two or more", () => {
    const line: ReadonlyArray<Position> = [[0, 0, 0], [0, 1, 30.26]]
    const whole = { metres: 111_194.93, elevationGain: 30.3, box: "(0,1),(0,0)", simplified: "[[0,0,0],[0,1,30.26]]" }
    assert.deepInclude(measurePositions(line), { ...whole, segments: undefined, simplifiedSegments: null })
    assert.deepInclude(measurePositions(line, [0]), { ...whole, segments: null, simplifiedSegments: null })
    assert.deepInclude(measurePositions(line, null), { ...whole, segments: null })
    const parted = { metres: 0, elevationGain: null, segments: "[0,1]", simplifiedSegments: "[0,1]" }
    assert.deepInclude(measurePositions(line, [0, 1]), parted)
  })

  it("has measures up to the limits of what is stored", () => {
    const around = Array.from({ length: 5100 }, (_, index): Position => [180 * (index % 2), 0, 12_000 * (index % 2)])
    assert.deepInclude(measurePositions(around), { metres: 100_000_000, elevationGain: 1_000_000 })
  })

  it("of a polyline starts at its first position and has no elevations", () => {
    const { elevationGain, json, start } = measurePolyline6("_ibE?_seK_seK") ?? {}
    assert.deepStrictEqual({ elevationGain, json, start }, {
      elevationGain: null,
      json: "[[0,0.1],[0.2,0.3]]",
      start: [0, 0.1]
    })
    assert.deepInclude(measurePolyline6(""), { json: "[]", start: undefined, positionCount: 0 })
  })
})
