import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { gzipSync } from "node:zlib"
import { MAX_POSITIONS, MAX_SEGMENTS, type Position } from "../../src/schema/Geometry.ts"
import { FILE_FORMATS, type FileFormat, MAX_UNPACKED_BYTES } from "../../src/schema/Import.ts"
import { MAX_MANEUVERS } from "../../src/schema/Maneuver.ts"
import { MAX_DESCRIPTION, MAX_WAYPOINTS } from "../../src/schema/Route.ts"
import { draftsOf, type WrittenRoute } from "../../src/services/files/Draft.ts"
import { finish } from "../../src/services/files/Finish.ts"
import { writeFit } from "../../src/services/files/FitWriter.ts"
import { writeRouteFile } from "../../src/services/files/RouteFile.ts"
import { readPacked } from "../../src/services/files/Upload.ts"
import { readFile } from "../../src/services/routes/FileJobs.ts"
import { gpx, metresOf, read as readText } from "../support/Files.ts"

const digits = (index: number) => Math.sin(index) / 1e4

const geometry: ReadonlyArray<Position> = Array.from(
  { length: MAX_POSITIONS },
  (_, index) => [-123.1 + index * 1.1e-4 + digits(index), 37.9 + digits(index + 7), 1234.5 + digits(index + 9)] as const
)

/** The route has as many of everything as it may have, with all digits that a number has. */
const LARGEST: WrittenRoute = {
  name: "n".repeat(255),
  description: "ü".repeat(MAX_DESCRIPTION),
  tags: ["long"],
  activity: "cycle",
  geometry,
  segments: Array.from({ length: MAX_SEGMENTS }, (_, index) => index * 100),
  waypoints: Array.from({ length: MAX_WAYPOINTS }, (_, index) => ({
    coord: [-123.1 + digits(index), 37.9 + digits(index)] as const,
    ...(index % 2 === 0 ? { type: "routed" } : { name: `${index} `.repeat(50).trim(), type: "food" })
  })),
  cues: Array.from({ length: MAX_MANEUVERS }, (_, index) => ({
    instruction: `Turn left, ${index}`,
    type: 15,
    begin_shape_index: 20 * index,
    length: 0.25,
    time: 12.5
  })),
  duration: 86_400,
  createdAt: "2026-01-02T03:04:05.678Z"
}

const bytesOf = (format: FileFormat): Uint8Array =>
  format === "fit" ? writeFit(LARGEST) : Buffer.from([...writeRouteFile(LARGEST, format)].join(""))

const read = Effect.fnUntraced(function*(bytes: Uint8Array) {
  const { draft } = yield* readPacked({ name: undefined, contentType: undefined, bytes }, undefined)
  const drafts = yield* draftsOf(draft, { split: false, join: false, track: undefined })
  return yield* Effect.flatMap(Effect.fromNullishOr(drafts[0]), finish)
})

const NEAR: Readonly<Partial<Record<FileFormat, number>>> = { fit: 1e-7 }

describe("the largest route", () => {
  for (const format of FILE_FORMATS) {
    it.effect(`comes back from ${format} with every position, gap and distance`, () =>
      Effect.gen(function*() {
        const bytes = bytesOf(format)
        assert.isAtMost(bytes.length, MAX_UNPACKED_BYTES)
        const { document } = yield* read(bytes)
        const near = NEAR[format] ?? 0
        const moved = document.geometry.findIndex(([lng, lat], index) =>
          Math.abs(lng - (geometry[index]?.[0] ?? Infinity)) > near
          || Math.abs(lat - (geometry[index]?.[1] ?? Infinity)) > near
        )
        assert.deepStrictEqual([document.geometry.length, moved], [MAX_POSITIONS, -1])
        assert.deepStrictEqual(document.segments, LARGEST.segments)
        assert.strictEqual(document.waypoints.length, MAX_WAYPOINTS)
        assert.deepStrictEqual(document.cues, LARGEST.cues)
        if (format !== "fit") assert.strictEqual(metresOf(document), metresOf(LARGEST))
      }))
  }
})

