import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Position } from "../../src/schema/Geometry.ts"
import { draftsOf, type WrittenRoute } from "../../src/services/files/Draft.ts"
import { finish } from "../../src/services/files/Finish.ts"
import { writeFit } from "../../src/services/files/FitWriter.ts"
import { writeRouteFile } from "../../src/services/files/RouteFile.ts"
import { readPacked } from "../../src/services/files/Upload.ts"
import { coordinatesOf, lineMetres } from "../../src/services/geometry/Geodesy.ts"
import { FORMATS, metresOf, read, understood, written } from "../support/Files.ts"
import { numbers } from "../support/Numbers.ts"

const carriedByXml = /^[\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]*$/u

const nasty = fc.constantFrom(
  "]]>",
  "<![CDATA[",
  "&amp;",
  "&lt;",
  "<b>",
  "&",
  "<",
  ">",
  "\"",
  "'",
  "\r",
  "\r\n",
  "\n\n",
  "\t",
  "🚲",
  "\u0085",
  "--"
)

const text = (maxLength: number) =>
  fc.array(fc.oneof(nasty, fc.string({ unit: "binary", maxLength: 8 }), fc.string({ maxLength: 8 })), { maxLength: 8 })
    .map((parts) => parts.join("").slice(0, maxLength).toWellFormed())
    .filter((text) => carriedByXml.test(text))

const trimmed = (maxLength: number) => text(maxLength).map((text) => text.trim())

const openValue = fc.oneof(fc.constantFrom("routed", "direct"), text(60).filter((text) => text !== ""))

const degrees = (limit: number) =>
  fc.oneof(
    numbers(-limit, limit),
    fc.constantFrom(limit, -limit, 0, -0, 1e-7, 5e-324, -2.5e-12)
  )

const lng = degrees(180)

const lat = degrees(90)

/**
 * A position at 0/0 among others far away is left out, since receivers without a fix write it; it has its own test. FIT
 * rounds positions that are nearer to it.
 */
const LEAST_DEGREES = 1e-6

const isAwayFromNullIsland = ([lng, lat]: readonly [number, number, ...ReadonlyArray<number>]) =>
  Math.abs(lng) > LEAST_DEGREES || Math.abs(lat) > LEAST_DEGREES

const position: fc.Arbitrary<Position> = fc.oneof(
  fc.tuple(lng, lat),
  fc.tuple(
    lng,
    lat,
    fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom(1e21, 0, 8848.86, -430.5))
  )
).filter(isAwayFromNullIsland)

const dateTime = fc.date({
  min: new Date("1971-01-01T00:00:00Z"),
  max: new Date("2100-01-01T00:00:00Z"),
  noInvalidDate: true
})
  .map((date) => date.toISOString())

const waypoint = (timestamp: fc.Arbitrary<string>) =>
  fc.record(
    { coord: fc.tuple(lng, lat).filter(isAwayFromNullIsland), type: openValue, name: trimmed(200), timestamp },
    { requiredKeys: ["coord"] }
  )

const tags = fc.uniqueArray(fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,23}$/), { maxLength: 10 })

const route = (timestamp: fc.Arbitrary<string> = openValue): fc.Arbitrary<WrittenRoute> =>
  fc.record({
    name: trimmed(200).filter((name) => name !== ""),
    description: trimmed(2000),
    tags,
    activity: fc.constantFrom("run", "cycle", "walk"),
    waypoints: fc.array(waypoint(timestamp), { minLength: 1, maxLength: 6 }),
    geometry: fc.array(position, { maxLength: 20 })
  }, { requiredKeys: ["name", "tags", "waypoints", "geometry"] })

const long: ReadonlyArray<Position> = Array.from(
  { length: 100_000 },
  (_, index) => [13.123456789 + index * 1.1e-5, 52.987654321 - index * 1.3e-5, 34.25 + index % 900] as const
)

const longRoute: WrittenRoute = {
  name: "Long",
  tags: ["long"],
  waypoints: [{ coord: [13.1, 52.9], type: "routed" }],
  geometry: long,
  createdAt: "2026-01-02T03:04:05.678Z"
}

const XMLLINT = "xmllint"

const isXmllintThere = spawnSync(XMLLINT, ["--version"]).status === 0

/** The parts of the line begin where an earlier one ends, or anywhere else; some have one position. */
const parted: fc.Arbitrary<Pick<WrittenRoute, "geometry" | "segments">> = fc.array(
  fc.array(position, { minLength: 1, maxLength: 8 }),
  { minLength: 2, maxLength: 6 }
).map((parts) => ({
  geometry: parts.flat(),
  segments: parts.map((_, index) => parts.slice(0, index).flat().length)
}))

