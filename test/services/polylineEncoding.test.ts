import { assert, it } from "@effect/vitest"
import polyline from "@mapbox/polyline"
import * as fc from "fast-check"
import { MAX_POSITIONS, type Position } from "../../src/schema/Geometry.ts"
import { coordinatesOf } from "../../src/services/geometry/Geodesy.ts"
import { BROKEN_POLYLINE6, measurePolyline6, polyline6Bytes } from "../../src/services/geometry/MeasuredPolyline.ts"
import { decodePolyline, encodePolyline, positionCount } from "../../src/services/geometry/Polyline.ts"
import { numbers } from "../support/Numbers.ts"

const longitude = fc.oneof(
  numbers(-180, 180),
  fc.constantFrom(-180, 180, 0, -0, 0.0000005, -0.0000005, 1.0000005)
)
const degrees = (limit: number) => fc.integer({ min: -limit * 1e6, max: limit * 1e6 }).map((n) => n / 1e6)

const latitude = fc.oneof(
  numbers(-90, 90),
  fc.constantFrom(-90, 90, 0, -0.0000005, 45.1234565)
)

it("a polyline is what the library makes of the line, for any positions", () => {
  const line = fc.array(fc.tuple(longitude, latitude), { maxLength: 50 })
  fc.assert(
    fc.property(line, (positions: ReadonlyArray<Position>) => {
      const expected = polyline.encode(positions.map(([lng, lat]) => [lat, lng]), 6)
      assert.strictEqual(encodePolyline(coordinatesOf(positions)), expected)
    }),
    { numRuns: 2000 }
  )
})

it("a polyline is stored as the positions that it was made of, and is read as it was sent", () => {
  const line = fc.array(fc.tuple(degrees(180), degrees(90)), { maxLength: 50 })
  fc.assert(
    fc.property(line, (positions) => {
      const encoded = polyline.encode(positions.map(([lng, lat]) => [lat, lng]), 6)
      const stored = measurePolyline6(encoded)
      assert.strictEqual(stored?.polyline6, encoded)
      assert.strictEqual(stored?.json, JSON.stringify(positions.map(([lng, lat]) => [lng + 0, lat + 0])))
    }),
    { numRuns: 1000 }
  )
})

it("whatever is no polyline is refused, and what is one has two numbers for each position", () => {
  const text = fc.string({
    unit: fc.constantFrom("?", "A", "^", "_", "~", "}", "\\", " ", "\u007f", "é"),
    maxLength: 12
  })
  const isPolyline = /^([_-~]{0,5}[?-^][_-~]{0,5}[?-^])*$/
  fc.assert(
    fc.property(text, (encoded) => {
      const decoded = decodePolyline(encoded)
      assert.strictEqual(decoded !== undefined, isPolyline.test(encoded))
      assert.strictEqual(decoded?.lats.length, decoded && [...encoded.matchAll(/[?-^]/g)].length / 2)
    }),
    { examples: [["_____??"], ["______??"], ["?______?"], ["~~~~~^?"]].map(([text = ""]) => [text]), numRuns: 2000 }
  )
})

it("a polyline is read up to the most positions of a line, and weighs 16 bytes for each of them", () => {
  assert.deepStrictEqual(["", "??", "_ibE?_seK_seK"].map(positionCount), [0, 1, 2])
  assert.strictEqual(polyline6Bytes("_ibE?_seK_seK"), 32)
  assert.strictEqual(measurePolyline6("??".repeat(MAX_POSITIONS))?.positionCount, MAX_POSITIONS)
  assert.isUndefined(measurePolyline6("??".repeat(MAX_POSITIONS + 1)))
  assert.isUndefined(measurePolyline6(encodePolyline(coordinatesOf([[0, 90.000001]]))))
  assert.isUndefined(measurePolyline6("?"))
})

it("the issue of a refused polyline says what is accepted", () => {
  const expected =
    "an encoded polyline with six decimals of at most 100000 positions, -90 to 90 and -180 to 180 degrees"
  assert.deepStrictEqual(BROKEN_POLYLINE6, { path: "polyline6", message: `Expected ${expected}` })
})
