import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as fc from "fast-check"
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Position } from "../../src/schema/Geometry.ts"
import { MEDIA_TYPES } from "../../src/schema/MediaTypes.ts"
import { draftsOf, type TrackChoice } from "../../src/services/files/Choice.ts"
import { detectFormat } from "../../src/services/files/Detect.ts"
import type { TextFormat, WrittenRoute } from "../../src/services/files/Document.ts"
import { finish } from "../../src/services/files/Finish.ts"
import { readRouteFile, writeRouteFile } from "../../src/services/files/RouteFile.ts"
import { leastTimeOf } from "../support/ProcessorTime.ts"

const trackpoint = (lat: number) =>
  `<Trackpoint><Position><LatitudeDegrees>${lat}</LatitudeDegrees><LongitudeDegrees>0</LongitudeDegrees></Position></Trackpoint>`

const FORMATS: ReadonlyArray<TextFormat> = ["gpx", "geojson", "tcx", "kml"]

const written = (route: WrittenRoute, format: TextFormat) => [...writeRouteFile(route, format)].join("")

const routesOf = Effect.fnUntraced(function*(text: string, format: TextFormat, choice: Partial<TrackChoice>) {
  const file = yield* readRouteFile(text, format)
  const drafts = yield* draftsOf(file, { split: false, join: false, track: undefined, ...choice })
  return yield* Effect.forEach(drafts, finish)
})

const readAll = (text: string, format: TextFormat = "gpx", choice: Partial<TrackChoice> = {}) =>
  Effect.runSync(routesOf(text, format, choice))

const read = (text: string, format: TextFormat = "gpx", choice: Partial<TrackChoice> = {}) => {
  const [route] = readAll(text, format, choice)
  return route ?? assert.fail("the file has several tracks")
}

const joined = (text: string, format: TextFormat = "gpx") => read(text, format, { join: true })

/** What was made of a file, and what of it was dropped. */
const understood = (text: string, format: TextFormat = "gpx") => {
  const { document, dropped } = read(text, format)
  return { document, dropped }
}

const refusal = (text: string, format: TextFormat = "gpx"): string => {
  const result = Effect.runSync(Effect.result(routesOf(text, format, { join: true })))
  return Result.isFailure(result) ? result.failure.message : "accepted"
}

/** The processor time of work, which is the same beside a busy neighbour. */
const millisecondsOf = (work: () => void): number => {
  const before = process.threadCpuUsage()
  work()
  const { system, user } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

const carriedByXml = /^[\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]*$/u
const nasty = fc.constantFrom(
  "]]>",
  "<![CDATA[",
  "&amp;",
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
    fc.double({ min: -limit, max: limit, noNaN: true }),
    fc.constantFrom(limit, -limit, 0, -0, 1e-7, 5e-324, -2.5e-12)
  )
const lng = degrees(180)
const lat = degrees(90)
const position: fc.Arbitrary<Position> = fc.oneof(
  fc.tuple(lng, lat),
  fc.tuple(
    lng,
    lat,
    fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom(1e21, 0, 8848.86, -430.5))
  )
)

const dateTime = fc.date({
  min: new Date("1971-01-01T00:00:00Z"),
  max: new Date("2100-01-01T00:00:00Z"),
  noInvalidDate: true
})
  .map((date) => date.toISOString())
const waypoint = (timestamp: fc.Arbitrary<string>) =>
  fc.record({ coord: fc.tuple(lng, lat), type: openValue, name: trimmed(200), timestamp }, { requiredKeys: ["coord"] })
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

