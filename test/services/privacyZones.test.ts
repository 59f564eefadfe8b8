import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Schema } from "effect"
import * as fc from "fast-check"
import { Positions } from "../../src/schema/Geometry.ts"
import { UserId } from "../../src/schema/Ids.ts"
import { Maneuvers } from "../../src/schema/Maneuver.ts"
import { secretCircles } from "../../src/services/accounts/Zones.ts"
import { type Circle, isInside } from "../../src/services/geometry/Geodesy.ts"
import { cutRoute } from "../../src/services/routes/ZoneCut.ts"
import { numbers } from "../support/Numbers.ts"
import { SECRETS } from "../support/TestServer.ts"
import { missOf } from "../support/ZoneAttack.ts"
import { beside, metresFrom, ray } from "../support/Zones.ts"

const HOME = [9.5, 47.1] as const

const circleOf = Effect.runSync(
  Effect.provide(secretCircles, ConfigProvider.layer(ConfigProvider.fromUnknown(SECRETS)))
)

const DIRECTION = numbers(0, 2 * Math.PI)

const owners = (count: number) => Array.from({ length: count }, (_, index) => UserId.make(index + 1))

const NO_MEASURES = { distance: null, duration: null, elevationGain: null, segments: null }

const decodeCues = Schema.decodeUnknownSync(Schema.fromJsonString(Maneuvers))

const lineOf = Schema.decodeUnknownSync(Schema.fromJsonString(Positions))

const cut = async (
  line: ReadonlyArray<readonly [number, number]>,
  circles: ReadonlyArray<Circle>,
  cues: string | null = null
) => {
  const cut = await cutRoute.run({ ...NO_MEASURES, geometry: JSON.stringify(line), waypoints: "[]", cues, circles })
  return { cut, line: cut === undefined ? line : lineOf(cut.line?.json ?? "[]") }
}

/** Each has owner, longitude, latitude and radius of a zone, then those of its circle, computed by another program. */
const CIRCLES = [
  [1, 9.5209, 47.1415, 100, 9.522162, 47.141886, 228.24],
  [1, 9.5209, 47.1415, 125, 9.519175, 47.141095, 290.00],
  [1, 9.5209, 47.1415, 160, 9.522467, 47.140230, 389.19],
  [2, -0.1, 51.5, 200, -0.099739, 51.502206, 490.57],
  [2, -73.97, 40.78, 250, -73.972903, 40.780690, 569.61],
  [2, -58.4, -34.6, 320, -58.404184, -34.600129, 760.21],
  [3, 151.2, -33.87, 400, 151.196400, -33.872754, 989.01],
  [3, 139.7, 35.7, 500, 139.693844, 35.701803, 1243.70],
  [3, 18.4, -33.9, 630, 18.407395, -33.896907, 1454.98],
  [4, -157.8, 21.3, 800, -157.795267, 21.305846, 1746.23],
  [4, 0.01, 0.02, 1000, 0.019710, 0.019213, 2256.42],
  [4, 179.99, -16.5, 1250, 179.977140, -16.495193, 3114.99],
  [5, -21.9, 64.1, 1600, -21.932354, 64.096287, 3551.68],
  [5, -70.9, -53.2, 2000, -70.867223, -53.194368, 4650.00]
] as const

