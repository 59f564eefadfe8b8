import { assert, describe, it } from "@effect/vitest"
import { Effect, Struct } from "effect"
import { zipped } from "../support/Archives.ts"
import { gpx, packedRoutes, read, readAll, refusal, trk } from "../support/Files.ts"

const point = (lat: string | number, lon: string | number) => `<trkpt lat="${lat}" lon="${lon}"/>`
const line = [point(46, 9), point(46.01, 9.01), point(46.02, 9.02), point(46.03, 9.03)]
const unusable = "it has no usable position"

const messageOf = (bytes: Uint8Array, contentType?: string) =>
  Effect.map(Effect.flip(packedRoutes(bytes, contentType)), (error) => error.message)

describe("a track without positions", () => {
  it("is left out and named, and the only other one needs no choice", () => {
    const file = gpx(
      `<trk><name>Empty</name><trkseg/></trk><trk/>${trk(...line)}<trk><name>Nowhere</name><trkseg>${
        point("NaN", "NaN")
      }</trkseg></trk>`
    )
    const { document, dropped } = read(file)
    assert.strictEqual(document.geometry.length, 4)
    const why = "it has no positions"
    assert.deepStrictEqual(dropped, [
      { what: "track Empty", why, count: 1 },
      { what: "track", why, count: 1 },
      { what: "trkpt", why: unusable, count: 1 },
      { what: "track Nowhere", why, count: 1 }
    ])
    assert.strictEqual(refusal(gpx("<trk/><trk/>")), "The file has no points")
  })

  it("leaves the line to a route beside it, and an empty course to an activity", () => {
    const plan = "<rte><name>Plan</name><rtept lat=\"46\" lon=\"9\"/><rtept lat=\"46.1\" lon=\"9.1\"/></rte>"
    const { document, dropped } = read(gpx(`<trk><name>Empty</name><trkseg/></trk>${plan}`))
    assert.deepStrictEqual([document.name, document.geometry], ["Plan", [[9, 46], [9.1, 46.1]]])
    assert.deepStrictEqual(dropped, [{ what: "track Empty", why: "it has no positions", count: 1 }])
    const tcx =
      "<TrainingCenterDatabase><Courses><Course><Name>Empty</Name></Course></Courses><Activities><Activity><Id>Ride</Id>"
      + "<Lap><Track><Trackpoint><Position><LatitudeDegrees>46</LatitudeDegrees><LongitudeDegrees>9</LongitudeDegrees>"
      + "</Position></Trackpoint></Track></Lap></Activity></Activities></TrainingCenterDatabase>"
    assert.strictEqual(read(tcx, "tcx").document.name, "Ride")
  })

  it("is left out of KML, TCX and GeoJSON too", () => {
    const kml = "<kml><Document><Placemark><Track/></Placemark><Placemark><name>Walk</name><LineString><coordinates>"
      + "9,46 9.1,46.1</coordinates></LineString></Placemark></Document></kml>"
    const tcx =
      "<TrainingCenterDatabase><Activities><Activity Sport=\"Other\"><Id>Pool</Id><Lap><Track><Trackpoint/></Track>"
      + "</Lap></Activity><Activity><Id>Walk</Id><Lap><Track><Trackpoint><Position><LatitudeDegrees>46</LatitudeDegrees>"
      + "<LongitudeDegrees>9</LongitudeDegrees></Position></Trackpoint></Track></Lap></Activity></Activities>"
      + "</TrainingCenterDatabase>"
    const geojson = JSON.stringify({
      type: "FeatureCollection",
      features: [
        { type: "Feature", properties: {}, geometry: { type: "LineString", coordinates: [] } },
        {
          type: "Feature",
          properties: { name: "Walk" },
          geometry: { type: "LineString", coordinates: [[9, 46], [9, 47]] }
        }
      ]
    })
    for (const [format, text] of [["kml", kml], ["tcx", tcx], ["geojson", geojson]] as const) {
      assert.deepStrictEqual(readAll(text, format).map(({ document }) => document.name), ["Walk"], format)
    }
  })
})