const gpx = (inner: string, attributes = "xmlns=\"http://www.topografix.com/GPX/1/1\" version=\"1.1\" creator=\"x\"") =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<gpx ${attributes}>${inner}</gpx>`

const trk = (...points: ReadonlyArray<string>) => `<trk><trkseg>${points.join("")}</trkseg></trk>`

describe("a route that goes out and comes in again", () => {
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

  it("is written in pieces of which none is long", () => {
    for (const format of FORMATS) {
      const pieces = [...writeRouteFile({ ...longRoute, geometry: long.slice(0, 10_000) }, format)]
      assert.isAbove(pieces.length, 5)
      assert.isBelow(Math.max(...pieces.map((piece) => piece.length)), 70_000)
      assert.deepStrictEqual(read(pieces.join(""), format).document.geometry, long.slice(0, 10_000))
    }
  })

  it("with 100,000 positions is read as GPX in less than a second", () => {
    const text = written(longRoute, "gpx")
    assert.isBelow(leastTimeOf(() => read(text), 1000)[0], 1000)
  }, 30_000)

  it("that has no line comes back without one, and one of a single position with that", () => {
    for (const format of FORMATS) {
      for (const geometry of [[], [[7, 8, 9] as const]]) {
        const route = { name: "Short", tags: [], waypoints: [{ coord: [1, 2] as const }], geometry }
        assert.deepStrictEqual(read(written(route, format), format).document, route)
      }
    }
  })
})

const XMLLINT = "xmllint"
const isXmllintThere = spawnSync(XMLLINT, ["--version"]).status === 0

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
    }, 30_000)

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
          writeFileSync(file, written({ ...route, geometry, waypoints, createdAt: "2026-01-02T03:04:05.678Z" }, "gpx"))
          return file
        })
        const schema = join(import.meta.dirname, "../support/gpx-1.1.xsd")
        execFileSync(XMLLINT, ["--noout", "--schema", schema, ...files], { stdio: "pipe" })
      } finally {
        rmSync(directory, { recursive: true })
      }
    }, 30_000)
  }
)

describe("GPX of others", () => {
  it("of version 1.0 has name and description in the root", () => {
    const text = gpx(
      `<name>Old</name><desc>Older</desc><author>A</author><keywords>Alps, Road Cycling</keywords>${
        trk("<trkpt lat=\"1\" lon=\"2\"/>", "<trkpt lat=\"3\" lon=\"4\"/>")
      }`,
      "xmlns=\"http://www.topografix.com/GPX/1/0\" version=\"1.0\" creator=\"x\""
    )
    assert.deepStrictEqual(understood(text), {
      document: {
        name: "Old",
        description: "Older",
        tags: ["alps", "road-cycling"],
        waypoints: [{ coord: [2, 1], type: "routed" }, { coord: [4, 3], type: "routed" }],
        geometry: [[2, 1], [4, 3]]
      },
      dropped: [{ what: "author of gpx", why: "a route has no place for it", count: 1 }]
    })
  })

  it("may have a byte-order mark, line breaks of any system and a prefix for its namespace", () => {
    const text = "\uFEFF<?xml version=\"1.0\"?>\r\n<g:gpx xmlns:g=\"http://www.topografix.com/GPX/1/1\">\r\n<g:trk>"
      + "<g:name>Caf\u00E9\r\n</g:name><g:trkseg><g:trkpt lon='1' lat='2'><g:ele> 3.50 </g:ele></g:trkpt></g:trkseg></g:trk></g:gpx>"
    const { document } = read(text)
    assert.strictEqual(document.name, "Caf\u00E9")
    assert.deepStrictEqual(document.geometry, [[1, 2, 3.5]])
  })

  it("tells elements of its own namespace from those of others, whichever has the prefix", () => {
    const text = gpx(
      trk("<trkpt lat=\"1\" lon=\"2\"><x:ele>9</x:ele><own:ele>5</own:ele></trkpt>"),
      "xmlns=\"http://www.topografix.com/GPX/1/1\" xmlns:own=\"http://www.topografix.com/GPX/1/1\" xmlns:x=\"urn:x\""
    )
    assert.deepStrictEqual(read(text).document.geometry, [[2, 1, 5]])
  })

  it("has the segments of a track joined, and warns of the gap, which is no part of its distance", () => {
    const point = (lat: number) => `<trkpt lat="${lat}" lon="0"/>`
    const { document, measures, warnings } = read(
      gpx(`<trk><trkseg>${point(0)}${point(0.01)}</trkseg><trkseg/><trkseg>${point(1)}${point(1.01)}</trkseg></trk>`)
    )
    assert.deepStrictEqual(document.geometry, [[0, 0], [0, 0.01], [0, 1], [0, 1.01]])
    assert.closeTo(measures.distance ?? 0, 2 * 1111.95, 0.1)
    assert.deepStrictEqual(warnings, [{
      code: "gap_joined",
      message: "Gaps between segments, 110083 m in total, are straight lines and do not count into distance",
      count: 1
    }])
  })

  it("has the duration and the climbs of its segments, and not of what is between them", () => {
    const point = (at: number, ele: number, time: string) =>
      `<trkpt lat="${at / 100}" lon="0"><ele>${ele}</ele><time>2026-01-01T${time}Z</time></trkpt>`
    const { measures } = read(gpx(
      `<trk><trkseg>${point(0, 100, "10:00:00")}${point(1, 150, "10:10:00")}</trkseg><trkseg>${
        point(50, 900, "12:00:00") + point(51, 910, "12:05:00")
      }</trkseg></trk>`
    ))
    assert.deepInclude(measures, { duration: 900, elevationGain: 60 })
  })

  it("with several tracks becomes what is asked for, and nothing without being asked", () => {
    const wpt = (lat: number) => `<wpt lat="${lat}" lon="0"><name>At ${lat}</name></wpt>`
    const track = (name: string, lat: number) =>
      `<trk><name>${name}</name><trkseg><trkpt lat="${lat}" lon="0"/><trkpt lat="${
        lat + 0.01
      }" lon="0"/></trkseg></trk>`
    const route = "<rte><name>C</name><rtept lat=\"60\" lon=\"0\"/><rtept lat=\"61\" lon=\"0\"/></rte>"
    const file = gpx(
      `<metadata><name>All</name></metadata>${wpt(51)}${wpt(9)}${route}${track("A", 10)}${track("B", 50)}`
    )
    assert.deepStrictEqual(readAll(file), [])
    const split = readAll(file, "gpx", { split: true }).map(({ document, measures }) => [
      document.name,
      document.geometry,
      document.waypoints.map(({ name }) => name),
      measures.distance
    ])
    assert.deepStrictEqual(split, [
      ["A", [[0, 10], [0, 10.01]], ["At 9"], undefined],
      ["B", [[0, 50], [0, 50.01]], ["At 51"], undefined],
      ["C", [[0, 60], [0, 61]], [undefined, undefined], undefined]
    ])
    const chosen = read(file, "gpx", { track: 1 })
    assert.strictEqual(chosen.document.name, "B")
    assert.deepInclude(chosen.dropped, { what: "tracks", why: "another one was chosen by `track`", count: 2 })
    const joined = read(file, "gpx", { join: true })
    assert.deepStrictEqual([joined.document.name, joined.document.geometry.length], ["All", 6])
    assert.closeTo(joined.measures.distance ?? 0, 2 * 1111.95 + 111_195, 1)
    assert.throws(() => readAll(file, "gpx", { track: 3 }), /Expected an index of 0 to 2/)
    assert.throws(() => readAll("<kml/>", "kml", { track: 0 }), /The file has no tracks/)
  })

  for (
    const [format, text] of [
      [
        "geojson",
        `{"type":"FeatureCollection","features":[
        {"type":"Feature","properties":{"name":"A"},"geometry":{"type":"LineString","coordinates":[[0,1],[0,2]]}},
        {"type":"Feature","properties":{"name":"B"},"geometry":{"type":"MultiLineString","coordinates":[[[0,3]],[[0,4]]]}}
      ]}`
      ],
      [
        "kml",
        `<kml><Document>
        <Placemark><name>A</name><LineString><coordinates>0,1 0,2</coordinates></LineString></Placemark>
        <Placemark><name>B</name><MultiGeometry><LineString><coordinates>0,3</coordinates></LineString>
          <LineString><coordinates>0,4</coordinates></LineString></MultiGeometry></Placemark></Document></kml>`
      ],
      [
        "tcx",
        `<TrainingCenterDatabase><Courses><Course><Name>A</Name><Track>${trackpoint(1)}${trackpoint(2)}</Track></Course>
        <Course><Name>B</Name><Track>${trackpoint(3)}</Track><Track>${trackpoint(4)}</Track></Course></Courses>
        </TrainingCenterDatabase>`
      ]
    ] as const
  ) {
    it(`as ${format} has its tracks and their segments apart`, () => {
      assert.deepStrictEqual(readAll(text, format), [])
      const routes = readAll(text, format, { split: true })
      assert.deepStrictEqual(routes.map(({ document }) => [document.name, document.geometry]), [
        ["A", [[0, 1], [0, 2]]],
        ["B", [[0, 3], [0, 4]]]
      ])
      assert.deepStrictEqual(
        routes.map(({ measures, warnings }) => [measures.distance, warnings.map(({ code }) => code)]),
        [
          [undefined, []],
          [0, ["gap_joined"]]
        ]
      )
    })
  }

  it("with more positions than a route may have keeps those that shape it, and says so", () => {
    const point = (at: number) => `<trkpt lat="${at % 100 === 0 ? 1.01 : 1}" lon="${(at / 10_000).toFixed(4)}"/>`
    const { document, measures, warnings } = read(gpx(trk(...Array.from({ length: 120_000 }, (_, at) => point(at)))))
    assert.strictEqual(document.geometry.length, 100_000)
    assert.strictEqual(document.geometry.filter(([, lat]) => lat === 1.01).length, 1200)
    assert.deepStrictEqual(document.geometry.at(-1), [11.9999, 1])
    assert.isAbove(measures.distance ?? 0, 2 * 1199 * 1110)
    assert.deepInclude(warnings, {
      code: "positions_simplified",
      message: "Of 120000 positions the 100000 that shape the line most were kept",
      count: 20_000
    })
  })

  it("keeps text in CDATA as it is, and decodes references elsewhere", () => {
    const text = gpx(
      `<metadata><name>a &amp;amp; &#x1F6B2;<![CDATA[ <b> &amp; ]]>&#99;</name></metadata>${
        trk("<trkpt lat=\"1\" lon=\"2\"/>")
      }`
    )
    assert.strictEqual(read(text).document.name, "a &amp; \u{1F6B2} <b> &amp; c")
  })

  it("that has a route without a track has its line in that", () => {
    const points = "<rtept lat=\"1\" lon=\"2\"><ele>3</ele><name>A</name></rtept><rtept lat=\"4\" lon=\"5\"/>"
    assert.deepStrictEqual(understood(gpx(`<rte><name>R</name>${points}</rte>`)), {
      document: {
        name: "R",
        tags: [],
        waypoints: [{ coord: [2, 1], name: "A" }, { coord: [5, 4] }],
        geometry: [[2, 1, 3], [5, 4]]
      },
      dropped: []
    })
  })

  it("that has a long route without a track has no waypoint at each of its points", () => {
    const { document, dropped } = read(gpx(`<rte>${"<rtept lat=\"1\" lon=\"2\"/>".repeat(1001)}</rte>`))
    assert.strictEqual(document.geometry.length, 1001)
    assert.strictEqual(document.waypoints.length, 2)
    assert.deepStrictEqual(dropped, [
      { what: "waypoints", why: "a route has at most 1000; the points are its line", count: 1001 }
    ])
  })

  it("has its waypoints in a route, else in places", () => {
    const wpt = "<wpt lat=\"1\" lon=\"2\"><name>Well</name><sym>Water</sym></wpt>"
    const rte = "<rte><rtept lat=\"3\" lon=\"4\"/></rte>"
    const line = trk("<trkpt lat=\"5\" lon=\"6\"/>")
    assert.deepStrictEqual(read(gpx(wpt + line)).document.waypoints, [{ coord: [2, 1], name: "Well" }])
    const both = read(gpx(wpt + rte + line))
    assert.deepStrictEqual(both.document.waypoints, [{ coord: [4, 3] }, { coord: [2, 1], type: "poi", name: "Well" }])
    assert.deepStrictEqual(both.dropped, [{ what: "sym of wpt", why: "a route has no place for it", count: 1 }])
  })

  it("says what a route has no place for", () => {
    const point =
      "<trkpt lat=\"1\" lon=\"2\"><ele>NaN</ele><time>2026-01-01T00:00:00Z</time><extensions><x:hr>9</x:hr></extensions></trkpt>"
    const why = "a route has no place for it"
    const { document, dropped } = read(gpx(`<metadata><link href="x"/></metadata>${trk(point, point)}`))
    assert.deepStrictEqual(document.geometry, [[2, 1], [2, 1]])
    assert.deepStrictEqual(dropped, [
      { what: "link of metadata", why, count: 1 },
      { what: "time of trkpt", why, count: 2 },
      { what: "extensions of points", why, count: 2 },
      { what: "elevations", why: "they are not decimal numbers", count: 2 }
    ])
  })

  it("is cut to a route's limits, and says so", () => {
    const { document, dropped } = read(gpx(
      `<metadata><name>${"\u{1F6B2}".repeat(256)}</name><desc>${"d".repeat(10_001)}</desc>`
        + `<keywords>${Array.from({ length: 12 }, (_, index) => `t${index}`).join()},\u00E9</keywords></metadata>`
        + `<rte><rtept lat="1" lon="2"><name>${"n".repeat(256)}</name><type>${"t".repeat(65)}</type></rtept></rte>`
        + "<trk><type>Motorcycling</type></trk>"
    ))
    assert.strictEqual(document.name, "\u{1F6B2}".repeat(255))
    assert.strictEqual(document.description, "d".repeat(10_000))
    assert.strictEqual(document.tags.length, 10)
    assert.isUndefined(document.activity)
    assert.deepStrictEqual(document.waypoints, [{ coord: [2, 1], name: "n".repeat(255) }])
    assert.deepStrictEqual(dropped.map(({ count, what }) => [what, count]), [
      ["end of the name", 1],
      ["end of the description", 1],
      ["tags", 1],
      ["tags", 2],
      ["activity", 1],
      ["ends of waypoint names", 1],
      ["types or timestamps of waypoints", 1]
    ])
  })

  it("names the sport in its own words", () => {
    const activityOf = (type: string) =>
      read(gpx(`<trk><type>${type}</type><trkseg><trkpt lat="1" lon="2"/></trkseg></trk>`)).document.activity
    for (const word of ["cycling", "Ride", "road_biking", "MTB", "Mountain Biking"]) {
      assert.strictEqual(activityOf(word), "cycle")
    }
    for (const word of ["running", "Trail Run"]) assert.strictEqual(activityOf(word), "run")
    for (const word of ["hiking", "Walk"]) assert.strictEqual(activityOf(word), "walk")
  })

  it("is refused with too many points, or with none", () => {
    const points = (count: number) => "<trkpt lat=\"1\" lon=\"2\"/>".repeat(count)
    assert.strictEqual(read(gpx(trk(points(100_000)))).document.geometry.length, 100_000)
    assert.strictEqual(
      refusal(gpx(`<rte>${"<rtept lat=\"1\" lon=\"2\"/>".repeat(1001)}</rte>${trk(points(1))}`)),
      "Expected at most 1000 waypoints, the file has 1001"
    )
    assert.strictEqual(refusal(gpx("")), "The file has no points")
    assert.strictEqual(refusal(gpx("<trk/>")), "The file has no points")
  })

  it("has coordinates on Earth, in decimal numbers", () => {
    const at = (lat: string, lon: string) =>
      gpx(trk("<trkpt lat=\"1\" lon=\"1\"/>", `<trkpt lat="${lat}" lon="${lon}"/>`))
    assert.deepStrictEqual(read(at("1.5e1", "-2.5E-7")).document.geometry[1], [-2.5e-7, 15])
    assert.deepStrictEqual(read(at(" +.5", "7.")).document.geometry[1], [7, 0.5])
    for (
      const [lat, lon] of [
        ["90.1", "0"],
        ["0", "180.1"],
        ["NaN", "0"],
        ["", "0"],
        ["0", "Infinity"],
        ["0x1", "0"],
        ["52,5", "13"],
        ["1e999", "0"],
        ["139.7", "35.6"]
      ]
    ) {
      assert.match(refusal(at(lat ?? "", lon ?? "")), /^trkpt\.1: Expected a longitude/)
    }
    assert.match(refusal(gpx(trk("<trkpt lat=\"1\"/>"))), /^trkpt\.0: /)
  })
})

