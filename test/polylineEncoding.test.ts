import { assert, it } from "@effect/vitest"
import polyline from "@mapbox/polyline"
import * as fc from "fast-check"
import type { Position } from "../src/schema/Geometry.ts"
import { coordinatesOf } from "../src/services/routes/Coordinates.ts"
import { polyline6 } from "../src/services/routes/Lines.ts"

const longitude = fc.oneof(
  fc.double({ min: -180, max: 180, noNaN: true }),
  fc.constantFrom(-180, 180, 0, -0, 0.0000005, -0.0000005, 1.0000005)
)
const latitude = fc.oneof(
  fc.double({ min: -90, max: 90, noNaN: true }),
  fc.constantFrom(-90, 90, 0, -0.0000005, 45.1234565)
)

it("a polyline is what the library makes of the line, for any positions", () => {
  const line = fc.array(fc.tuple(longitude, latitude), { maxLength: 50 })
  fc.assert(
    fc.property(line, (positions: ReadonlyArray<Position>) => {
      const expected = polyline.encode(positions.map(([lng, lat]) => [lat, lng]), 6)
      assert.strictEqual(polyline6(coordinatesOf(positions)), expected)
    }),
    { numRuns: 2000 }
  )
})