it("a line of GeoJSON may have 400,000 positions with elevations", () => {
  const positions = Array.from({ length: 400_000 }, (_, index) => [9 + index / 1e6, 47 + digits(index), index % 9])
  const { warnings } = readText(JSON.stringify({ type: "LineString", coordinates: positions }), "geojson")
  assert.deepStrictEqual(warnings.map(({ code, count }) => [code, count]), [["positions_simplified", 300_000]])
})

const HOURS = 8

const seconds = Array.from({ length: HOURS * 3600 }, (_, index) => index)

const timeAt = (second: number) => new Date(Date.UTC(2026, 0, 1) + 1000 * second).toISOString()

/** A watch records the ride: it writes a point a second with the values of its sensors. */
const RECORDINGS = {
  gpx: () =>
    gpx(
      `<trk><trkseg>${
        seconds.map((second) =>
          `<trkpt lat="${(46 + second / 1e5).toFixed(17)}" lon="${(9 + second / 1e5).toFixed(17)}">\n`
          + `        <ele>452.399993896484375</ele>\n        <time>${timeAt(second)}</time>\n        <extensions>\n`
          + "          <ns3:TrackPointExtension>\n            <ns3:atemp>21.0</ns3:atemp>\n            <ns3:hr>132</ns3:hr>\n"
          + "            <ns3:cad>88</ns3:cad>\n          </ns3:TrackPointExtension>\n        </extensions>\n      </trkpt>\n"
        ).join("")
      }</trkseg></trk>`,
      "xmlns=\"http://www.topografix.com/GPX/1/1\" xmlns:ns3=\"urn:x\" version=\"1.1\" creator=\"Garmin Connect\""
    ),
  tcx: () =>
    "<TrainingCenterDatabase><Activities><Activity Sport=\"Biking\"><Lap><Track>"
    + seconds.map((second) =>
      `<Trackpoint><Time>${timeAt(second)}</Time><Position><LatitudeDegrees>${46 + second / 1e5}</LatitudeDegrees>`
      + `<LongitudeDegrees>${9 + second / 1e5}</LongitudeDegrees></Position><AltitudeMeters>452.4</AltitudeMeters>`
      + `<DistanceMeters>${5 * second}</DistanceMeters><HeartRateBpm><Value>132</Value></HeartRateBpm>`
      + "<Cadence>88</Cadence><Extensions><ns3:TPX><ns3:Speed>5.1</ns3:Speed><ns3:Watts>210</ns3:Watts></ns3:TPX>"
      + "</Extensions></Trackpoint>\n"
    ).join("")
    + "</Track></Lap></Activity></Activities></TrainingCenterDatabase>"
}

describe(`${HOURS} hours at a hertz with sensors`, () => {
  for (const [format, textOf] of Object.entries(RECORDINGS)) {
    it.effect(`go in as ${format}, packed or not`, () =>
      Effect.gen(function*() {
        const bytes = Buffer.from(textOf())
        assert.isAbove(bytes.length, 8 * 1024 * 1024)
        for (const given of [bytes, gzipSync(bytes)]) {
          const { document, measures } = yield* read(given)
          assert.strictEqual(document.geometry.length, seconds.length)
          assert.strictEqual(measures.duration, seconds.length - 1)
        }
      }))
  }
})

it.effect("a file of several tracks names 50 kinds of things that are left out, and counts the rest", () =>
  Effect.gen(function*() {
    const track = "<trk><trkseg><trkpt lat=\"1\" lon=\"2\"/><trkpt lat=\"1\" lon=\"3\"/></trkseg></trk>"
    const none = { track: undefined, contentType: undefined, contentEncoding: undefined, fileName: undefined }
    const empty = Array.from({ length: 1000 }, (_, index) => `<trk><name>${index}</name></trk>`)
    const bytes = Buffer.from(gpx(`${track}${track}${empty.join("")}`))
    const outcome = yield* Effect.promise(async () =>
      readFile.run({ ...none, bytes, name: undefined, split: false, join: false })
    )
    const dropped = "read" in outcome ? outcome.read.dropped : []
    assert.strictEqual(dropped.length, 51)
    assert.deepInclude(dropped.at(-1), { what: "other things", count: 950 })
  }))
