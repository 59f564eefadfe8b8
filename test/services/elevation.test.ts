import { assert, describe, it } from "@effect/vitest"
import { elevationGainOf } from "../../src/services/geometry/Elevation.ts"

/** Each position is 10 m to the north of the one before. */
const gainOf = (elevations: ReadonlyArray<number>) =>
  elevationGainOf({
    lngs: new Float64Array(elevations.length),
    lats: Float64Array.from(elevations, (_, index) => index * 10 / 111_195)
  }, Float64Array.from(elevations))

const ramp = (from: number, to: number, length: number) =>
  Array.from({ length }, (_, index) => from + (to - from) * index / (length - 1))

describe("the elevation gain of a line", () => {
  it("is the sum of its climbs", () => {
    const there = ramp(400, 900, 1000)
    assert.closeTo(gainOf(there) ?? 0, 500, 5)
    assert.closeTo(gainOf([...there, ...there.toReversed(), ...there]) ?? 0, 1000, 10)
    assert.strictEqual(gainOf(there.toReversed()), 0)
  })

  it("does not count the noise of a device", () => {
    const noisy = Array.from({ length: 5000 }, (_, index) => 400 + 3 * Math.sin(index * 2.5))
    assert.strictEqual(gainOf(noisy), 0)
    const climb = ramp(400, 600, 1000).map((elevation, index) => elevation + 2 * Math.sin(index * 2.5))
    assert.closeTo(gainOf(climb) ?? 0, 200, 5)
  })

  it("counts climbs of three metres and more, and ends one at a descent of three metres", () => {
    const plateaus = (...elevations: ReadonlyArray<number>) =>
      gainOf(elevations.flatMap((elevation) => ramp(elevation, elevation, 20)))
    assert.deepStrictEqual([plateaus(0, 2.9, 0), plateaus(0, 3, 0)], [0, 3])
    assert.deepStrictEqual([plateaus(0, 10, 7.5, 17), plateaus(0, 10, 7, 17)], [17, 20])
  })

  it("passes over positions without an elevation, and what is none on Earth", () => {
    assert.closeTo(gainOf(ramp(0, 100, 100).map((elevation, at) => at % 3 === 0 ? Number.NaN : elevation)) ?? 0, 100, 8)
    assert.closeTo(gainOf([...ramp(0, 100, 100), 1e21, ...ramp(100, 0, 100)]) ?? 0, 100, 8)
    assert.isUndefined(gainOf([Number.NaN, 5, Number.NaN]))
    assert.isUndefined(gainOf([]))
  })
})
