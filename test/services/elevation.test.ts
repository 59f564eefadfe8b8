import { assert, describe, it } from "@effect/vitest"
import { climbOf, elevationGainOf, heightsAlong } from "../../src/services/geometry/Elevation.ts"

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

const climbAt = (at: ReadonlyArray<number>, elevations: ReadonlyArray<number>, segments: ReadonlyArray<number> = []) =>
  climbOf(Float64Array.from(at), Float64Array.from(elevations), segments)

describe("the climb of a line", () => {
  it("is of elevations that are averaged over 50 m on either side, and the steepest is one over 100 m", () => {
    const { steepest = 0, ...bump } = climbAt([0, 50, 100, 150, 200, 250], [0, 0, 0, 30, 0, 0]) ?? {}
    assert.deepStrictEqual(bump, { ascent: 10, descent: 10, highest: 30, lowest: 0 })
    assert.closeTo(steepest, 10, 1e-9)
    const apart = climbAt([0, 50.5, 101, 151.5, 202, 252.5], [0, 0, 0, 30, 0, 0])
    assert.strictEqual(apart?.ascent, 30)
    assert.closeTo(apart?.steepest ?? 0, 3000 / 101, 1e-9)
  })

  it("has no steepest part where it only descends or is shorter than 100 m, and a level one of 0 %", () => {
    assert.deepStrictEqual(climbAt([0, 200], [100, 0.06]), {
      ascent: 0,
      descent: 99.9,
      highest: 100,
      lowest: 0.06,
      steepest: undefined
    })
    assert.deepInclude(climbAt([0, 99.9], [0, 10]), { ascent: 10, steepest: undefined })
    assert.deepInclude(climbAt([0, 100], [0, 10]), { ascent: 10, steepest: 10 })
    assert.deepInclude(climbAt([0, 200], [5, 5]), { ascent: 0, descent: 0, steepest: 0 })
  })

  it("is that of its parts, of which only those count that have two elevations", () => {
    const parted = { ascent: 50, descent: 0, highest: 1040, lowest: 0, steepest: 20 }
    assert.deepStrictEqual(climbAt([0, 200, 200, 400], [0, 10, 1000, 1040], [0, 2]), parted)
    const at = [0, 200, 400, 400, 600, 600, 800, 800, 900]
    const elevations = [Number.NaN, 0, 10, Number.NaN, Number.NaN, 1000, 1020, 5000, Number.NaN]
    const segments = [0, 3, 5, 7]
    assert.deepInclude(climbAt(at, elevations, segments), { ascent: 30, highest: 5000, steepest: 10 })
    assert.deepStrictEqual(heightsAlong(Float64Array.from(at), Float64Array.from(elevations), segments), {
      at: Float64Array.of(200, 400, 600, 800, 800),
      elevations: Float64Array.of(0, 10, 1000, 1020, 5000),
      segments: [0, 2, 4]
    })
    assert.isUndefined(climbAt([0, 200, 400], [0, 10, 20], [0, 1, 2]))
    assert.isUndefined(climbAt([0, 200], [0, Number.NaN]))
  })

  it("has elevations of up to 12,000 m above and below the sea", () => {
    assert.deepInclude(climbAt([0, 200, 400, 600], [12_000, 12_000.1, -12_000.1, -12_000]), {
      highest: 12_000,
      lowest: -12_000
    })
  })
})
