import { assert, describe, it } from "@effect/vitest"
import { readFitMessages } from "fit-file-parser/raw"
import type { WrittenRoute } from "../../src/services/files/Draft.ts"
import { writeFit } from "../../src/services/files/FitWriter.ts"
import { gpx, read, readAll, written } from "../support/Files.ts"

/** The waypoint is where the line ends, as it would be written from the other side. */
const ROUTE: WrittenRoute = {
  name: "To the antimeridian",
  tags: [],
  waypoints: [{ coord: [-180, -16.5], name: "End" }],
  geometry: [[179.5, -16.5], [179.75, -16.5], [180, -16.5]],
  createdAt: "2026-01-01T00:00:00.000Z",
  duration: 3600
}

const COURSE_POINT = 32

describe("across the antimeridian", () => {
  it("a waypoint of a course has the time and the distance of the position that is nearest", () => {
    assert.include(
      written(ROUTE, "tcx"),
      "<CoursePoint><Name>End</Name><Time>2026-01-01T01:00:00.000Z</Time>"
    )
    const [point] = readFitMessages(writeFit(ROUTE), { messageNumbers: [COURSE_POINT] }).messages
    const metres = point?.fields.flatMap(({ bytes, fieldNumber }) =>
      fieldNumber === 4 ? [Buffer.from(bytes).readUInt32LE() / 100] : []
    )
    assert.closeTo(metres?.[0] ?? 0, 53_307, 1)
  })

  it("a turn of another program's course is at the position that is nearest", () => {
    const trackpoints = [179.5, 179.75, 179.9995].map((lng) =>
      `<Trackpoint><Position><LatitudeDegrees>-16.5</LatitudeDegrees><LongitudeDegrees>${lng}</LongitudeDegrees>`
      + "</Position></Trackpoint>"
    )
    const turn = "<CoursePoint><Name>Left</Name><Position><LatitudeDegrees>-16.5</LatitudeDegrees>"
      + "<LongitudeDegrees>-179.9999</LongitudeDegrees></Position><PointType>Left</PointType></CoursePoint>"
    const { document } = read(
      `<TrainingCenterDatabase xmlns="http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2"><Courses><Course>`
        + `<Name>Course</Name><Track>${
          trackpoints.join("")
        }</Track>${turn}</Course></Courses></TrainingCenterDatabase>`,
      "tcx"
    )
    assert.deepStrictEqual(document.cues?.map(({ begin_shape_index, length }) => [begin_shape_index, length]), [[2, 0]])
  })

  it("a waypoint belongs to the track that is nearest", () => {
    const track = (...lngs: ReadonlyArray<number>) =>
      `<trk><trkseg>${lngs.map((lng) => `<trkpt lat="-16.5" lon="${lng}"/>`).join("")}</trkseg></trk>`
    const waypoint = "<wpt lat=\"-16.5\" lon=\"-179.9999\"><name>Near the first</name></wpt>"
    const tracks = readAll(gpx(waypoint + track(179.5, 179.9999) + track(-179.5, -179)), "gpx", { split: true })
    const names = tracks.map(({ document }) => document.waypoints.flatMap(({ name }) => name ?? []))
    assert.deepStrictEqual(names, [["Near the first"], []])
  })
})
