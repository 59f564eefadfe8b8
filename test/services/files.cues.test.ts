import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import FitParser from "fit-file-parser"
import { readFitMessages } from "fit-file-parser/raw"
import type { WrittenRoute } from "../../src/services/files/Draft.ts"
import { readFit } from "../../src/services/files/Fit.ts"
import { writeFit } from "../../src/services/files/FitWriter.ts"
import { writeRouteFile } from "../../src/services/files/RouteFile.ts"
import { FORMATS, read, readAll, written } from "../support/Files.ts"

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
  for (const format of FORMATS) {
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

  it("come back without a text where they have none, beside those with the name of their turn", () => {
    const cues = [cue(10, 1, ""), cue(10, 2, "Right")]
    for (const format of FORMATS) {
      assert.deepStrictEqual(read(written({ ...ROUTE, cues }, format), format).document.cues, cues, format)
    }
    const file = written({ ...ROUTE, cues }, "gpx")
    const older = file.replace("<rps:instruction></rps:instruction>", "")
    assert.notStrictEqual(older, file)
    assert.deepStrictEqual(read(older).document.cues?.map(({ instruction }) => instruction), ["Right", "Right"])
  })

  it("of a GPX file are those of no track where it has several, since their indexes are of one line", () => {
    const second = "<trk><trkseg><trkpt lat=\"1\" lon=\"1\"/><trkpt lat=\"2\" lon=\"1\"/></trkseg></trk></gpx>"
    const both = written(ROUTE, "gpx").replace("</gpx>", second)
    const lost = { what: "cues", why: "the file has more than one track", count: CUES.length }
    for (const choice of [{ split: true }, { join: true }, { track: 0 }, { track: 1 }]) {
      for (const { document, dropped } of readAll(both, "gpx", choice)) {
        assert.notProperty(document, "cues")
        assert.deepInclude(dropped, lost)
      }
    }
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

  it.effect("and waypoints are course points in the order of the line, and come back in their own", () =>
    Effect.gen(function*() {
      const at = (index: number) => ({ coord: [9 + index / 100, 47] as const, name: `At ${index}`, type: "food" })
      const geometry = Array.from({ length: 5000 }, (_, index) => [9 + index / 100, 47] as const)
      const cues = geometry.map((_, index) => cue(1, index, "Go")).toSpliced(2, 2)
      const route: WrittenRoute = { ...ROUTE, geometry, cues, waypoints: [at(2), at(4998), at(3)] }
      const bytes = writeFit(route)
      const { course_points = [] } = yield* Effect.promise(() => new FitParser({}).parseAsync(Buffer.from(bytes)))
      const names = ["Go", "Go", "At 2", "Go", "Go"]
      assert.deepStrictEqual(course_points.slice(0, 5).map(({ name }) => name), names)
      const text = written(route, "tcx")
      const notes = [...text.matchAll(/<CoursePoint>.*?<Notes>([^<]*)/g)].map(([, name]) => name)
      assert.deepStrictEqual(notes.slice(0, 5), names)
      assert.deepStrictEqual(notes, course_points.map(({ name }) => name))
      const { document } = read(text, "tcx")
      assert.deepStrictEqual([document.waypoints, document.cues], [route.waypoints, cues])
      const again = yield* readFit(bytes)
      assert.deepStrictEqual(again.cues, cues)
      assert.deepStrictEqual(again.waypoints.map(({ name }) => name), route.waypoints.map(({ name }) => name))
    }))

  it.effect("come back from a FIT file of this service with the start of their instruction, from a damaged one where they are turns", () =>
    Effect.gen(function*() {
      const { cues, dropped, waypoints } = yield* readFit(writeFit(ROUTE))
      assert.deepStrictEqual(
        cues,
        CUES.map((cue) => ({ ...cue, instruction: cue.instruction.slice(0, 63) }))
      )
      assert.deepStrictEqual([waypoints.length, dropped], [1, []])
      const damaged = yield* readFit(writeFit(ROUTE).slice(0, -2))
      assert.deepStrictEqual(damaged.waypoints.map(({ turn }) => turn), [undefined, 10, 15])
      assert.deepInclude(damaged.dropped, { what: "course_point", why: "it is a cue without a kind", count: 3 })
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
      document.cues?.map(({ begin_shape_index, instruction, length, type }) => [
        type,
        begin_shape_index,
        instruction,
        length
      ]),
      [[15, 1, "L", 0.772], [8, 2, "Back", 0.772], [10, 3, "R", 0.772]]
    )
    assert.deepStrictEqual(document.waypoints.map(({ name, type }) => [name, type]), [["Bar", "food"]])
    const exported = written(document, "tcx")
    const kinds = [...exported.matchAll(/<PointType>(\w+)</g)].map(([, kind]) => kind)
    assert.deepStrictEqual(kinds, ["Left", "Food", "Straight", "Right"])
    const sym =
      "<gpx creator=\"x\"><wpt lat=\"46\" lon=\"9.01\"><sym>TSLL</sym></wpt><trk><trkseg><trkpt lat=\"46\" lon=\"9\"/>"
      + "<trkpt lat=\"46\" lon=\"9.01\"/></trkseg></trk></gpx>"
    assert.deepStrictEqual(read(sym).document.cues?.map(({ type }) => type), [16])
  })

  it("of other programs have the text beside a name that is their kind alone, and so have points without a name in GPX", () => {
    const line = "<trk><trkseg><trkpt lat=\"46\" lon=\"9\"/><trkpt lat=\"46\" lon=\"9.01\"/></trkseg></trk>"
    const readPoint = (members: string, element = "wpt") => {
      const point = `<${element} lat="46" lon="9.01">${members}</${element}>`
      const { document: { cues = [], waypoints }, dropped } = read(
        `<gpx creator="x">${element === "wpt" ? point : `<rte>${point}</rte>`}${line}</gpx>`
      )
      const points = waypoints.flatMap(({ name }) => name ?? [])
      return [cues.map(({ instruction, type }) => [type, instruction]), points, dropped.map(({ what }) => what)]
    }
    const text = "<cmt>Turn left onto Maxwell Chapel Rd</cmt>"
    const turn = [[[15, "Turn left onto Maxwell Chapel Rd"]], [], []]
    const kinds = "<sym>Left</sym><type>Left</type>"
    assert.deepStrictEqual(readPoint(`<name>Left</name>${text}<type>Dot</type>`), turn)
    assert.deepStrictEqual(readPoint(`<name>Left</name>${text}`, "rtept"), turn)
    assert.deepStrictEqual(readPoint(`<name>Left</name>${text}${text.replaceAll("cmt", "desc")}${kinds}`), turn)
    const street = "<desc>turn left onto B</desc>"
    assert.deepStrictEqual(readPoint(street, "rtept"), [[], ["turn left onto B"], []])
    assert.deepStrictEqual(readPoint("<desc>turn right</desc>", "rtept"), [[[10, "turn right"]], [], []])
    assert.deepStrictEqual(readPoint(`<name>Onto B</name>${street}${kinds}`), [[[15, "Onto B"]], [], ["desc of wpt"]])
    assert.deepStrictEqual(readPoint("<name>Left</name>"), [[], ["Left"], []])
    for (const name of ["Hut", "KL"]) {
      assert.deepStrictEqual(readPoint(`<name>${name}</name>${text}`), [[], [name], ["cmt of wpt"]])
    }
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

  it("of a line whose start another program removed are dropped, and reported", () => {
    const start: WrittenRoute["geometry"] = [[9.4, 47.1], [9.42, 47.1], [9.44, 47.1]]
    const route = { ...ROUTE, geometry: [...start, ...ROUTE.geometry], duration: 1200 }
    for (const format of FORMATS) {
      const text = written(route, format)
      assert.deepStrictEqual(read(text, format).document.cues, CUES, format)
      const [line = ""] = /line:[\d.]+/.exec(text) ?? []
      const shortened = written({ ...route, geometry: ROUTE.geometry }, format).replace(/line:[\d.]+/, line)
      const { document, dropped } = read(shortened, format)
      assert.notProperty(document, "cues")
      assert.deepStrictEqual(dropped, [{ what: "cues", why: "they do not fit the line", count: CUES.length }], format)
    }
  })
})

const click = (lat: number) => ({ coord: [9.5, lat] as const, type: "routed" })

const PLANNED: WrittenRoute = {
  ...ROUTE,
  waypoints: [
    click(47.1),
    { coord: [9.505, 47.1], name: "Spring", type: "water" },
    { ...click(47.105), timestamp: "2026-01-01T08:00:00Z" },
    click(-90),
    { coord: [9.51, 47.1], name: "Hut", type: "routed" },
    { coord: [180, 1], type: "routed" }
  ]
}

describe("unnamed shaping points", () => {
  it("are no points of a GPX track and no course points, and come back in their places", () => {
    for (const [format, point] of [["gpx", "<wpt"], ["tcx", "<CoursePoint>"]] as const) {
      const text = written(PLANNED, format)
      assert.strictEqual(text.split(point).length - 1, 2 + CUES.length, format)
      assert.notInclude(text, "<rte>")
      const { document, dropped } = read(text, format)
      assert.deepStrictEqual(document.waypoints, PLANNED.waypoints, format)
      assert.deepStrictEqual(document.cues, CUES)
      assert.deepStrictEqual(dropped, [])
    }
  })

  it("are left out where they have no position or no place among the waypoints", () => {
    const text = written(PLANNED, "gpx")
    for (const wrong of ["index=\"?\"", "lat=\"?\"", "lat=\"91\"", "lon=\"?\"", "lon=\"200\""]) {
      const member = wrong.split("=")[0]
      const damaged = text.replaceAll(new RegExp(`(<rps:shaping [^>]*)${member}="[^"]*"`, "g"), `$1${wrong}`)
      assert.notStrictEqual(damaged, text)
      const names = read(damaged, "gpx").document.waypoints.map(({ name }) => name)
      assert.deepStrictEqual(names, ["Spring", "Hut"], wrong)
    }
  })

  it.effect("are no course points of FIT, and come back in their places without their times", () =>
    Effect.gen(function*() {
      const bytes = writeFit({ ...PLANNED, cues: [] })
      const fit = yield* Effect.promise(() => new FitParser({}).parseAsync(Buffer.from(bytes)))
      assert.deepStrictEqual(fit.course_points?.map(({ name }) => name), ["Spring", "Hut"])
      assert.deepStrictEqual(readFitMessages(bytes).issues, [])
      const { dropped, waypoints } = yield* readFit(bytes)
      assert.deepStrictEqual(waypoints.map(({ name }) => name), [
        undefined,
        "Spring",
        undefined,
        undefined,
        "Hut",
        undefined
      ])
      for (const [index, { coord: [lng, lat] }] of PLANNED.waypoints.entries()) {
        assert.closeTo(waypoints[index]?.coord[0] ?? 0, lng, 1e-6)
        assert.closeTo(waypoints[index]?.coord[1] ?? 0, lat, 1e-6)
      }
      assert.deepStrictEqual(dropped, [])
      const damaged = bytes.slice(0, -2)
      assert.strictEqual((yield* readFit(damaged)).waypoints.length, 2)
    }))

  it("have no arrival and no start among course points, unlike stops, which have a name, and the ends", () => {
    const there = [9.502, 47.102] as const
    const geometry: WrittenRoute["geometry"] = [[9.5, 47.1], there, [9.504, 47.1], [...there, 455], [9.506, 47.1]]
    const cues = [[1, 0], [15, 1], [4, 3], [1, 3], [10, 3], [4, 4]].map(([type = 0, index = 0]) => cue(type, index, ""))
    const namesBy = (name?: string, last: readonly [number, number] = [9.506, 47.1]) => {
      const via = { coord: [9.50201, 47.102] as const, type: "routed", ...(name === undefined ? {} : { name }) }
      const waypoints = [click(47.1), via, { coord: last, type: "routed" }]
      const text = written({ ...ROUTE, geometry, waypoints, cues }, "tcx")
      return [...text.matchAll(/<CoursePoint><Name>([^<]*)/g)].map(([, name]) => name)
    }
    assert.deepStrictEqual(namesBy(), ["Start", "Left", "Right", "Finish"])
    assert.deepStrictEqual(namesBy("Inn"), ["Start", "Inn", "Left", "Finish", "Start", "Right", "Finish"])
    assert.deepStrictEqual(namesBy("Inn", there), ["Start", "Inn", "Left", "Finish", "Start", "Right", "Finish"])
  })
})

describe("a GPX file", () => {
  const formOf = (form: "track" | "route" | "both") => [...writeRouteFile(PLANNED, "gpx", form)].join("")

  it("has the line, the plan or both, as it is asked for", () => {
    assert.strictEqual(formOf("track"), written(PLANNED, "gpx"))
    const countOf = (form: "track" | "route" | "both") =>
      ["<trkpt", "<rtept", "<wpt"].map((point) => formOf(form).split(point).length - 1)
    assert.deepStrictEqual(countOf("track"), [4, 0, 2 + CUES.length])
    assert.deepStrictEqual(countOf("route"), [0, 6, 0])
    assert.deepStrictEqual(countOf("both"), [4, 6, CUES.length])
  })

  it("of both is the same route again, and of the plan alone a line of its waypoints", () => {
    const both = read(formOf("both")).document
    assert.deepStrictEqual(both.geometry, PLANNED.geometry)
    assert.deepStrictEqual(
      both.waypoints.map(({ name, type }) => [name, type]),
      PLANNED.waypoints.map(({ name, type }) => [
        name,
        type
      ])
    )
    const plan = read(formOf("route")).document
    assert.strictEqual(plan.name, PLANNED.name)
    assert.deepStrictEqual(plan.geometry, PLANNED.waypoints.map(({ coord }) => coord))
    assert.deepStrictEqual(plan.waypoints, PLANNED.waypoints)
  })

  it("of several tracks keeps the shaping points of each, and names the extensions of others", () => {
    const track = formOf("track").match(/<trk>.*<\/trk>/s)?.[0] ?? ""
    const [first, second] = readAll(`<gpx>${track}${track.replaceAll("47.1", "46.1")}</gpx>`, "gpx", { split: true })
    assert.strictEqual(first?.document.waypoints.length, 4)
    assert.strictEqual(second?.document.waypoints.length, 4)
    const foreign =
      "<gpx><trk><extensions><line/></extensions><trkseg><trkpt lat=\"1\" lon=\"1\"/></trkseg></trk></gpx>"
    assert.deepStrictEqual(read(foreign).dropped, [
      { what: "extensions of trk", why: "a route has no place for it", count: 1 }
    ])
  })
})