const duration = fc.option(fc.integer({ min: 1, max: 100_000 }), { nil: undefined })

const recordedAt = fc.option(fc.constant("2025-06-01T17:00:00.250Z"), { nil: undefined })

/** The positions of FIT are about a centimetre apart. */
const METRES_OF_FIT = 0.05

const partsOf = ({ geometry, segments = [0] }: Pick<WrittenRoute, "geometry" | "segments">) =>
  segments.map((from, index) => (segments[index + 1] ?? geometry.length) - from)

describe("a route with gaps that goes out and comes in again", () => {
  for (const format of FORMATS) {
    it(`has the same parts, distance and times as ${format}`, () => {
      fc.assert(
        fc.property(parted, duration, recordedAt, ({ geometry, segments = [] }, seconds, began) => {
          const route = { name: "Gaps", tags: [], waypoints: [{ coord: [1, 2] as const }], geometry, segments }
          const recording = {
            ...(seconds === undefined ? {} : { duration: seconds }),
            ...(began === undefined ? {} : { recordedAt: began })
          }
          const { document, measures, warnings } = read(written({ ...route, ...recording }, format), format)
          assert.deepStrictEqual(document, route)
          assert.strictEqual(metresOf(document), metresOf(route))
          assert.deepStrictEqual([measures, warnings], [recording, []])
        }),
        { numRuns: 200 }
      )
    })
  }

  it("has the same parts and the same distance as FIT, to the centimetres of the format", () =>
    Effect.runPromise(Effect.gen(function*() {
      for (const [{ geometry, segments = [] }, seconds] of fc.sample(fc.tuple(parted, duration), 200)) {
        const route = {
          name: "Gaps",
          tags: [],
          waypoints: [],
          geometry: geometry.map(([lng, lat]) => [lng, lat] as const),
          segments,
          ...(seconds === undefined ? {} : { duration: seconds })
        }
        const { draft } = yield* readPacked(
          { name: "a.fit", contentType: undefined, bytes: writeFit(route) },
          undefined
        )
        const [track] = draft.tracks
        const read = track?.segments ?? []
        assert.deepStrictEqual(read.map(({ length }) => length), partsOf(route))
        const metres = read.reduce((sum, part) => sum + lineMetres(coordinatesOf(part)), 0)
        assert.closeTo(metres, metresOf(route), METRES_OF_FIT * geometry.length)
        assert.strictEqual(track?.seconds, seconds)
      }
    })))
})

/** The route of an engine is longer than its line, and takes as long as it says. */
const MEASURED: WrittenRoute = {
  name: "Planned",
  tags: [],
  waypoints: [{ coord: [9.5, 47.1] }],
  geometry: [[9.5, 47.1, 450], [9.51, 47.1], [9.52, 47.1]],
  segments: [0, 2],
  distance: 1234.56,
  duration: 300,
  elevationGain: 12.5
}

const climbing = (elevations: ReadonlyArray<number>): ReadonlyArray<Position> =>
  [9.5, 9.51, 9.52].map((lng, index) => {
    const elevation = elevations[index]
    return elevation === undefined ? [lng, 47.1] : [lng, 47.1, elevation]
  })

const MEASURES = { distance: 1234.56, duration: 300, elevationGain: 12.5 }

