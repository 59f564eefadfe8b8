import { assert, it } from "@effect/vitest"
import polyline from "@mapbox/polyline"
import * as fc from "fast-check"
import type { Position } from "../../src/schema/Geometry.ts"
import { coordinatesOf } from "../../src/services/geometry/Geodesy.ts"
import { measurePolyline6 } from "../../src/services/geometry/MeasuredPolyline.ts"
import { decodePolyline, encodePolyline } from "../../src/services/geometry/Polyline.ts"
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
    { numRuns: 2000 }
  )
})
