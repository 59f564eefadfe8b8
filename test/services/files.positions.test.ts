import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import type { Position } from "../../src/schema/Geometry.ts"
import { soundTimes } from "../../src/services/files/FileValues.ts"
import { placedPoints, placedTracks, timesAlong } from "../../src/services/files/Positions.ts"
import { written } from "../support/Files.ts"

type Given = Position | undefined

const PATH = "line"

const tracksOf = (...tracks: ReadonlyArray<ReadonlyArray<Given>>) =>
  Effect.runSync(placedTracks(tracks.map((track) => [track]), (position) => position, PATH))

/** Returns the positions of a track of one part, and why the others are dropped. */
const lineOf = (...given: ReadonlyArray<Given>) => {
  const { dropped, tracks } = tracksOf(given)
  return { positions: tracks[0]?.[0]?.positions, dropped: dropped.map(({ count, why }) => [why, count]) }
}

const lngsOf = (...given: ReadonlyArray<Given>) => lineOf(...given).positions?.map(([lng]) => lng)

const pointsOf = (line: ReadonlyArray<Position>, ...given: ReadonlyArray<Given>) => {
  const { tracks } = tracksOf(line)
  const { dropped, points } = Effect.runSync(placedPoints(given, (position) => position, PATH, tracks))
  const positions = points.map(([, position]) => position)
  return { positions, dropped: dropped.map(({ count, why }) => [why, count]) }
}

const UNUSABLE = "it has no usable position"
const NULL_ISLAND = "it is at 0/0, far from the others"

describe("positions of a file", () => {
  it("are at most 500,000, and of the waypoints the first 5,000", () => {
    const half: ReadonlyArray<Position> = Array.from({ length: 250_000 }, () => [1, 2])
    assert.strictEqual(tracksOf(half, half).tracks[1]?.[0]?.positions.length, 250_000)
    assert.throws(() => tracksOf(half, half, [[1, 2]]), "Expected at most 500000 positions, the file has 500001")
    const { dropped, positions } = pointsOf([[1, 2]], ...half.slice(0, 5003))
    assert.deepStrictEqual([positions.length, dropped], [5000, [["at most 5000 of a file are read", 3]]])
    assert.deepStrictEqual(pointsOf([], ...half.slice(0, 5001)).dropped, [["at most 5000 of a file are read", 1]])
    assert.deepStrictEqual(pointsOf([[1, 2]], ...half.slice(0, 5000)).dropped, [])
  })

  it("are named by their index where none is usable, the first twenty", () => {
    const given = Array.from({ length: 30 }, (): Given => undefined)
    const { issues } = Effect.runSync(Effect.flip(placedTracks([[given]], (position) => position, PATH)))
    assert.deepStrictEqual(issues.map(({ path }) => path), Array.from({ length: 20 }, (_, index) => `line.${index}`))
    assert.throws(() => pointsOf([], undefined), /^line\.0: Expected a longitude/)
  })

  it("are kept where two or more, and half of all, are usable", () => {
    const [a, b, c]: ReadonlyArray<Position> = [[1, 2], [3, 4], [5, 6]]
    assert.deepStrictEqual(lineOf(undefined, a, b), { positions: [[1, 2], [3, 4]], dropped: [[UNUSABLE, 1]] })
    assert.deepStrictEqual(lineOf(a, undefined, undefined, b).dropped, [[UNUSABLE, 2]])
    for (const given of [[a, undefined], [a, b, undefined, undefined, undefined], [undefined]]) {
      assert.throws(() => lineOf(...given), /Expected a longitude/)
    }
    const { dropped, tracks } = tracksOf([a, undefined], [a, b, c, undefined], [c])
    assert.deepStrictEqual(tracks.map(([part]) => part?.positions), [[], [[1, 2], [3, 4], [5, 6]], [[5, 6]]])
    assert.deepStrictEqual(dropped, [{ what: "line", why: UNUSABLE, count: 3 }])
    assert.deepStrictEqual(tracks.map(([part]) => part?.items), [[], [a, b, c], [c]])
  })
})