describe("the circle that is cut for a privacy zone", () => {
  it("is the same in every process and version, since two of one zone would show where it is", () => {
    for (const [owner, lng, lat, radius, ...expected] of CIRCLES) {
      const circle = circleOf(UserId.make(owner), { center: [lng, lat], radius }, [])
      assert.deepStrictEqual(
        [circle.lng.toFixed(6), circle.lat.toFixed(6), circle.radius.toFixed(2)],
        [expected[0].toFixed(6), expected[1].toFixed(6), expected[2].toFixed(2)],
        `${radius} m`
      )
    }
  })

  it("is a known one that is far enough from the zone, contains it, and is no larger than a new one may be", () => {
    const zone = { center: HOME, radius: 1000 }
    const isReused = (metres: number, radius: number) => {
      const [lng, lat] = beside(HOME, 0, metres)
      const known = { lng, lat, radius }
      return circleOf(UserId.make(1), zone, [known]) === known
    }
    // In radii of the zone: a new one is 0.95 away, less 0.1083 for the grid, and 2.5583 large, of a radius raised by 1.28.
    assert.deepStrictEqual([isReused(841, 2000), isReused(843, 2000)], [false, true])
    assert.deepStrictEqual([isReused(1000, 1998), isReused(1000, 2002)], [false, true])
    assert.deepStrictEqual([isReused(1000, 3274), isReused(1000, 3275)], [true, false])
  })

  for (const radius of [100, 500, 2000]) {
    it(`is not found by the ends of twenty routes: their best circle misses the home by half of ${radius} m`, async () => {
      for (const owner of owners(50)) {
        const miss = await missOf(HOME, [circleOf(owner, { center: HOME, radius }, [])])
        assert.isAtLeast(miss, radius / 2)
      }
    })
  }

  it("has all of the zone in it", () => {
    fc.assert(fc.property(
      fc.tuple(numbers(-180, 180), numbers(-90, 90)),
      fc.integer({ min: 100, max: 2000 }),
      fc.integer({ min: 1, max: 1_000_000 }),
      DIRECTION,
      (center, radius, owner, direction) => {
        const circle = circleOf(UserId.make(owner), { center, radius }, [])
        const [lng, lat] = Math.abs(center[1]) > 89
          ? center
          : beside(center, Math.cos(direction) * radius * 0.999, Math.sin(direction) * radius * 0.999)
        assert.isTrue(isInside(circle, lng, lat))
      }
    ))
  })

  it("is the same for a zone that was removed or moved by some metres, and for one beside another", () => {
    const [owner = UserId.make(1), other = UserId.make(2)] = owners(2)
    const zone = { center: HOME, radius: 500 }
    const circle = circleOf(owner, zone, [])
    assert.deepStrictEqual(circleOf(owner, { ...zone, label: "again" }, []), circle)
    assert.notDeepEqual(circleOf(other, zone, []), circle)
    const kept = Array.from({ length: 50 }, (_, index) => {
      const center = beside(HOME, 10 * Math.cos(index), 10 * Math.sin(index))
      return circleOf(owner, { center, radius: 500 }, [circle])
    })
    assert.deepStrictEqual(
      kept.filter((other) => other !== circle && metresFrom(HOME, [other.lng, other.lat]) < 325),
      []
    )
    assert.isAbove(kept.filter((other) => other === circle).length, 25)
  })
})