describe("a route that goes out and comes in again", () => {
  it.each(FORMATS)("has the measures that it had, as %s", (format) => {
    const text = written(MEASURED, format)
    const { dropped, measures } = read(text, format)
    assert.deepStrictEqual([measures, dropped], [MEASURES, []])
    const { segments: _, ...planned } = MEASURED
    const place = read(written({ ...planned, geometry: [] }, format), format)
    assert.deepStrictEqual([place.measures, place.dropped], [MEASURES, []])
    assert.deepStrictEqual(
      read(text.replaceAll("9.51", "9.515"), format).measures,
      {},
      "another program moved its line"
    )
    assert.deepStrictEqual(read(text.replace("distance:1234.56", "distance:-1"), format).measures, {})
  })

  it.each(FORMATS)("has neither gain nor cues of a line that another program changed in place, as %s", (format) => {
    const cues = [{ instruction: "Left", type: 15, begin_shape_index: 1, length: 0.5, time: 60 }]
    const route: WrittenRoute = { ...MEASURED, cues, segments: [0], geometry: climbing([450, 470, 500]) }
    const markIn = (text: string) => /line:[^"<]*/.exec(text)?.[0] ?? ""
    const readAs = (geometry: WrittenRoute["geometry"]) => {
      const text = written({ ...route, geometry }, format)
      const { document, dropped, measures } = read(text.replace(markIn(text), markIn(written(route, format))), format)
      return [document.cues, measures, dropped.map(({ what }) => what)]
    }
    const { elevationGain: _, ...others } = MEASURES
    assert.deepStrictEqual(readAs(route.geometry), [cues, MEASURES, []])
    assert.deepStrictEqual(readAs(route.geometry.toReversed()), [undefined, {}, ["cues"]])
    assert.deepStrictEqual(readAs(climbing([450, 450, 450])), [cues, others, []], "the elevations are others")
    assert.deepStrictEqual(readAs(climbing([])), [cues, MEASURES, []], "the elevations were left out")
    const rounded = route.geometry.map(([lng, lat, elevation = 0]) => [lng + 4e-6, lat + 4e-6, elevation] as const)
    assert.deepStrictEqual(readAs(rounded), [cues, MEASURES, []], "the coordinates were rounded")
    const older = written(route, format).replace(/ way:[^ "<]*/, "")
    assert.deepStrictEqual(read(older.replace("450", "470"), format).measures, MEASURES)
  })

  it("is lines alone as GeoJSON, unless a part of it is a position", () => {
    assert.include(written(MEASURED, "geojson"), "\"GeometryCollection\"")
    const geometry = [...MEASURED.geometry, [9.53, 47.1] as const]
    assert.include(written({ ...MEASURED, geometry }, "geojson"), "\"MultiLineString\"")
  })

  it("has the measures that it had, as FIT to a centimetre", () =>
    Effect.runPromise(Effect.gen(function*() {
      for (const distance of [1234.56, 30_000_000]) {
        const bytes = writeFit({ ...MEASURED, distance })
        const { draft } = yield* readPacked({ name: "a.fit", contentType: undefined, bytes }, undefined)
        const [only] = yield* draftsOf(draft, { split: false, join: false, track: undefined })
        const { measures } = yield* Effect.flatMap(Effect.fromNullishOr(only), finish)
        assert.deepStrictEqual(measures, { ...MEASURES, distance })
      }
    })))

  it("as GPX is the same route, every coordinate and elevation to the last digit", () => {
    fc.assert(
      fc.property(route(dateTime), (route) => {
        assert.deepStrictEqual(understood(written(route, "gpx")), { document: route, dropped: [] })
      }),
      { numRuns: 300 }
    )
  })

  for (const format of ["geojson", "kml", "tcx"] as const) {
    it(`as ${format} is the same route`, () => {
      fc.assert(
        fc.property(route(), (route) => {
          assert.deepStrictEqual(understood(written(route, format), format), { document: route, dropped: [] })
        }),
        { numRuns: 200 }
      )
    })
  }

  it("loses what XML cannot carry, and a GPX waypoint's time that is none", () => {
    const route: WrittenRoute = {
      name: "a\u0001b\u000B\uFFFE",
      tags: [],
      waypoints: [{ coord: [1, 2], timestamp: "yesterday" }],
      geometry: []
    }
    const kept = { name: "ab", tags: [], waypoints: [{ coord: [1, 2] as const }], geometry: [] }
    assert.deepStrictEqual(read(written(route, "gpx")).document, kept)
  })

  it("as KML has a description that is text, not the HTML that programs would run or load", () => {
    for (
      const [description, html] of [
        ["Turn at <Alm> & keep left", "Turn at &lt;Alm> &amp; keep left"],
        ["<img src=https://a.example>", "&lt;img src=https://a.example>"],
        ["A &lt; B", "A &amp;lt; B"],
        ["Tom & Jerry, 1 < 2", "Tom & Jerry, 1 < 2"]
      ] as const
    ) {
      const text = written({ ...MEASURED, description }, "kml")
      assert.include(
        text,
        `<description>${html.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")}</description>`
      )
      assert.strictEqual(read(text, "kml").document.description, description)
    }
  })

  it("of a recording keeps when that began, and as GPX how long it took", () => {
    const recorded: WrittenRoute = {
      name: "Evening ride",
      tags: [],
      waypoints: [{ coord: [9.5, 47.1] }],
      geometry: [[9.5, 47.1, 450], [9.51, 47.1], [9.52, 47.1]],
      createdAt: "2026-01-02T03:04:05.678Z",
      recordedAt: "2025-06-01T17:00:00.250Z",
      duration: 3723
    }
    for (const format of FORMATS) {
      const { dropped, measures } = read(written(recorded, format), format)
      assert.deepStrictEqual([measures.recordedAt, dropped], [recorded.recordedAt, []], format)
      const place = read(written({ ...recorded, geometry: [] }, format), format)
      assert.strictEqual(place.measures.recordedAt, recorded.recordedAt, format)
    }
    const gpx = written(recorded, "gpx")
    assert.strictEqual(read(gpx).measures.duration, 3723)
    assert.include(gpx, "<ele>450</ele><time>2025-06-01T17:00:00.250Z</time>")
    assert.include(gpx, "<time>2025-06-01T18:02:03.250Z</time></trkpt>\n</trkseg>")
    assert.include(written(recorded, "tcx"), "<Time>2025-06-01T18:02:03.250Z</Time>")
  })

  it("has a position at 0/0 again where others are near, and not among others far away", () => {
    const around = (lat: number): ReadonlyArray<Position> => [[0.1, lat], [0, 0], [0.2, lat], [0.3, lat]]
    for (const format of FORMATS) {
      const read0 = (geometry: ReadonlyArray<Position>) => {
        const { document, dropped } = read(
          written({ name: "0/0", tags: [], waypoints: [{ coord: [0.1, 0.1] }], geometry }, format),
          format
        )
        return { geometry: document.geometry, dropped: dropped.map(({ count, why }) => [why, count]) }
      }
      assert.deepStrictEqual(read0(around(0.1)), { geometry: around(0.1), dropped: [] }, format)
      const far = around(46)
      assert.deepStrictEqual(read0(far), {
        geometry: [0, 2, 3].flatMap((at) => far.slice(at, at + 1)),
        dropped: [["it is at 0/0, far from the others", 1]]
      }, format)
    }
  })

  it("is written in pieces of which none is long", () => {
    for (const format of FORMATS) {
      const pieces = [...writeRouteFile({ ...longRoute, geometry: long.slice(0, 10_000) }, format)]
      assert.isAbove(pieces.length, 5)
      assert.isBelow(Math.max(...pieces.map((piece) => piece.length)), 70_000)
      assert.deepStrictEqual(read(pieces.join(""), format).document.geometry, long.slice(0, 10_000))
    }
  })

  it("that has no line comes back without one, and one of a single position with that", () => {
    for (const format of FORMATS) {
      for (const geometry of [[], [[7, 8, 9] as const]]) {
        const route = { name: "Short", tags: [], waypoints: [{ coord: [1, 2] as const }], geometry }
        assert.deepStrictEqual(read(written(route, format), format).document, route)
      }
    }
  })
})

describe.skipIf(!isXmllintThere)(
  "exported XML, by xmllint (skipped where that is not installed: apt-get install libxml2-utils)",
  () => {
    it("is well-formed in each format, whatever the texts", () => {
      const texts = fc.string({ unit: "binary", maxLength: 50 }).map((text) => text.toWellFormed())
      for (const [exported, name, description] of fc.sample(fc.tuple(route(), texts, texts), 20)) {
        for (const format of ["gpx", "tcx", "kml"] as const) {
          const input = written({ ...exported, name, description }, format)
          execFileSync(XMLLINT, ["--noout", "-"], { input, stdio: "pipe" })
        }
      }
    })

    it("is, as GPX, valid against the schema of GPX 1.1", () => {
      const directory = mkdtempSync(join(tmpdir(), "gpx-"))
      // libxml2 holds no more than 24 digits of a decimal.
      const plain = (limit: number) => fc.integer({ min: -limit * 1e7, max: limit * 1e7 }).map((value) => value / 1e7)
      const position = fc.oneof(fc.tuple(plain(180), plain(90)), fc.tuple(fc.constant(180), plain(90), plain(9000)))
      const sample = fc.sample(fc.tuple(route(fc.oneof(dateTime, openValue)), fc.array(position)), 40)
      try {
        const files = sample.map(([route, geometry], index) => {
          const file = join(directory, `${index}.gpx`)
          const waypoints = route.waypoints.map((waypoint, index) => ({
            ...waypoint,
            coord: [index === 0 ? 180 : index, 1] as const
          }))
          const cues = [{ instruction: route.name, type: index, begin_shape_index: 0, length: 0.5, time: 60 }]
          const createdAt = "2026-01-02T03:04:05.678Z"
          writeFileSync(file, written({ ...route, geometry, waypoints, cues, createdAt }, "gpx"))
          return file
        })
        const schema = join(import.meta.dirname, "../support/gpx-1.1.xsd")
        execFileSync(XMLLINT, ["--noout", "--schema", schema, ...files], { stdio: "pipe" })
      } finally {
        rmSync(directory, { recursive: true })
      }
    })
  }
)