describe("a longitude beyond 180", () => {
  it("is one of the other side where it is at most ten degrees from the neighbour", () => {
    assert.deepStrictEqual(lngsOf([175, 1], [185, 1]), [175, -175])
    assert.deepStrictEqual(lngsOf([175, 1], [185.1, 1], [176, 1]), [175, 176])
    assert.deepStrictEqual(lngsOf([179, 1], [181, 11], [181, -9]), [179, -179])
    assert.deepStrictEqual(lngsOf([179, 1], [181, 11.1], [179, 2]), [179, 179])
    assert.deepStrictEqual(lngsOf([-175, 60], [-185, 60], [-195, 60], [-205, 60]), [-175, 175, 165, 155])
  })

  it("goes on from the neighbours before and behind, and not from one that does not go on", () => {
    assert.deepStrictEqual(lngsOf([195, 1], [188, 1], undefined, [179, 1], [178, 1]), [-165, -172, 179, 178])
    assert.deepStrictEqual(lngsOf([200, 46], [9, 46], [9.1, 46], [9.2, 46], [200, 46], [210, 46]), [9, 9.1, 9.2])
    assert.deepStrictEqual(lngsOf([9, 46], [200, 46], [9.1, 46], [189, 46], [8, 46]), [9, 9.1, 8])
    assert.deepStrictEqual(lngsOf([190, 1], [199, 1], undefined, [208, 1]), [-170, -161, -152])
  })

  it("keeps ten digits and its elevation", () => {
    assert.deepStrictEqual(lineOf([179, 1, 7], [181.123456789049, 1, 8]).positions, [
      [179, 1, 7],
      [-178.876543211, 1, 8]
    ])
    assert.deepStrictEqual(lngsOf([179, 1], [181.12345678949, 1]), [179, -178.8765432105])
  })

  it("of a waypoint is one of the other side within ten degrees of the line", () => {
    const line: ReadonlyArray<Position> = [[-178, 1], [-170, 1]]
    const { dropped, positions } = pointsOf(line, [182, 5], [200, 5], [-188, 5], [200.1, 5], [-188.1, 5])
    assert.deepStrictEqual(positions, [[-178, 5], [-160, 5], [172, 5]])
    assert.deepStrictEqual(dropped, [[UNUSABLE, 2]])
  })
})

describe("a position at 0/0", () => {
  it("is left out where as many others are more than 100 km away, and more than one and a half times their extent", () => {
    const isLeftOut = (...others: ReadonlyArray<Position>) =>
      lineOf([0, 0], ...others).dropped.some(([why]) => why === NULL_ISLAND)
    // A degree has 111.195 km on the sphere.
    assert.isFalse(isLeftOut([0, 0.89932], [0, 0.9]))
    assert.isTrue(isLeftOut([0, 0.899325], [0, 0.9]))
    for (const sign of [1, -1]) {
      for (const turned of [(a: number, b: number): Position => [a, b], (a: number, b: number): Position => [b, a]]) {
        assert.isFalse(isLeftOut(turned(sign * 1.35, 0.01), turned(sign * 2.35, 0.01)))
        assert.isTrue(isLeftOut(turned(sign * 1.6, 0.01), turned(sign * 2.6, 0.01)))
        assert.isFalse(isLeftOut(turned(-1, sign * 2.9), turned(1, sign * 2.9)))
        assert.isTrue(isLeftOut(turned(-1, sign * 3.1), turned(1, sign * 3.1)))
      }
    }
    assert.isFalse(isLeftOut([9, 46], [9, 46]))
    assert.isFalse(isLeftOut([0, 0], [0, 0], [9, 46], [9, 46.1]))
    assert.isTrue(isLeftOut([0, 0], [9, 46], [9, 46.1]))
  })

  it("is not one on the equator or on the prime meridian", () => {
    assert.deepStrictEqual(lineOf([-0.1, 51], [0, 51], [0.1, 51]).dropped, [])
    assert.deepStrictEqual(lineOf([36, -0.1], [36, 0], [36, 0.1]).dropped, [])
  })

  it("is left out of the waypoints beside a line far away", () => {
    const beside = (...line: ReadonlyArray<Position>) => pointsOf(line, [0, 0], [1, 1]).dropped
    assert.deepStrictEqual(beside([9, 46], [9, 46.1]), [[NULL_ISLAND, 1]])
    assert.deepStrictEqual(beside([0.1, 0.1], [0.1, 0.2]), [])
    assert.deepStrictEqual(beside([9, 46]), [])
  })
})

