import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import FitParser from "fit-file-parser"
import { coursePointOf, coursePointsOf, turnOf, turnTypeOf } from "../../src/services/files/CoursePoints.ts"
import { writeFit } from "../../src/services/files/FitWriter.ts"
import { gpx, read, trk } from "../support/Files.ts"

/** These are the numbers of `course_point` in the profile of FIT. */
const KINDS =
  "1 summit 2 valley 3 water 4 food 5 danger 9 first_aid 10 fourth_category 11 third_category 12 second_category "
  + "13 first_category 14 hors_category 15 sprint 24 segment_start 25 segment_end 27 campsite 28 aid_station 29 rest_area "
  + "30 general_distance 31 service 32 energy_gel 33 sports_drink 34 mile_marker 35 checkpoint 36 shelter 37 meeting_spot "
  + "38 overlook 39 toilet 40 shower 41 gear 42 sharp_curve 43 steep_incline 44 tunnel 45 bridge 46 obstacle 47 crossing "
  + "48 store 49 transition 50 navaid 51 transport 52 alert 53 info"

/** These are a type of Valhalla, the number of FIT (left 6, right 7, straight 8, fork 16 and 17, U-turn 23), and a name. */
const TURNS = "0 0 Note,1 0 Start,2 0 Start,3 0 Start,4 0 Finish,5 0 Finish,6 0 Finish,7 8 Straight,8 8 Straight,"
  + "9 21 Bear right,10 7 Right,11 22 Hard right,12 23 U-turn,13 23 U-turn,14 20 Hard left,15 6 Left,16 19 Bear left,"
  + "17 8 Straight,18 17 Fork right,19 16 Fork left,20 17 Fork right,21 16 Fork left,22 8 Straight,23 21 Bear right,"
  + "24 19 Bear left,25 0 Note,26 0 Roundabout,27 0 Roundabout,28 0 Ferry,29 0 Ferry,30 0 Note,36 0 Note,"
  + "37 21 Bear right,38 19 Bear left,39 0 Note"

const WORDS = "Left 15,TL 15,Right 10,TR 10,Straight 8,slight_left 16,TSLL 16,slight_right 9,TSLR 9,sharp_left 14,"
  + "TSHL 14,sharp_right 11,TSHR 11,u_turn 13,TU 13,TRU 12,left_fork 19,right_fork 18,KL 24,KR 23,middle_fork 22,"
  + "Roundabout 26"

describe("a course point", () => {
  it("has the number of its kind in FIT", () => {
    for (const [, number, name] of KINDS.matchAll(/(\d+) (\w+)/g)) {
      assert.strictEqual(coursePointOf(name).fit, Number(number), name)
    }
  })

  it("of a turn has the number of FIT and the name of its type", () => {
    for (const turn of TURNS.split(",")) {
      const [, type, fit, name] = /^(\d+) (\d+) (.+)$/.exec(turn) ?? []
      const found = turnOf({ type: Number(type), instruction: "", begin_shape_index: 0, length: 0, time: 0 })
      assert.deepStrictEqual([found.fit, found.name], [Number(fit), name], turn)
    }
  })

  it("is a turn by the words of other programs", () => {
    for (const [, word, type] of WORDS.matchAll(/(\w+) (\d+)/g)) {
      assert.strictEqual(turnTypeOf(word), Number(type), word)
    }
  })

  it.effect("of a stop on the way back is there, and that of the finish of a round trip at the end", () =>
    Effect.gen(function*() {
      const courseOf = (...stops: ReadonlyArray<readonly [name: string, steps: number]>) => {
        const geometry = Array.from({ length: 40 }, (_, index) => [9 + Math.min(index, 39 - index) / 500, 47] as const)
        const waypoints = stops.map(([name, steps]) => ({ name, coord: [9 + steps / 500, 47.0003] as const }))
        return { name: "Out and back", tags: [], geometry, waypoints }
      }
      const stops = courseOf(["Start", 0], ["Turning point", 19.5], ["Café on the way back", 10], ["Finish", 0])
      assert.deepStrictEqual(coursePointsOf(stops).map(({ point }) => point.at), [0, 19, 29, 39])
      const bytes = Buffer.from(writeFit(courseOf(["Start", 0], ["Finish", 0])))
      const { course_points = [], laps = [] } = yield* Effect.promise(() => new FitParser({}).parseAsync(bytes))
      assert.deepStrictEqual(course_points.map(({ distance }) => distance), [0, laps[0]?.total_distance])
    }))

  it("of a stop shortly before the end is not at the end", () => {
    const geometry = Array.from({ length: 200 }, (_, index) => [9, 47 + index / 11_000] as const)
    const coord = [9, geometry[190]?.[1] ?? 0] as const
    const course = { name: "North", tags: [], geometry, waypoints: [{ name: "Café", coord }] }
    assert.deepStrictEqual(coursePointsOf(course).map(({ point }) => point.at), [190])
  })
})

it("points of GPX have their type, else their symbol; the report names a symbol that another type replaces", () => {
  const wpt = (inner: string) => `<wpt lat="1" lon="2">${inner}</wpt>`
  const { document, dropped } = read(gpx(
    wpt("<sym>Drinking Water</sym><type>user</type>") + wpt("<type>user</type>") +
      wpt("<sym>Food</sym><type>Café</type>")
      + wpt("<sym>Water</sym><type>Drinking Water</type>") + wpt("<sym>Flag, Blue</sym><type>Summit</type>")
      + trk("<trkpt lat=\"1\" lon=\"2\"/>")
  ))
  assert.deepStrictEqual(document.waypoints.map(({ type }) => type), [
    "water",
    "user",
    "Café",
    "Drinking Water",
    "Summit"
  ])
  assert.deepStrictEqual(dropped, [{ what: "sym of wpt", why: "a route has no place for it", count: 2 }])
})
