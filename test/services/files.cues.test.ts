import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import FitParser from "fit-file-parser"
import type { WrittenRoute } from "../../src/services/files/Draft.ts"
import { readFit, writeFit } from "../../src/services/files/Fit.ts"
import { read, readAll, written } from "../support/Files.ts"

const cue = (type: number, begin_shape_index: number, instruction: string) => ({
  instruction,
  type,
  begin_shape_index,
  length: 0.25,
  time: 61.5
})

const CUES = [
  cue(1, 0, "Ride north on <Main> & Side Street."),
  cue(10, 1, "Turn right onto a street with a rather long name, more than FIT and TCX take."),
  cue(15, 2, "Links abbiegen."),
  cue(26, 2, "Enter the roundabout."),
  cue(4, 3, "You have arrived.")
]

const ROUTE: WrittenRoute = {
  name: "With turns",
  tags: [],
  waypoints: [{ coord: [9.5, 47.1], name: "Start", type: "routed" }],
  geometry: [[9.5, 47.1, 455], [9.51, 47.1], [180, 47.11], [9.52, 47.12, 460]],
  cues: CUES,
  createdAt: "2025-06-01T08:30:00.000Z"
}

describe("cues in files", () => {
  for (const format of ["gpx", "tcx"] as const) {
    it(`come back from ${format} as they were, beside the waypoints`, () => {
      const { document, dropped } = read(written(ROUTE, format), format)
      assert.deepStrictEqual(document.cues, CUES)
      assert.deepStrictEqual(document.waypoints, ROUTE.waypoints)
      assert.deepStrictEqual(dropped, [])
      for (const choice of [{ split: true }, { track: 0 }]) {
        assert.deepStrictEqual(read(written(ROUTE, format), format, choice).document.cues, CUES)
      }
    })
  }

  it("of a GPX file are those of no track where it has several, since their indexes are of one line", () => {
    const second = "<trk><trkseg><trkpt lat=\"1\" lon=\"1\"/><trkpt lat=\"2\" lon=\"1\"/></trkseg></trk></gpx>"
    const routes = readAll(written(ROUTE, "gpx").replace("</gpx>", second), "gpx", { split: true })
    assert.deepStrictEqual(routes.map(({ document }) => document.cues ?? []), [[], [], []])
  })

  it("are course points with the kind of turn and a short name in TCX", () => {
    const text = written(ROUTE, "tcx")
    const points = [...text.matchAll(/<CoursePoint><Name>([^<]*)<\/Name>.*?<PointType>(\w+)<\/PointType>/g)]
    assert.deepStrictEqual(points.map(([, name, type]) => [name, type]), [
      ["Start", "Generic"],
      ["Start", "Generic"],
      ["Right", "Right"],
      ["Left", "Left"],
      ["Roundabout", "Generic"],
      ["Finish", "Generic"]
    ])
  })

  it.effect("are course points with the kind of turn and their distance in FIT", () =>
    Effect.gen(function*() {
      const fit = yield* Effect.promise(() => new FitParser({}).parseAsync(Buffer.from(writeFit(ROUTE))))
      const points = (fit.course_points ?? []).map((
        { distance, name, type }
      ) => [type, name, Math.round(distance ?? 0)])
      assert.deepStrictEqual(points.map(([type]) => type), [
        "generic",
        "generic",
        "right",
        "left",
        "generic",
        "generic"
      ])
      assert.deepStrictEqual(points[2], [
        "right",
        "Turn right onto a street with a rather long name, more than FIT",
        757
      ])
    }))

  it.effect("of a FIT file of this service are cues again where they are turns, and others are reported", () =>
    Effect.gen(function*() {
      const { dropped, waypoints } = yield* readFit(writeFit(ROUTE))
      assert.deepStrictEqual(waypoints.map(({ turn }) => turn), [undefined, 10, 15])
      assert.deepStrictEqual(dropped, [{ what: "course_point", why: "it is a cue without a kind", count: 3 }])
      const { cues: _, ...without } = ROUTE
      assert.deepStrictEqual((yield* readFit(writeFit(without))).dropped, [])
    }))

  it("of other programs are turns in the order of the line, and other points are waypoints of their kind", () => {
    const point = (name: string, type: string, lng: number) =>
      `<CoursePoint><Name>${name}</Name><Position><LatitudeDegrees>46</LatitudeDegrees><LongitudeDegrees>${lng}</LongitudeDegrees>`
      + `</Position><PointType>${type}</PointType></CoursePoint>`
    const track = [9, 9.01, 9.02, 9.01, 9].map((lng) =>
      `<Trackpoint><Position><LatitudeDegrees>46</LatitudeDegrees><LongitudeDegrees>${lng}</LongitudeDegrees></Position></Trackpoint>`
    )
    const text = `<TrainingCenterDatabase><Courses><Course><Track>${track.join("")}</Track>${point("L", "Left", 9.01)}${
      point("Back", "Straight", 9.02)
    }${point("Bar", "Food", 9.02)}${point("R", "Right", 9.01)}</Course></Courses></TrainingCenterDatabase>`
    const { document } = read(text, "tcx")
    assert.deepStrictEqual(
      document.cues?.map(({ begin_shape_index, instruction, type }) => [type, begin_shape_index, instruction]),
      [[15, 1, "L"], [8, 2, "Back"], [10, 3, "R"]]
    )
    assert.deepStrictEqual(document.waypoints.map(({ name, type }) => [name, type]), [["Bar", "food"]])
    const exported = written(document, "tcx")
    const kinds = [...exported.matchAll(/<PointType>(\w+)</g)].map(([, kind]) => kind)
    assert.deepStrictEqual(kinds, ["Food", "Left", "Straight", "Right"])
    const sym =
      "<gpx creator=\"x\"><wpt lat=\"46\" lon=\"9.01\"><sym>TSLL</sym></wpt><trk><trkseg><trkpt lat=\"46\" lon=\"9\"/>"
      + "<trkpt lat=\"46\" lon=\"9.01\"/></trkseg></trk></gpx>"
    assert.deepStrictEqual(read(sym).document.cues?.map(({ type }) => type), [16])
  })

  it("and times of TCX follow the duration, and an unnamed shaping point is no course point", () => {
    const text = written({ ...ROUTE, waypoints: [{ coord: [9.5, 47.1], type: "routed" }], duration: 1200 }, "tcx")
    assert.include(text, "<TotalTimeSeconds>1200</TotalTimeSeconds>")
    assert.include(text, "<Time>2025-06-01T08:50:00.000Z</Time>")
    assert.strictEqual(text.split("<CoursePoint>").length - 1, CUES.length)
    assert.deepStrictEqual(read(text, "tcx").document.waypoints, [{ coord: [9.5, 47.1], type: "routed" }])
  })

  it("with an index outside the polyline of a file are dropped, and reported", () => {
    const text = written(ROUTE, "gpx").replace("<rps:maneuver>4 3 ", "<rps:maneuver>4 4 ")
    const { document, dropped } = read(text, "gpx")
    assert.notProperty(document, "cues")
    assert.deepStrictEqual(dropped, [{ what: "cues", why: "they do not fit the line", count: CUES.length }])
  })
})