describe("an archive", () => {
  const bytes = (text: string) => Buffer.from(text)

  it.effect("is imported without the files that cannot be read or have no position, which are named", () =>
    Effect.gen(function*() {
      const zip = yield* zipped(
        new Map([
          ["good.gpx", bytes(gpx(trk(...line)))],
          ["indoor.gpx", bytes(gpx("<trk><name>Trainer</name><trkseg/></trk>"))],
          ["broken.gpx", bytes("<gpx><trk>")],
          ["data.json", bytes("{\"customer\":{\"type\":\"Point\"}}")],
          ["page.html", bytes("<!DOCTYPE html><html></html>")],
          ["photo.jpg", bytes("\u00ff\u00d8")],
          ["cut.gpx.gz", bytes("\u001f\u008b\u0008")]
        ])
      )
      const routes = yield* packedRoutes(zip)
      assert.deepStrictEqual(routes.map(({ document }) => document.name), ["good"])
      assert.deepStrictEqual(routes[0]?.dropped.map(({ what }) => what), [
        "file indoor.gpx",
        "file broken.gpx",
        "file data.json",
        "file page.html",
        "file photo.jpg",
        "file cut.gpx.gz"
      ])
    }))

  it.effect("of which nothing is left names each file with its reason", () =>
    Effect.gen(function*() {
      const zip = yield* zipped(
        new Map([["a.gpx", bytes(gpx("<trk/>"))], ["b.gpx", bytes("<gpx>")], ["c.json", bytes("[{\"a\":1}]")]])
      )
      assert.match(
        yield* messageOf(zip),
        /a\.gpx: The file has no points.*b\.gpx: Malformed XML.*c\.json: It is not a route file/
      )
    }))

  it.effect("of a backup has its files, and not the document that links them", () =>
    Effect.gen(function*() {
      const link = "<kml><Document><NetworkLink><Link><href>files/a.kml</href></Link></NetworkLink></Document></kml>"
      const path =
        "<kml><Placemark><name>Path</name><LineString><coordinates>9,46 9,47</coordinates></LineString></Placemark></kml>"
      const zip = yield* zipped(new Map([["doc.kml", bytes(link)], ["files/a.kml", bytes(path)]]))
      assert.deepStrictEqual((yield* packedRoutes(zip)).map(({ document }) => document.name), ["Path"])
      assert.match(yield* messageOf(bytes(link)), /exported as a link/)
    }))

  it.effect("and a file may be sent with any content type, and a web page is called one", () =>
    Effect.gen(function*() {
      const file = bytes(gpx(trk(...line)))
      for (
        const type of [
          "application/x-www-form-urlencoded",
          "application/gpx",
          "application/x-gpx+xml",
          "application/tcx+xml",
          "application/octet-stream; charset=binary",
          "application/vnd.google-earth.kml+xml"
        ]
      ) {
        assert.strictEqual((yield* packedRoutes(file, type)).length, 1, type)
      }
      for (const label of ["UNICODE", "UTF_8", "utf-8-sig", "UTF-32", "ANSI", "", "utf-8 "]) {
        const labelled = bytes(gpx(trk(...line)).replace("UTF-8", label))
        assert.strictEqual((yield* packedRoutes(labelled)).length, 1, label)
      }
      const pages = [
        "<!DOCTYPE html>\n<html><body/></html>",
        "<!-- a --><!-- b --><html/>",
        "<head><title/></head>",
        "<body>"
      ]
      for (const page of pages) {
        for (const type of ["application/gpx+xml", undefined]) assert.match(yield* messageOf(bytes(page), type), /HTML/)
      }
      assert.strictEqual(yield* messageOf(bytes("")), "The file is empty")
      const map = "<kml><Placemark><Polygon/></Placemark><Placemark><address/></Placemark></kml>"
      assert.strictEqual(
        yield* messageOf(bytes(map)),
        "The file has no points; Placemark: it has no geometry; Polygon: a route has a line and points only"
      )
    }))

  it.effect("may have archives in it, one level deep, of which a broken one stops nothing", () =>
    Effect.gen(function*() {
      const kml = (name: string) =>
        `<kml><Placemark><name>${name}</name><LineString><coordinates>9,46 9,47</coordinates></LineString></Placemark></kml>`
      const kmz = yield* zipped(new Map([["doc.kml", bytes(kml("In"))]]))
      const deep = yield* zipped(new Map([["a.kmz", Buffer.from(kmz)]]))
      const zip = yield* zipped(
        new Map([
          ["a.kmz", Buffer.from(kmz)],
          ["b.kml", bytes(kml("Out"))],
          ["deep.zip", Buffer.from(deep)],
          ["cut.zip", Buffer.from(kmz.slice(0, 60))]
        ])
      )
      const routes = yield* packedRoutes(zip)
      assert.deepStrictEqual(routes.map(({ document }) => document.name), ["In", "Out"])
      assert.deepStrictEqual(routes[0]?.dropped.map(({ what }) => what), ["file deep.zip/a.kmz", "file cut.zip"])
    }))
})