describe("a cut line", () => {
  const circle = { lng: HOME[0], lat: HOME[1], radius: 1000 }

  it("is its longest part outside, and no straight line through a circle", async () => {
    const line = [...ray(beside(HOME, -3000, 0), 0, 8000)]
    const { line: left } = await cut(line, [circle])
    assert.deepStrictEqual(left, line.slice(-left.length))
    assert.closeTo(metresFrom(HOME, [left[0]?.[0] ?? 0, left[0]?.[1] ?? 0]), 1010, 15)
  })

  it("keeps the cues of its positions, with indexes into what is left", async () => {
    const line = ray(beside(HOME, -3000, 0), 0, 8000)
    const cues = line.map((_, begin_shape_index) => ({
      instruction: String(begin_shape_index),
      type: 8,
      begin_shape_index,
      length: 0,
      time: 0
    }))
    const { line: left, cut: { cues: kept } = {} } = await cut(line, [circle], JSON.stringify(cues))
    const instructions = decodeCues(kept ?? "[]").map(({ begin_shape_index, instruction }) => [
      begin_shape_index,
      Number(instruction)
    ])
    assert.deepStrictEqual(instructions, left.map((_, index) => [index, line.length - left.length + index]))
  })

  it("has no cue that leads into a circle: it names the hidden road and how long it is", async () => {
    const line = ray(beside(HOME, 8000, 0), Math.PI, 8000)
    const cues = [[0, "Leave Waldrand."], [20, "Turn into Gartenweg."], [line.length - 1, "Arrive."]].map(
      ([begin_shape_index, instruction]) => ({ instruction, type: 8, begin_shape_index, length: 4, time: 900 })
    )
    const { cut: { cues: kept } = {} } = await cut(line, [circle], JSON.stringify(cues))
    assert.deepStrictEqual(decodeCues(kept ?? "[]").map(({ instruction }) => instruction), ["Leave Waldrand."])
  })

  it("has a duration at the pace of its cues, whatever the pace of what is hidden", async () => {
    const line = ray(HOME, 0, 8000)
    const timeOf = async (hidden: number) => {
      const cues = [[0, 2, hidden], [100, 5, 900], [350, 1, 180]].map(
        ([begin_shape_index, length, time]) => ({ instruction: "", type: 8, begin_shape_index, length, time })
      )
      const measures = { ...NO_MEASURES, distance: 8000, duration: hidden + 1080 }
      const text = { geometry: JSON.stringify(line), waypoints: "[]", cues: JSON.stringify(cues) }
      return (await cutRoute.run({ ...measures, ...text, circles: [circle] }))?.measures
    }
    const measures = await timeOf(360)
    assert.closeTo(measures?.duration ?? 0, 0.18 * (measures?.distance ?? 0), 1)
    assert.deepStrictEqual(await timeOf(3600), measures)
  })

  it("has no segment through a circle that has none of its positions, in any direction, and those beside it", async () => {
    // A segment passes the centre at so many metres.
    const distance = fc.oneof(fc.integer({ min: -980, max: 980 }), fc.integer({ min: 1020, max: 5000 }))
    await fc.assert(fc.asyncProperty(DIRECTION, distance, async (direction, distance) => {
      const [east, north] = [Math.cos(direction), Math.sin(direction)]
      const at = (metres: number) => beside(HOME, metres * east - distance * north, metres * north + distance * east)
      const line = [at(-9000), at(-3000), at(3000)]
      const { line: left } = await cut(line, [circle])
      assert.deepStrictEqual(left, distance < 1000 ? line.slice(0, 2) : line)
    }))
  })

  it("keeps its gaps, by the positions that are left, and is measured without them", async () => {
    const line = [
      ...ray(HOME, 0, 2000),
      ...ray(beside(HOME, 9000, 0), 0, 1000),
      ...ray(beside(HOME, 20_000, 0), 0, 1000)
    ]
    const starts = [0, ray(HOME, 0, 2000).length, ray(HOME, 0, 2000).length + ray(HOME, 0, 1000).length]
    const text = { geometry: JSON.stringify(line), segments: JSON.stringify(starts), waypoints: "[]", cues: null }
    const { line: left, measures } =
      (await cutRoute.run({ ...NO_MEASURES, distance: 4000, ...text, circles: [circle] })) ?? {}
    const hidden = line.length - (left?.positionCount ?? 0)
    assert.isAbove(hidden, 0)
    assert.deepStrictEqual(JSON.parse(left?.segments ?? ""), [0, ...starts.slice(1).map((start) => start - hidden)])
    assert.strictEqual(measures?.distance, left?.metres)
    assert.isBelow(left?.metres ?? Infinity, 4000)
  })

  it("is empty where no part has two positions, and whole where no circle touches it", async () => {
    assert.strictEqual((await cut([HOME, beside(HOME, 2000, 0)], [circle])).cut?.line, null)
    const far = ray(beside(HOME, 2000, 0), 0, 500)
    assert.isUndefined((await cut(far, [circle])).cut)
  })

  it("is cut on both sides of the antimeridian", async () => {
    const line = Array.from(
      { length: 21 },
      (_, index) => [index <= 10 ? 179.9 + index / 100 : -180.1 + index / 100 + 0, 0] as const
    )
    const { line: left } = await cut(line, [{ lng: 180, lat: 0, radius: 3000 }])
    assert.isFalse(left.some(([lng]) => Math.abs(lng) > 179.97))
    assert.isAbove(left.length, 3)
  })

  it("of a row that cannot be read shows nothing", async () => {
    assert.deepInclude(
      await cutRoute.run({
        ...NO_MEASURES,
        geometry: "[[",
        waypoints: "[]",
        cues: null,
        circles: [circle]
      }),
      {
        line: null,
        waypoints: "[]",
        isStartHidden: true,
        isEndHidden: true
      }
    )
  })
})

