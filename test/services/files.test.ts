import { assert, describe, it } from "@effect/vitest"
import { Struct } from "effect"
import * as fc from "fast-check"
import { MEDIA_TYPES } from "../../src/schema/MediaTypes.ts"
import type { WrittenRoute } from "../../src/services/files/Draft.ts"
import { detectFormat } from "../../src/services/files/Upload.ts"
import { FORMATS, gpx, joined, read, refusal, trk, written } from "../support/Files.ts"

describe("what is refused", () => {
  const laughs = `<!DOCTYPE lolz [<!ENTITY lol "lol">${
    Array.from({ length: 9 }, (_, n) => `<!ENTITY lol${n + 1} "${`&lol${n === 0 ? "" : n};`.repeat(10)}">`).join("")
  }]><gpx><name>&lol9;</name></gpx>`

  it("declared entities", () => {
    const declared = [
      laughs,
      "<!DOCTYPE gpx SYSTEM \"file:///etc/passwd\"><gpx/>",
      "<!doctype gpx><gpx/>",
      `<!DOCTYPE x [${"<!ENTITY a 'b'>".repeat(500_000)}]><gpx/>`
    ]
    for (const text of declared) {
      assert.match(refusal(text), /^Malformed XML: .*(?:document types and entity declarations are not|invalid markup)/)
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

  it("nesting and repetition without bound", () => {
    const size = 2 * 1024 * 1024
    const bombs = [
      "<a>".repeat(size / 3),
      `<gpx>${"<a>".repeat(size / 7)}${"</a>".repeat(size / 7)}</gpx>`,
      `<gpx>${"<!--".repeat(size / 4)}`,
      "<".repeat(size),
      `<gpx${" ".repeat(size)}`,
      `<gpx>${"&amp;".repeat(size / 5)}</gpx>`
    ]
    for (const text of bombs) assert.notStrictEqual(refusal(text), "accepted")
    const kinds = Array.from({ length: 1000 }, (_, index) => `<a${index}/>`).join("")
    const { dropped } = read(gpx(`${kinds}<wpt lat="1" lon="2"/>`))
    assert.deepStrictEqual(dropped.at(-1), { what: "other things", why: "a route has no place for them", count: 950 })
  })

  it("a file of another kind", () => {
    assert.strictEqual(refusal("<kml/>"), "Expected <gpx>, not <kml>")
    assert.match(refusal("{", "geojson"), /^Malformed JSON/)
    for (const text of ["null", "[]", "\"x\"", "{}", "{\"type\":\"User\"}", "{\"type\":\"LineString\"}"]) {
      assert.match(refusal(text, "geojson"), /^It is not a route file: expected GeoJSON/)
    }
    for (const text of ["{\"type\":\"LineString\",\"coordinates\":[]}", "{\"type\":\"Feature\",\"geometry\":null}"]) {
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
      geometry: [[1, 2], [3, 4], [5, 6, 7]],
      segments: [0, 2]
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

  it("names elevations that are no numbers, and none where a file has none", () => {
    const trackpoint = (altitude: string) =>
      "<Trackpoint><Position><LatitudeDegrees>46</LatitudeDegrees><LongitudeDegrees>9</LongitudeDegrees></Position>"
      + `<AltitudeMeters>${altitude}</AltitudeMeters></Trackpoint>`
    const files = {
      tcx: `<TrainingCenterDatabase><Courses><Course><Track>${
        ["NaN", "1", " "].map(trackpoint).join("")
      }</Track></Course></Courses></TrainingCenterDatabase>`,
      kml:
        "<kml><Placemark><LineString><coordinates>9,46,abc 9,46,1 9,46,</coordinates></LineString></Placemark></kml>",
      geojson: "{\"type\":\"LineString\",\"coordinates\":[[9,46,\"7\"],[9,46,1],[9,46,null]]}"
    }
    for (const format of Struct.keys(files)) {
      const { document, dropped } = read(files[format], format)
      assert.deepStrictEqual(document.geometry, [[9, 46], [9, 46, 1], [9, 46]], format)
      assert.deepStrictEqual(dropped, [{ what: "elevations", why: "they are not decimal numbers", count: 1 }], format)
    }
  })

  it("GeoJSON is named by the feature of its only line, else by the collection, also as one route", () => {
    const line = (name: string, lng: number) => ({
      type: "Feature",
      properties: { name },
      geometry: { type: "LineString", coordinates: [[lng, 1], [lng, 2]] }
    })
    const nameOf = (...features: ReadonlyArray<unknown>) =>
      joined(JSON.stringify({ type: "FeatureCollection", name: "All", features }), "geojson").document.name
    assert.strictEqual(nameOf(line("Ridge", 9)), "Ridge")
    assert.strictEqual(nameOf(line("Ridge", 9), line("Valley", 10)), "All")
  })

  it("GeoJSON may have numbers as names and titles", () => {
    const named = (properties: unknown, type: string, coordinates: unknown) => ({
      type: "Feature",
      properties,
      geometry: { type, coordinates }
    })
    const features = [
      named({ name: 12 }, "LineString", [[9, 46], [9, 47]]),
      named({ title: 7.5 }, "Point", [9, 46]),
      named({ name: true, title: "Hut" }, "Point", [9, 47])
    ]
    const { document } = read(JSON.stringify({ type: "FeatureCollection", features }), "geojson")
    assert.deepStrictEqual([document.name, document.waypoints.map(({ name }) => name)], ["12", ["7.5", "Hut"]])
  })

  it("GeoJSON that was made of GPX has sport, times and symbols, and names other properties of its features", () => {
    const feature = (properties: unknown, type: string, coordinates: unknown) => ({
      type: "Feature",
      properties,
      geometry: { type, coordinates }
    })
    const readOf = (...features: ReadonlyArray<unknown>) => {
      const { document, dropped } = read(JSON.stringify({ type: "FeatureCollection", features }), "geojson")
      return { activity: document.activity, waypoints: document.waypoints, dropped }
    }
    const time = "2021-05-01T10:00:00Z"
    const [line, why] = [[[9, 46], [9, 47]], "a route has no place for it"]
    const nothingElse = { _gpxType: "trk", type: "cycling", time, cmt: null, coordinateProperties: { times: [time] } }
    assert.deepStrictEqual(
      readOf(
        feature(nothingElse, "LineString", line),
        feature({ name: "Well", time, sym: "Drinking Water", type: "user", cmt: "" }, "Point", [9, 46]),
        feature({ sym: "Flag", type: "Summit" }, "Point", [9, 46]),
        feature({ amenity: "bench" }, "Point", [9, 47])
      ),
      {
        activity: "cycle",
        waypoints: [
          { coord: [9, 46], type: "water", name: "Well", timestamp: time },
          { coord: [9, 46], type: "Summit" },
          { coord: [9, 47] }
        ],
        dropped: [{ what: "properties of points", why, count: 2 }]
      }
    )
    for (const other of [{ cmt: "x" }, { type: "residential" }, { coordinateProperties: { heart: [99, 99] } }]) {
      const { activity, dropped } = readOf(feature(other, "LineString", line))
      assert.isUndefined(activity)
      assert.deepStrictEqual(dropped, [{ what: "properties of lines", why, count: 1 }])
    }
  })

  it("TCX names the extensions of its points, but not our own", () => {
    const extended = (lng: number, extensions: string) =>
      `<Trackpoint><Position><LatitudeDegrees>46</LatitudeDegrees><LongitudeDegrees>${lng}</LongitudeDegrees></Position>`
      + `<Extensions>${extensions}</Extensions></Trackpoint>`
    const watts = "<TPX xmlns=\"http://www.garmin.com/xmlschemas/ActivityExtension/v2\"><Watts>210</Watts></TPX>"
    const own = "<rps:longitude xmlns:rps=\"urn:route-planning-service:1\">180</rps:longitude>"
    const points = [extended(179, watts), extended(179.5, watts), extended(179.7, ""), extended(-180, own)]
    const { document, dropped } = read(
      `<TrainingCenterDatabase><Courses><Course><Track>${
        points.join("")
      }</Track></Course></Courses></TrainingCenterDatabase>`,
      "tcx"
    )
    assert.deepStrictEqual(document.geometry.map(([lng]) => lng), [179, 179.5, 179.7, 180])
    assert.deepStrictEqual(dropped, [{
      what: "Extensions of Trackpoint",
      why: "a route has no place for it",
      count: 2
    }])
  })

  it("TCX and KML name what others add to courses, points and placemarks, but not our own", () => {
    const place = "<Position><LatitudeDegrees>46</LatitudeDegrees><LongitudeDegrees>9</LongitudeDegrees></Position>"
    const theirs = "<Extensions><Surface>gravel</Surface></Extensions>"
    const why = "a route has no place for it"
    assert.deepStrictEqual(
      read(
        `<TrainingCenterDatabase><Courses><Course><Track><Trackpoint>${place}</Trackpoint></Track>`
          + `<CoursePoint><Name>A</Name>${place}${theirs}</CoursePoint>${theirs}</Course></Courses></TrainingCenterDatabase>`,
        "tcx"
      ).dropped,
      [{ what: "Surface of Extensions", why, count: 1 }, { what: "Surface of Extensions", why, count: 1 }]
    )
    const data = "<ExtendedData><Data name=\"gx_media_links\"><value>x</value></Data></ExtendedData>"
    const point = "<Point><coordinates>9,46</coordinates></Point>"
    const line = "<LineString><coordinates>9,46 9,47</coordinates></LineString>"
    const typed =
      "<ExtendedData><SchemaData schemaUrl=\"#S\"><SimpleData name=\"a\">1</SimpleData></SchemaData></ExtendedData>"
    const own = "<ExtendedData><Data name=\"type\"><value>food</value></Data></ExtendedData>"
    assert.deepStrictEqual(
      read(
        `<kml><Document>${data}<Placemark>${typed}${line}</Placemark><Placemark>${own}${point}</Placemark></Document></kml>`,
        "kml"
      ).dropped,
      [{ what: "ExtendedData", why, count: 2 }]
    )
  })

  it("KML names the periods and addresses of its placemarks, but not how they look", () => {
    const looks = "<styleUrl>#a</styleUrl><Style/><visibility>1</visibility><open>0</open><LookAt/><Snippet/>"
    const others = "<TimeSpan><begin>2021</begin></TimeSpan><address>Vaduz</address>"
    const point = "<Point><coordinates>9,46</coordinates></Point>"
    const why = "a route has no place for it"
    assert.deepStrictEqual(read(`<kml><Placemark>${looks}${others}${point}</Placemark></kml>`, "kml").dropped, [
      { what: "TimeSpan of Placemark", why, count: 1 },
      { what: "address of Placemark", why, count: 1 }
    ])
  })

  it("TCX names what its laps and activities have beside the line", () => {
    const lap =
      "<Lap StartTime=\"2026-01-01T00:00:00Z\"><TotalTimeSeconds>60</TotalTimeSeconds><DistanceMeters>9</DistanceMeters>"
      + "<Calories>7</Calories><Intensity>Active</Intensity><TriggerMethod>Manual</TriggerMethod><Track><Trackpoint>"
      + "<Position><LatitudeDegrees>46</LatitudeDegrees><LongitudeDegrees>9</LongitudeDegrees></Position></Trackpoint>"
      + "</Track></Lap>"
    const { dropped } = read(
      `<TrainingCenterDatabase><Activities><Activity Sport="Biking"><Id>A</Id>${lap}${lap}<Notes>N</Notes>`
        + "<Creator><Name>Edge</Name></Creator></Activity></Activities></TrainingCenterDatabase>",
      "tcx"
    )
    const why = "a route has no place for it"
    assert.deepStrictEqual(dropped, [
      { what: "Creator of Activity", why, count: 1 },
      { what: "Calories of Lap", why, count: 2 }
    ])
  })

  it("TCX has the planned duration of a course in its laps, else in its times", () => {
    const point = (second: number) =>
      `<Trackpoint><Time>2026-01-01T00:00:0${second}Z</Time><Position><LatitudeDegrees>46</LatitudeDegrees>`
      + `<LongitudeDegrees>${9 + second}</LongitudeDegrees></Position></Trackpoint>`
    const durationOf = (...seconds: ReadonlyArray<string>) => {
      const laps = seconds.map((text) => `<Lap><TotalTimeSeconds>${text}</TotalTimeSeconds></Lap>`).join("")
      const course = `<Course>${laps}<Track>${point(0)}${point(9)}</Track></Course>`
      return read(`<TrainingCenterDatabase><Courses>${course}</Courses></TrainingCenterDatabase>`, "tcx").measures
    }
    assert.deepStrictEqual(durationOf("200", "100.5"), { duration: 300.5 })
    for (const seconds of [[], ["0"], ["x"], ["-5"]]) assert.deepStrictEqual(durationOf(...seconds), { duration: 9 })
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
      geometry: [[1, 2, 3], [4, 5], [6, 7, 8]],
      segments: [0, 2]
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
    assert.isUndefined(detectFormat(undefined, "<".repeat(8_000_000)))
  })

  it("is that of its root, whatever a comment before it names", () => {
    const gpxFile = "<?xml version=\"1.0\"?><!-- was <kml> --><gpx version=\"1.1\"/>"
    assert.strictEqual(detectFormat(undefined, gpxFile), "gpx")
    assert.strictEqual(detectFormat(undefined, "<!-- a > b, <gpx> -->\n<!-- <gpx> --> <Placemark/>"), "kml")
    const long = `<!-- <kml> ${"x".repeat(70_000)} --><gpx/>`
    assert.isUndefined(detectFormat(undefined, long))
    assert.strictEqual(detectFormat(MEDIA_TYPES.gpx, long), "gpx")
  })
})