describe("a position that is none", () => {
  const geometryOf = (...points: ReadonlyArray<string>) => read(gpx(trk(...points))).document.geometry

  it("is left out and counted, where half of all are usable", () => {
    for (const [lat, lon] of [["NaN", "9"], ["", ""], ["100", "200"], ["46", "Infinity"], ["46", "200"]]) {
      const { document, dropped } = read(gpx(trk(...line.slice(0, 2), point(lat ?? "", lon ?? ""), ...line.slice(2))))
      assert.strictEqual(document.geometry.length, 4, `${lat} ${lon}`)
      assert.deepStrictEqual(dropped, [{ what: "trkpt", why: unusable, count: 1 }])
    }
    assert.strictEqual(read(gpx(trk(...line, "<trkpt/>", "<trkpt/>", "<trkpt/>", "<trkpt/>"))).dropped[0]?.count, 4)
    assert.match(refusal(gpx(trk(...line.slice(0, 3), "<trkpt/>", "<trkpt/>", "<trkpt/>", "<trkpt/>"))), /^trkpt\.3: /)
  })

  it("is left out of waypoints, of KML, of GeoJSON and of TCX", () => {
    const places = read(gpx(`<wpt lat="" lon=""/><wpt lat="46" lon="9"><name>Hut</name></wpt>${trk(...line)}`))
    assert.deepStrictEqual(places.document.waypoints.map(({ name }) => name), ["Hut"])
    assert.deepStrictEqual(places.dropped, [{ what: "wpt", why: unusable, count: 1 }])
    const kml =
      "<kml><Placemark><LineString><coordinates>Track: 9,46 9.1,46.1 5 9.2,46.2</coordinates></LineString></Placemark></kml>"
    assert.strictEqual(read(kml, "kml").document.geometry.length, 3)
    const geojson = "{\"type\":\"LineString\",\"coordinates\":[[9,46],[9],[null,46],[9,46.1],[9,46.2]]}"
    assert.strictEqual(read(geojson, "geojson").document.geometry.length, 3)
    const position = (lat: string) =>
      `<Trackpoint><Position><LatitudeDegrees>${lat}</LatitudeDegrees><LongitudeDegrees>9</LongitudeDegrees></Position></Trackpoint>`
    const tcx = `<TrainingCenterDatabase><Courses><Course><Track>${position("46")}<Trackpoint><Position/></Trackpoint>${
      position("NaN")
    }${position("46.1")}</Track></Course></Courses></TrainingCenterDatabase>`
    assert.strictEqual(read(tcx, "tcx").document.geometry.length, 2)
  })

  it("may have a longitude beyond 180 where the line goes on there", () => {
    assert.deepStrictEqual(geometryOf(point(66, "-180.096474"), point(66, "-179.9")), [[179.903526, 66], [-179.9, 66]])
    assert.deepStrictEqual(geometryOf(point(0, 179), point(0, 181), point(0, 190)), [[179, 0], [-179, 0], [-170, 0]])
    assert.deepStrictEqual(geometryOf(point(0, 190), point(0, 191)), [[-170, 0], [-169, 0]])
  })

  it("may have a blank behind the comma of a tuple, and no decimal comma", () => {
    const kml = (tuples: string) =>
      `<kml><Placemark><LineString><coordinates>${tuples}</coordinates></LineString></Placemark></kml>`
    for (const tuples of ["9,46, 9.1,46.1", "9, 46 9.1, 46.1", "9, 46,\n9.1,46.1,"]) {
      assert.deepStrictEqual(read(kml(tuples), "kml").document.geometry, [[9, 46], [9.1, 46.1]], tuples)
    }
    assert.deepStrictEqual(read(kml("9, 46, 400, 9.1, 46.1, 401"), "kml").document.geometry, [[9, 46, 400], [
      9.1,
      46.1,
      401
    ]])
    const { document } = read(kml("9,46,1 9, 9.1,46.1,1"), "kml")
    assert.deepStrictEqual(document.geometry, [[9, 46, 1], [9.1, 46.1, 1]])
    assert.match(refusal(kml("9,5,46,1,400 9,6,46,2,401"), "kml"), /^coordinates\.0: Expected a longitude/)
  })

  it("may be a number that JSON lacks", () => {
    const geojson = "{\"type\":\"LineString\",\"coordinates\":[[9,46],[NaN, -Infinity],[9,46.1,NaN]]}"
    assert.deepStrictEqual(read(geojson, "geojson").document.geometry, [[9, 46], [9, 46.1]])
    assert.match(refusal("{\"type\":\"LineString\",\"coordinates\":[[9,46],NaNs]}", "geojson"), /^Malformed JSON/)
  })

  it("may be at 0/0 among others far away, which is a receiver without a fix", () => {
    const { document, dropped } = read(gpx(trk(point(0, 0), ...line, point("0.0", "-0"))))
    assert.strictEqual(document.geometry.length, 4)
    assert.deepStrictEqual(dropped, [{ what: "trkpt", why: "it is at 0/0, far from the others", count: 2 }])
    assert.strictEqual(geometryOf(point(46, 9), point(0, 0), point(46.01, 9)).length, 2)
    const near = [point(0, 0), point(0.1, 0.1), point(0.2, 0.1), point(0.3, 0.2)]
    assert.strictEqual(geometryOf(...near).length, 4)
  })
})