describe("what is refused", () => {
  const laughs = `<!DOCTYPE lolz [<!ENTITY lol "lol">${
    Array.from({ length: 9 }, (_, n) => `<!ENTITY lol${n + 1} "${`&lol${n === 0 ? "" : n};`.repeat(10)}">`).join("")
  }]><gpx><name>&lol9;</name></gpx>`

  it("declared entities, at once", () => {
    const declared = [
      laughs,
      "<!DOCTYPE gpx SYSTEM \"file:///etc/passwd\"><gpx/>",
      "<!doctype gpx><gpx/>",
      `<!DOCTYPE x [${"<!ENTITY a 'b'>".repeat(500_000)}]><gpx/>`
    ]
    for (const text of declared) {
      const taken = millisecondsOf(() =>
        assert.strictEqual(refusal(text), "Document types and entity declarations are not accepted")
      )
      assert.isBelow(taken, 500)
    }
  })

  it("references to what is no character, or to an entity that XML does not have", () => {
    for (const reference of ["&eacute;", "&#0;", "&#xD800;", "&#xFFFF;", "&#x110000;", "& ", "&;"]) {
      assert.match(refusal(gpx(`<name>${reference}</name>${trk("<trkpt lat=\"1\" lon=\"2\"/>")}`)), /^Malformed XML/)
    }
  })

  it("malformed XML, with its line", () => {
    assert.match(refusal("<gpx>\n<trk>\n</gpx>"), /^Malformed XML: line 3/)
    for (
      const text of [
        "",
        "x",
        "<gpx>",
        "<gpx><trk></gpx>",
        "<gpx/><gpx/>",
        "<gpx a=1/>",
        "<gpx a='1' a='2'/>",
        "<gpx>&</gpx>",
        "<gpx><!-- </gpx>",
        "<gpx><![CDATA[</gpx>",
        "<__proto__/>"
      ]
    ) {
      assert.match(refusal(text), /^Malformed XML/)
    }
  })

  it("nesting and repetition without bound, in time", () => {
    const size = 2 * 1024 * 1024
    const bombs = [
      "<a>".repeat(size / 3),
      `<gpx>${"<a>".repeat(size / 7)}${"</a>".repeat(size / 7)}</gpx>`,
      `<gpx>${"<!--".repeat(size / 4)}`,
      "<".repeat(size),
      `<gpx${" ".repeat(size)}`,
      `<gpx>${"&amp;".repeat(size / 5)}</gpx>`
    ]
    for (const text of bombs) {
      const taken = millisecondsOf(() => assert.notStrictEqual(refusal(text), "accepted"))
      assert.isBelow(taken, 5000)
    }
    const kinds = Array.from({ length: 1000 }, (_, index) => `<a${index}/>`).join("")
    const { dropped } = read(gpx(`${kinds}<wpt lat="1" lon="2"/>`))
    assert.deepStrictEqual(dropped.at(-1), { what: "other things", why: "a route has no place for them", count: 950 })
  }, 30_000)

  it("a file of another kind", () => {
    assert.strictEqual(refusal("<kml/>"), "Expected <gpx>, not <kml>")
    assert.match(refusal("{", "geojson"), /^Malformed JSON/)
    for (
      const text of ["null", "[]", "\"x\"", "{\"type\":\"LineString\"}", "{\"type\":\"Feature\",\"geometry\":null}"]
    ) {
      assert.strictEqual(refusal(text, "geojson"), "The file has no points")
    }
  })

  it("no text makes a reader throw", () => {
    const pieces = fc.constantFrom(
      "<gpx>",
      "</gpx>",
      "<wpt lat='1' lon='2'>",
      "</wpt>",
      "<name>",
      "</name>",
      "&lt;",
      "]]>",
      "<![CDATA[",
      "<!--",
      "-->",
      "<?",
      "?>",
      "<trk>",
      "<trkseg/>",
      "constructor",
      "<toString/>",
      "\u0000",
      "\uD800"
    )
    const texts = fc.array(fc.oneof(pieces, fc.string({ unit: "binary", maxLength: 4 }))).map((parts) => parts.join(""))
    fc.assert(
      fc.property(texts, fc.constantFrom(...FORMATS), (text, format) => {
        assert.isString(refusal(text, format))
        assert.isString(refusal(`<gpx>${text}<wpt lat='1' lon='2'/></gpx>`))
      }),
      { numRuns: 1000 }
    )
    fc.assert(fc.property(fc.json(), (text) => {
      assert.isString(refusal(text, "geojson"))
      assert.isString(refusal(`{"type":"Feature","properties":${text},"geometry":${text}}`, "geojson"))
    }))
  })
})