describe("the times of positions", () => {
  it("follow the distance within the duration, else a second for each", () => {
    const instant = fc.date({ min: new Date(0), max: new Date("2100-01-01T00:00:00Z"), noInvalidDate: true })
    const lengths = fc.array(fc.integer({ min: 1, max: 1000 }), { minLength: 1, maxLength: 100 })
    fc.assert(
      fc.property(instant, fc.integer({ min: 1, max: 100_000 }), lengths, (from, duration, given) => {
        const route = { name: "R", tags: [], waypoints: [], geometry: [], createdAt: from.toISOString() }
        const metres = new Float64Array([0, ...given.map((_, at) => given.slice(0, at + 1).reduce((a, b) => a + b))])
        const whole = metres.at(-1) ?? Number.NaN
        const [bySecond, byDistance] = [timesAlong(route, metres), timesAlong({ ...route, duration }, metres)]
        for (const [index, metre] of metres.entries()) {
          const textAt = (seconds: number) => new Date(from.getTime() + 1000 * seconds).toISOString()
          assert.strictEqual(bySecond(index), textAt(index))
          assert.strictEqual(byDistance(index), textAt(Math.round(duration * metre / whole)))
        }
      })
    )
  })

  it("of TCX take the duration, else a second from each to the next", () => {
    const waypoints = [{ coord: [9.5, 47.1] as const }]
    const secondsOf = (positions: number, duration?: number) => {
      const geometry = Array.from({ length: positions }, (_, n) => [9 + n / 1000, 46] as const)
      const route = { name: "R", tags: [], waypoints, geometry, ...(duration === undefined ? {} : { duration }) }
      return /<TotalTimeSeconds>(\d+)</.exec(written(route, "tcx"))?.[1]
    }
    assert.deepStrictEqual([0, 1, 2, 3].map((positions) => secondsOf(positions)), ["0", "0", "1", "2"])
    assert.strictEqual(secondsOf(3, 60), "60")
  })

  it("that are sound are a longest run that does not go backwards", () => {
    const times = fc.array(fc.oneof(fc.integer({ min: 0, max: 20 }), fc.constant(Number.NaN)), { maxLength: 40 })
    fc.assert(fc.property(times, (times) => {
      const sound = soundTimes(times)
      const kept = sound.filter((time) => !Number.isNaN(time))
      const longest: Array<number> = []
      for (const time of times) {
        const before = longest.filter((_, at) => (times[at] ?? Infinity) <= time)
        longest.push(Number.isNaN(time) ? 0 : 1 + Math.max(0, ...before))
      }
      assert.strictEqual(kept.length, Math.max(0, ...longest))
      assert.deepStrictEqual(kept, kept.toSorted((a, b) => a - b))
      assert.isTrue(sound.every((time, index) => Number.isNaN(time) || time === times[index]))
    }))
  })

  it("are wrong for one at an end that is more than an hour, and the span of the others, away", () => {
    const hour = 3_600_000
    const keptOf = (...times: ReadonlyArray<number>) => soundTimes(times).filter((time) => !Number.isNaN(time))
    assert.deepStrictEqual(keptOf(0, hour + 1, hour + 2, hour + 3), [hour + 1, hour + 2, hour + 3])
    assert.deepStrictEqual(keptOf(0, hour, hour + 1, hour + 2).length, 4)
    assert.deepStrictEqual(keptOf(0, 1, 2, hour + 3), [0, 1, 2])
    assert.deepStrictEqual(keptOf(0, 1, 2, hour + 2).length, 4)
    assert.deepStrictEqual(keptOf(0, 1, hour + 2).length, 3)
    assert.deepStrictEqual(keptOf(0, 1.5 * hour, 3.5 * hour, 4 * hour).length, 4)
  })
})