it("TCX of a multisport session has its activities, and names the transitions between them as left out", () => {
  const lap = (lat: number) =>
    `<Track><Trackpoint><Position><LatitudeDegrees>${lat}</LatitudeDegrees><LongitudeDegrees>9</LongitudeDegrees>`
    + "</Position></Trackpoint></Track>"
  const activity = (lat: number) => `<Activity Sport="Other"><Lap>${lap(lat)}</Lap></Activity>`
  const next = (lat: number) => `<NextSport><Transition>${lap(lat)}</Transition>${activity(lat + 1)}</NextSport>`
  const session = `<MultiSportSession><FirstSport>${activity(1)}</FirstSport>${next(2)}${next(4)}</MultiSportSession>`
  const text = `<TrainingCenterDatabase><Activities>${session}</Activities></TrainingCenterDatabase>`
  const routes = readAll(text, "tcx", { split: true })
  assert.deepStrictEqual(routes.map(({ document }) => document.geometry), [[[9, 1]], [[9, 3]], [[9, 5]]])
  const transitions = { what: "Transition of NextSport", why: "a route has no place for it", count: 2 }
  for (const { dropped } of routes) assert.deepInclude(dropped, transitions)
})

describe("GeoJSON and KML of other programs", () => {
  const geojson = (properties: unknown, type: string, coordinates: unknown) =>
    JSON.stringify({ type: "Feature", properties, geometry: { type, coordinates } })

  it("may have a track as several points, places beside a line, and a title", () => {
    const trip = read(geojson({ title: "Trip" }, "MultiPoint", [[9, 46], [9, 46.1], [9, 46.2]]), "geojson").document
    assert.deepStrictEqual([trip.name, trip.geometry.length], ["Trip", 3])
    const both = `{"type":"GeometryCollection","geometries":[{"type":"LineString","coordinates":[[9,46],[9,46.1]]},
      {"type":"MultiPoint","coordinates":[[9,46],[9,46.1],[9,46.2]]}]}`
    const { geometry, waypoints } = read(both, "geojson").document
    assert.deepStrictEqual([geometry.length, waypoints.length], [2, 3])
  })

  it("may have times in each of the forms of GeoJSON", () => {
    const [first, last] = ["2024-01-01T00:00:00Z", "2024-01-01T00:02:00Z"]
    const at = Date.parse(first)
    const line = [[9, 46], [9, 46.1]]
    const files = [
      geojson({ coordTimes: [first, last] }, "LineString", line),
      geojson({ coordinateProperties: { times: [first, last] } }, "LineString", line),
      geojson({ times: [at, at + 120_000] }, "LineString", line),
      geojson({}, "LineString", [[9, 46, 1, at], [9, 46.1, 1, at + 120_000]]),
      geojson({}, "LineString", [[9, 46, 1, at / 1000], [9, 46.1, 1, at / 1000 + 120]]),
      geojson({ coordTimes: [[first, last]] }, "MultiLineString", [line])
    ]
    for (const file of files) assert.strictEqual(read(file, "geojson").measures.duration, 120, file)
    assert.isUndefined(read(geojson({}, "LineString", [[5, 6, 7, 8], [5, 6, 7, 9]]), "geojson").measures.duration)
  })

  it("has the times of a recording without those that are years away, in each format", () => {
    const recorded = (...days: ReadonlyArray<string>) => {
      const times = days.map((day, minute) => `${day}T08:0${minute}:00Z`)
      const trackpoint = (time: string) =>
        `<Trackpoint><Time>${time}</Time><Position><LatitudeDegrees>46</LatitudeDegrees>`
        + "<LongitudeDegrees>9</LongitudeDegrees></Position></Trackpoint>"
      const files = {
        gpx: gpx(trk(...times.map((time) => `<trkpt lat="46" lon="9"><time>${time}</time></trkpt>`))),
        tcx: "<TrainingCenterDatabase><Activities><Activity><Lap><Track>"
          + `${times.map(trackpoint).join("")}</Track></Lap></Activity></Activities></TrainingCenterDatabase>`,
        kml: `<kml xmlns:gx="http://www.google.com/kml/ext/2.2"><Placemark><gx:Track>${
          times.map((time) => `<when>${time}</when>`).join("")
        }${"<gx:coord>9 46</gx:coord>".repeat(times.length)}</gx:Track></Placemark></kml>`,
        geojson: geojson({ coordTimes: times }, "LineString", times.map(() => [9, 46]))
      }
      return Struct.keys(files).map((format) => read(files[format], format).measures)
    }
    const each = (measures: unknown) => Array.from({ length: 4 }, () => measures)
    const [wrong, day] = ["1999-08-22", "2024-04-07"]
    const from = (minute: number) => `${day}T08:0${minute}:00.000Z`
    assert.deepStrictEqual(recorded(wrong, day, day, day), each({ duration: 120, recordedAt: from(1) }))
    assert.deepStrictEqual(recorded(day, day, day, wrong), each({ duration: 120, recordedAt: from(0) }))
    assert.deepStrictEqual(recorded("2043-11-22", day, day, day), each({ duration: 120, recordedAt: from(1) }))
    // Times that are wrong by less may be those of the recording.
    assert.deepStrictEqual(recorded("2024-04-08", day, day, day), each({ recordedAt: "2024-04-08T08:00:00.000Z" }))
    assert.deepStrictEqual(recorded(wrong, day), each({ recordedAt: `${wrong}T08:00:00.000Z` }))
  })

  it("has descriptions and elevations of its points named as left out, and that of a line kept", () => {
    const placemark = (geometry: string, text: string) =>
      `<Placemark><description>${text}</description>${geometry}</Placemark>`
    const [point, flat] = ["9,46,5", "9,47,0"].map((tuple) => `<Point><coordinates>${tuple}</coordinates></Point>`)
    const drawn = `<MultiGeometry>${flat}<LineString><coordinates>9,46 9,47</coordinates></LineString></MultiGeometry>`
    const feature = (properties: unknown, ...geometries: ReadonlyArray<unknown>) => ({
      type: "Feature",
      properties,
      geometry: { type: "GeometryCollection", geometries }
    })
    const [high, low] = [[9, 46, 5], [9, 47]].map((coordinates) => ({ type: "Point", coordinates }))
    const files = {
      kml: `<kml><Document>${placemark(point ?? "", "High")}${placemark(flat ?? "", " ")}${
        placemark(drawn, "Line")
      }</Document></kml>`,
      geojson: JSON.stringify({
        type: "FeatureCollection",
        features: [
          feature({ desc: "High" }, high),
          feature({ description: " " }, low),
          feature({ desc: "Line" }, low, { type: "LineString", coordinates: [[9, 46], [9, 47]] })
        ]
      })
    }
    for (const format of Struct.keys(files)) {
      const { document, dropped } = read(files[format], format)
      assert.strictEqual(document.description, "Line", format)
      assert.deepStrictEqual(dropped, [
        { what: "descriptions of waypoints", why: "a waypoint has no description", count: 1 },
        { what: "elevations of waypoints", why: "a waypoint has no elevation", count: 1 }
      ], format)
    }
  })

  it("has no elevations where KML draws a line on the ground, or relative to it", () => {
    const line = (coordinates: string, mode = "") =>
      `<kml xmlns:gx="http://www.google.com/kml/ext/2.2"><Placemark><LineString>${mode}<tessellate>1</tessellate>`
      + `<coordinates>${coordinates}</coordinates></LineString></Placemark></kml>`
    const [bare, flat, high] = ["9,46 9,47", "9,46,0 9,47,0.0", "9,46,0 9,47,5"]
    const modeOf = (mode: string) => `<altitudeMode>${mode}</altitudeMode>`
    const geometryOf = (text: string) => read(text, "kml").document.geometry
    for (const mode of ["", modeOf("clampToGround"), modeOf("relativeToGround")]) {
      assert.deepStrictEqual(read(line(flat, mode), "kml"), read(line(bare), "kml"), mode)
    }
    assert.deepStrictEqual(geometryOf(line(flat, modeOf("absolute"))), [[9, 46, 0], [9, 47, 0]])
    for (const mode of ["", modeOf("clampToGround")]) {
      assert.deepStrictEqual(geometryOf(line(high, mode)), [[9, 46, 0], [9, 47, 5]])
    }
    for (const mode of [modeOf("relativeToGround"), "<gx:altitudeMode>relativeToSeaFloor</gx:altitudeMode>"]) {
      const { document, dropped } = read(line(high, mode), "kml")
      assert.deepStrictEqual(document.geometry, [[9, 46], [9, 47]])
      assert.deepStrictEqual(dropped, [{ what: "elevations", why: "they are not above sea level", count: 1 }])
    }
  })

  it("is named after its folder in KML of GPSBabel, which calls each line Path, as one without a name is", () => {
    const folder = (name: string, ...inner: ReadonlyArray<string>) =>
      `<Folder><name>${name}</name>${inner.join("")}</Folder>`
    const line = (name: string) =>
      `<Placemark>${name}<LineString><coordinates>9,46 9,47</coordinates></LineString></Placemark>`
    const path = line("<name>Path</name>")
    const points = folder("Points", "<Placemark><Point><coordinates>9,46</coordinates></Point></Placemark>")
    const rides = ["Out", "Back"].map((name) => folder(name, points, path))
    const named = [line(""), line("<name> </name>"), line("<name>Detour</name>")]
    const routesOf = (...inner: ReadonlyArray<string>) =>
      readAll(`<kml><Document><name>GPS device</name>${inner.join("")}</Document></kml>`, "kml", { split: true })
    const all = routesOf(folder("Tracks", ...rides, ...named), path)
    assert.deepStrictEqual(all.map(({ document }) => document.name), [
      "Out",
      "Back",
      "Tracks",
      "Tracks",
      "Detour",
      "Path"
    ])
    const [only] = routesOf(folder("Tracks", ...rides.slice(0, 1)))
    assert.deepStrictEqual([only?.document.name, only?.document.waypoints], ["Out", [{ coord: [9, 46] }]])
  })

  it("names a reference system that is not WGS 84", () => {
    const crs = (name: string) =>
      `{"type":"LineString","crs":{"type":"name","properties":{"name":"${name}"}},"coordinates":[[2600000,1200000]]}`
    assert.match(refusal(crs("urn:ogc:def:crs:EPSG::2056"), "geojson"), /^crs: Expected WGS 84 .*EPSG::2056/)
    for (
      const system of [
        "\"EPSG:2056\"",
        "{\"type\":\"EPSG\",\"properties\":{\"code\":2056}}",
        "{\"type\":\"link\",\"properties\":{\"href\":\"https://epsg.example/2056\"}}"
      ]
    ) {
      const feature =
        `{"type":"Feature","geometry":{"type":"LineString","crs":${system},"coordinates":[[2600000,1200000]]}}`
      const collection = `{"type":"FeatureCollection","features":[${feature}]}`
      assert.match(refusal(collection, "geojson"), /^crs: Expected WGS 84 .*2056/, system)
    }
    assert.match(refusal(crs("urn:ogc:def:crs:OGC:1.3:CRS84"), "geojson"), /^line\.0: Expected a longitude/)
    assert.match(refusal(crs("urn:ogc:def:crs:EPSG:6.9:4326"), "geojson"), /^line\.0: Expected a longitude/)
    // A search that starts again at each of these would take hours.
    assert.match(refusal(crs("EPSG:".repeat(1_000_000)), "geojson"), /^crs: Expected WGS 84/)
  })

  it.effect("may have a folder or a placemark as the root of KML", () =>
    Effect.gen(function*() {
      const placemark =
        "<Placemark><name>A</name><LineString><coordinates>9,46 9,47</coordinates></LineString></Placemark>"
      const xmlns = "xmlns=\"http://www.opengis.net/kml/2.2\""
      for (
        const text of [
          placemark,
          `<Folder ${xmlns}>${placemark}</Folder>`,
          `<?xml version="1.0"?>\n<!-- x -->${placemark}`
        ]
      ) {
        const [route] = yield* packedRoutes(Buffer.from(text))
        assert.strictEqual(route?.document.name, "A")
      }
    }))
})