describe("GeoJSON, TCX and KML of others", () => {
  it("GeoJSON may be any geometry, within whatever", () => {
    const { document, dropped } = read(
      JSON.stringify({
        type: "FeatureCollection",
        name: "Collection",
        features: [
          {
            type: "Feature",
            properties: null,
            geometry: { type: "MultiLineString", coordinates: [[[1, 2], [3, 4]], [[5, 6, 7, 8]]] }
          },
          {
            type: "Feature",
            properties: { name: "Well\u0000\uD800", type: 5 },
            geometry: {
              type: "GeometryCollection",
              geometries: [{ type: "Point", coordinates: [9, 9, 9] }, { type: "Polygon", coordinates: [] }]
            }
          }
        ]
      }),
      "geojson"
    )
    assert.deepStrictEqual(document, {
      name: "Collection",
      tags: [],
      waypoints: [{ coord: [9, 9], name: "Well\uFFFD" }],
      geometry: [[1, 2], [3, 4], [5, 6, 7]]
    })
    assert.deepStrictEqual(dropped, [
      { what: "Polygon", why: "a route has a line and points only", count: 1 },
      { what: "elevations of waypoints", why: "a waypoint has no elevation", count: 1 }
    ])
    assert.deepStrictEqual(
      read("{\"type\":\"LineString\",\"coordinates\":[[1,2],[3,4]]}", "geojson").document.geometry,
      [[1, 2], [3, 4]]
    )
    assert.match(
      refusal("{\"type\":\"LineString\",\"coordinates\":[[1,2],[3,\"4\"],[200,0],5]}", "geojson"),
      /^line\.1: .*line\.2: .*line\.3: /
    )
  })

  it("TCX may be a recorded activity of several laps", () => {
    const point = (lat: number) =>
      `<Trackpoint><Time>2026-01-01T00:00:00Z</Time><Position><LatitudeDegrees>${lat}</LatitudeDegrees>`
      + "<LongitudeDegrees>7</LongitudeDegrees></Position><AltitudeMeters>5.5</AltitudeMeters></Trackpoint>"
    const lap = (lat: number) =>
      `<Lap><Track>${point(lat)}<Trackpoint><Time>2026-01-01T00:00:00Z</Time></Trackpoint></Track></Lap>`
    const { document, dropped } = read(
      `<TrainingCenterDatabase><Activities><Activity Sport="Biking"><Id>2026-01-01T00:00:00Z</Id>${lap(1)}${
        lap(2)
      }</Activity></Activities></TrainingCenterDatabase>`,
      "tcx"
    )
    assert.strictEqual(document.activity, "cycle")
    assert.deepStrictEqual(document.geometry, [[7, 1, 5.5], [7, 2, 5.5]])
    assert.deepStrictEqual(dropped, [
      { what: "points", why: "they have no position", count: 2 }
    ])
  })

  it("TCX keeps to the lengths of its schema and has whole names in notes", () => {
    const text = written({
      name: "A name of more than fifteen",
      tags: [],
      waypoints: [{ coord: [1, 2], name: "More than ten" }],
      geometry: []
    }, "tcx")
    assert.include(text, "<Name>A name of more</Name>")
    assert.include(text, "<Notes>A name of more than fifteen</Notes>")
    assert.include(text, "<Name>More than</Name>")
    assert.include(text, "<Notes>More than ten</Notes>")
    assert.strictEqual(read(text.replaceAll("rps:", "other:"), "tcx").document.waypoints[0]?.name, "More than ten")
  })

  it("KML may have folders, tracks and links, and no link is followed", () => {
    const { document, dropped } = joined(
      `<kml xmlns="http://www.opengis.net/kml/2.2" xmlns:gx="http://www.google.com/kml/ext/2.2"><Document><Style/><Folder><name>F</name>
        <Placemark><name>Line</name><MultiGeometry><LineString><coordinates> 1,2,3 4, 5
          </coordinates></LineString><Polygon/></MultiGeometry></Placemark>
        <Placemark><gx:Track><when>2026-01-01T00:00:00Z</when><gx:coord>6 7 8</gx:coord></gx:Track></Placemark>
        <Placemark><name>Well</name><TimeStamp><when>2026-01-01</when></TimeStamp><Point><coordinates>9,9</coordinates></Point></Placemark>
        </Folder><NetworkLink><Link><href>http://example.org/</href></Link></NetworkLink></Document></kml>`,
      "kml"
    )
    assert.deepStrictEqual(document, {
      name: "Line",
      tags: [],
      waypoints: [{ coord: [9, 9], name: "Well", timestamp: "2026-01-01" }],
      geometry: [[1, 2, 3], [4, 5], [6, 7, 8]]
    })
    assert.deepStrictEqual(dropped.map(({ count, what }) => [what, count]), [
      ["when of Track", 1],
      ["Polygon", 1],
      ["NetworkLink", 1]
    ])
  })
})

describe("the format of a file", () => {
  it("is what its content type says", () => {
    for (const format of FORMATS) {
      assert.strictEqual(detectFormat(`${MEDIA_TYPES[format].toUpperCase()}; charset=utf-8`, ""), format)
    }
    assert.isUndefined(detectFormat("image/png", "<gpx/>"))
  })

  it("is what it looks like where the content type says too little", () => {
    const route: WrittenRoute = { name: "R", tags: [], waypoints: [{ coord: [1, 2] }], geometry: [] }
    const types = [
      undefined,
      "",
      "application/xml",
      "text/xml; charset=utf-8",
      "application/json",
      "application/octet-stream",
      "text/plain"
    ]
    for (const type of types) {
      for (const format of FORMATS) assert.strictEqual(detectFormat(type, `\uFEFF ${written(route, format)}`), format)
      for (const text of ["", "x", "<html/>", "[1]", "a <gpx>"]) assert.isUndefined(detectFormat(type, text))
    }
    assert.strictEqual(detectFormat(undefined, "<?xml version='1.0'?><!-- <a> --><x:gpx xmlns:x='y'/>"), "gpx")
    assert.isBelow(millisecondsOf(() => detectFormat(undefined, "<".repeat(8_000_000))), 500)
  })
})