describe("a line of ten positions along the equator, a hundredth of a degree apart,", () => {
  const LINE = Array.from({ length: 10 }, (_, index) => [index / 100, 0] as const)

  /** A step is as long as that share of the Earth's circumference. */
  const STEP = 2 * Math.PI * 6_371_000 / 36_000

  const circleAt = (index: number) => ({ lng: index / 100, lat: 0, radius: 500 })

  const cueAt = (begin_shape_index: number, length = 0, time = 0) => ({
    instruction: "",
    type: 8,
    begin_shape_index,
    length,
    time
  })

  const waypointAt = (index: number) => ({ coord: [index / 100, 0] })

  interface Members {
    readonly line?: ReadonlyArray<readonly [number, number]>
    readonly segments?: ReadonlyArray<number>
    readonly waypoints?: ReadonlyArray<unknown>
    readonly cues?: ReadonlyArray<unknown>
    readonly distance?: number
    readonly duration?: number
    readonly elevationGain?: number
  }

  const cutAt = async (
    circles: ReadonlyArray<number>,
    { cues, distance, duration, elevationGain, line = LINE, segments, waypoints = [] }: Members = {}
  ) =>
    cutRoute.run({
      distance: distance ?? null,
      duration: duration ?? null,
      elevationGain: elevationGain ?? null,
      geometry: JSON.stringify(line),
      segments: segments === undefined ? null : JSON.stringify(segments),
      waypoints: JSON.stringify(waypoints),
      cues: cues === undefined ? null : JSON.stringify(cues),
      circles: circles.map(circleAt)
    })

  const leftAt = async (circles: ReadonlyArray<number>, members: Members = {}) =>
    lineOf((await cutAt(circles, members))?.line?.json ?? "[]").map(([lng]) => Math.round(lng * 100))

  const cuesLeft = async (circles: ReadonlyArray<number>, begins: ReadonlyArray<number>) =>
    decodeCues((await cutAt(circles, { cues: begins.map((index) => cueAt(index)) }))?.cues ?? "[]").map(
      ({ begin_shape_index }) => begin_shape_index
    )

  const segmentsLeft = async (circles: ReadonlyArray<number>, segments: ReadonlyArray<number>) =>
    (await cutAt(circles, { segments }))?.line?.segments

  it("keeps the longest part between circles, of two positions or more, and the first of two that are as long", async () => {
    assert.deepStrictEqual(await leftAt([0]), [1, 2, 3, 4, 5, 6, 7, 8, 9])
    assert.deepStrictEqual(await leftAt([9]), [0, 1, 2, 3, 4, 5, 6, 7, 8])
    assert.deepStrictEqual(await leftAt([3]), [4, 5, 6, 7, 8, 9])
    assert.deepStrictEqual(await leftAt([1, 8]), [2, 3, 4, 5, 6, 7])
    assert.deepStrictEqual(await leftAt([2, 3, 4, 5, 6, 7, 8, 9]), [0, 1])
    assert.deepStrictEqual(await leftAt([5], { line: [0, 3, 5, 6, 7, 8].map((at) => [at / 100, 0]) }), [0, 3])
    assert.deepStrictEqual(await leftAt([1, 3, 5, 7, 9]), [])
    assert.deepStrictEqual(await leftAt([3], { line: [[0, 0], [0, 0], [0.03, 0], [0.06, 0], [0.06, 0]] }), [0, 0])
  })

  it("is not cut if it is one position outside, and has no line if that is hidden", async () => {
    const line = [[0.04, 0]] as const
    assert.isUndefined(await cutAt([2], { line }))
    assert.isNull((await cutAt([4], { line }))?.line)
    assert.deepStrictEqual(await leftAt([7], { line, waypoints: [waypointAt(7)] }), [4])
    assert.deepStrictEqual(
      (await cutAt([7], { line, waypoints: [waypointAt(7)], distance: 1, duration: 1 }))?.measures,
      {
        distance: null,
        duration: null,
        elevationGain: null
      }
    )
  })

  it("keeps the gaps between its remaining positions, none at their ends", async () => {
    assert.strictEqual(await segmentsLeft([0], [0, 4]), "[0,3]")
    assert.strictEqual(await segmentsLeft([9], [0, 4, 7]), "[0,4,7]")
    assert.isNull(await segmentsLeft([3], [0, 2, 4]))
    assert.isNull(await segmentsLeft([6], [0, 6, 8]))
  })

  it("keeps the cues from its first remaining position to the last but one before a circle", async () => {
    assert.deepStrictEqual(await cuesLeft([0], [0, 1, 2, 9]), [0, 1, 8])
    assert.deepStrictEqual(await cuesLeft([9], [0, 2, 5]), [0, 2])
    assert.deepStrictEqual(await cuesLeft([6], [0, 4, 6]), [0])
    assert.deepStrictEqual(await cuesLeft([6], [7, 8]), [])
    assert.deepStrictEqual(await cuesLeft([1, 7], [0, 2, 3]), [0])
    assert.deepStrictEqual(await cuesLeft([1, 7], [0, 1]), [])
  })

  it("has as much of what was measured as of its length, in whole seconds and decimetres of climb", async () => {
    const measures = (await cutAt([9], { distance: 1, duration: 1000, elevationGain: 100 }))?.measures
    assert.closeTo(measures?.distance ?? 0, 8 * STEP, 0.01)
    assert.deepInclude(measures, { duration: 889, elevationGain: 88.9 })
    assert.deepStrictEqual((await cutAt([9], { duration: 1000 }))?.measures.distance, null)
    assert.deepStrictEqual((await cutAt([9], { elevationGain: 100 }))?.measures.duration, null)
  })

  it("has the duration of the pace of its cues where they have a length and a time, and at most the longest", async () => {
    const durationBy = async (length: number, time: number) =>
      (await cutAt([9], { duration: 900, cues: [cueAt(0, length, time), cueAt(1)] }))?.measures.duration ?? 0
    // Eight of nine steps are left.
    assert.strictEqual(await durationBy(0, 60), 800)
    assert.strictEqual(await durationBy(2, 0), 800)
    assert.closeTo(await durationBy(2, 500), 8 * STEP / 4, 1)
    assert.closeTo(await durationBy(0.001, 1), 8 * STEP, 1)
    assert.strictEqual(await durationBy(0.001, 1_000_000), 100_000_000)
  })

  it("has no measures if it has no length", async () => {
    const still = { line: [[0, 0], [0, 0]] as const, waypoints: [waypointAt(5)], distance: 7, duration: 7 }
    assert.deepStrictEqual((await cutAt([5], still))?.measures, {
      distance: null,
      duration: null,
      elevationGain: null
    })
  })

  it("says which ends are hidden, by the line and by the waypoints, and where what is left begins", async () => {
    const endsAt = async (circles: ReadonlyArray<number>, members: Members = {}) => {
      const { isEndHidden, isStartHidden, start } = (await cutAt(circles, members)) ?? {}
      return [isStartHidden, isEndHidden, start]
    }
    const waypoints = [2, 4, 6].map(waypointAt)
    assert.deepStrictEqual(await endsAt([0]), [true, false, [0.01, 0]])
    assert.deepStrictEqual(await endsAt([1]), [false, false, [0.02, 0]])
    assert.deepStrictEqual(await endsAt([9]), [false, true, [0, 0]])
    assert.deepStrictEqual(await endsAt([2], { waypoints }), [true, false, [0.03, 0]])
    assert.deepStrictEqual(await endsAt([4], { waypoints }), [false, false, [0.05, 0]])
    assert.deepStrictEqual(await endsAt([6], { waypoints }), [false, true, [0, 0]])
    assert.deepStrictEqual(await endsAt([4], { line: [], waypoints }), [false, false, [0.02, 0]])
    assert.deepStrictEqual(await endsAt([2], { line: [], waypoints }), [true, false, [0.04, 0]])
  })

  it("keeps the waypoints outside of the circles, with or without a line", async () => {
    const waypoints = [2, 4, 6].map(waypointAt)
    for (const line of [LINE, []]) {
      assert.deepStrictEqual(
        JSON.parse((await cutAt([4], { line, waypoints }))?.waypoints ?? ""),
        [2, 6].map(waypointAt)
      )
    }
    assert.deepStrictEqual(await leftAt([15], { waypoints: [waypointAt(15)] }), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  })
})
