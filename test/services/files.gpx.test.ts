import { assert, describe, it } from "@effect/vitest"
import { Struct } from "effect"
import { readFileSync } from "node:fs"
import { MAX_DISTANCE, MAX_DURATION } from "../../src/schema/Measures.ts"
import { MAX_ELEVATION_GAIN } from "../../src/schema/Route.ts"
import { isDateTime, type Measures } from "../../src/services/files/FileValues.ts"
import { measurePositions } from "../../src/services/geometry/MeasuredPolyline.ts"
import { gpx, metresOf, read, readAll, refusal, trk, understood, written } from "../support/Files.ts"

const trackpoint = (lat: number) =>
  `<Trackpoint><Position><LatitudeDegrees>${lat}</LatitudeDegrees><LongitudeDegrees>0</LongitudeDegrees></Position></Trackpoint>`

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

  it("may have a page of HTML as its description", () => {
    const page = "<!DOCTYPE html><html><!ENTITY a 'b'></html>"
    const { document } = read(
      gpx(
        `<!-- ${page} -->${
          trk("<trkpt lat=\"1\" lon=\"2\"/>").replace("<trkseg>", `<desc><![CDATA[${page}]]></desc><trkseg>`)
        }`
      )
    )
    assert.strictEqual(document.description, page)
  })

  it("distinguishes namespaces, whatever their prefixes", () => {
    const text = gpx(
      trk("<trkpt lat=\"1\" lon=\"2\"><x:ele>9</x:ele><own:ele>5</own:ele></trkpt>"),
      "xmlns=\"http://www.topografix.com/GPX/1/1\" xmlns:own=\"http://www.topografix.com/GPX/1/1\" xmlns:x=\"urn:x\""
    )
    assert.deepStrictEqual(read(text).document.geometry, [[2, 1, 5]])
  })

  it("has the segments of a track as one line that says where they begin, and a distance without the gap", () => {
    const point = (lat: number) => `<trkpt lat="${lat}" lon="0"/>`
    const { document, warnings } = read(
      gpx(`<trk><trkseg>${point(0)}${point(0.01)}</trkseg><trkseg/><trkseg>${point(1)}${point(1.01)}</trkseg></trk>`)
    )
    assert.deepStrictEqual(document.geometry, [[0, 0], [0, 0.01], [0, 1], [0, 1.01]])
    assert.deepStrictEqual(document.segments, [0, 2])
    assert.closeTo(metresOf(document), 2 * 1111.95, 0.1)
    assert.deepStrictEqual(warnings, [])
  })

  it("of more segments than a route may have joins those with the shortest gaps, and says so", () => {
    const near = [301, 701]
    const segment = (index: number) => {
      const lat = (index / 1000 - 0.0008 * near.filter((at) => index >= at).length).toFixed(4)
      return `<trkseg><trkpt lat="${lat}" lon="1"/><trkpt lat="${lat}1" lon="1"/></trkseg>`
    }
    const indexes = Array.from({ length: 1002 }, (_, index) => index)
    const { document, warnings } = read(gpx(`<trk>${indexes.map(segment).join("")}</trk>`))
    assert.strictEqual(document.geometry.length, 2004)
    const starts = indexes.filter((index) => !near.includes(index)).map((index) => 2 * index)
    assert.deepStrictEqual(document.segments, starts)
    assert.deepStrictEqual(warnings.map(({ code, count }) => [code, count]), [["gap_joined", 2]])
  })

  it("has the duration and the climbs of its segments, and not of what is between them", () => {
    const point = (at: number, ele: number, time: string) =>
      `<trkpt lat="${at / 100}" lon="0"><ele>${ele}</ele><time>2026-01-01T${time}Z</time></trkpt>`
    const { document, measures } = read(gpx(
      `<trk><trkseg>${point(0, 100, "10:00:00")}${point(1, 150, "10:10:00")}</trkseg><trkseg>${
        point(50, 900, "12:00:00") + point(51, 910, "12:05:00")
      }</trkseg></trk>`
    ))
    assert.deepStrictEqual(measures, { duration: 900, recordedAt: "2026-01-01T10:00:00.000Z" })
    assert.strictEqual(measurePositions(document.geometry, document.segments).elevationGain, 60)
  })

  it("with several tracks is imported as the caller chooses, and not without a choice", () => {
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
    assert.closeTo(metresOf(joined.document), 2 * 1111.95 + 111_195, 1)
    assert.throws(() => readAll(file, "gpx", { track: 3 }), /Expected an index of 0 to 2/)
    assert.throws(() => readAll("<kml/>", "kml", { track: 0 }), /The file has no tracks/)
  })

  it("with a route that begins or ends 1 km from the only track has two tracks, else one with its waypoints", () => {
    const withTrack = (lat: number) =>
      readFileSync(new URL("../support/cases/f1-basecamp.gpx", import.meta.url), "utf8")
        .replace("</gpx>", `${trk(`<trkpt lat="${lat}" lon="9.5"/>`, "<trkpt lat=\"46.03\" lon=\"9.53\"/>")}</gpx>`)
    const routesOf = (lat: number) =>
      readAll(withTrack(lat), "gpx", { split: true }).map(({ document, dropped }) => [
        document.name,
        document.geometry.length,
        document.waypoints.map(({ name }) => name),
        dropped
      ])
    assert.deepStrictEqual(readAll(withTrack(47.4)), [])
    assert.deepStrictEqual(routesOf(47.4), [
      ["Imported route", 2, [undefined, undefined], []],
      ["Lake", 4, ["A", "B"], []]
    ])
    assert.deepStrictEqual(routesOf(46.008), [["Lake", 2, ["A", "B"], []]])
  })

  it("with two tracks has each waypoint in the track that is nearest to it", () => {
    const track = (lat: number) =>
      `<trk><trkseg><trkpt lat="${lat}" lon="0"/><trkpt lat="${lat + 0.01}" lon="0"/></trkseg></trk>`
    const file = gpx(`<wpt lat="51" lon="0"/><wpt lat="9" lon="0"/>${track(10)}${track(50)}`)
    assert.deepStrictEqual(
      readAll(file, "gpx", { split: true }).map(({ document }) => document.waypoints.map(({ coord }) => coord)),
      [[[0, 9]], [[0, 51]]]
    )
  })

  it("with more than 100 tracks says that its waypoints are in none of them", () => {
    const track = "<trk><trkseg><trkpt lat=\"1\" lon=\"1\"/><trkpt lat=\"2\" lon=\"2\"/></trkseg></trk>"
    const withTracks = (count: number) => gpx(`<wpt lat="1" lon="1"><name>Spring</name></wpt>${track.repeat(count)}`)
    const lost = { what: "waypoints", why: "the file has more than 100 tracks", count: 1 }
    const first = (count: number) => {
      const { document, dropped } = read(withTracks(count), "gpx", { track: 0 })
      return {
        names: document.waypoints.map(({ name }) => name),
        dropped: dropped.filter(({ what }) => what !== "tracks")
      }
    }
    assert.deepStrictEqual(first(100), { names: ["Spring"], dropped: [] })
    assert.deepStrictEqual(first(101).dropped, [lost])
    assert.notInclude(first(101).names, "Spring")
    assert.throws(
      () => readAll(withTracks(101), "gpx", { split: true }),
      /Expected at most 100 tracks, the file has 101/
    )
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
        routes.map(({ document, warnings }) => [document.segments, metresOf(document) > 0, warnings]),
        [
          [undefined, true, []],
          [[0, 1], false, []]
        ]
      )
    })
  }

  it("with more positions than a route may have keeps those that shape it, with a warning", () => {
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

  it("that has a route without a track is no recording, whatever times its points have", () => {
    const points = ["2022-01-01", "2022-08-01"].map((day, index) =>
      `<rtept lat="${index}" lon="2"><time>${day}T08:00:00Z</time></rtept>`
    )
    const { document, measures } = read(gpx(`<rte>${points.join("")}</rte>`))
    assert.deepStrictEqual(measures, {})
    assert.strictEqual(document.waypoints[1]?.timestamp, "2022-08-01T08:00:00Z")
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
    assert.deepStrictEqual(read(gpx(wpt + line)).document.waypoints, [{ coord: [2, 1], name: "Well", type: "water" }])
    const both = read(gpx(wpt + rte + line))
    assert.deepStrictEqual(both.document.waypoints, [{ coord: [4, 3] }, { coord: [2, 1], type: "water", name: "Well" }])
    assert.deepStrictEqual(both.dropped, [])
  })

  it("reports what a route has no place for", () => {
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

  it("is cut to a route's limits, with a warning", () => {
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

  it("has the measures that its route states, 0 among them, and none that a route may not have", () => {
    const geometry = [[9, 47, 400], [9.01, 47, 500]] as const
    const stated = (measures: Measures) =>
      read(written({ name: "Own", tags: [], waypoints: [], geometry, ...measures }, "gpx")).measures
    const least = { distance: 0, duration: 0, elevationGain: 0 }
    const most = { distance: MAX_DISTANCE, duration: MAX_DURATION, elevationGain: MAX_ELEVATION_GAIN }
    assert.deepStrictEqual(stated(least), least)
    assert.deepStrictEqual(stated(most), most)
    for (const measure of Struct.keys(most)) {
      assert.deepStrictEqual(stated({ ...most, [measure]: most[measure] + 1 }), {})
    }
  })

  it("has times on days that there are", () => {
    const days = ["2024-02-29", "2000-02-29", "2025-04-30", "2025-12-31"]
    const none = ["2025-02-29", "1900-02-29", "2025-04-31", "2025-01-00", "2025-01-32", "2025-13-01"]
    assert.deepStrictEqual([...days, ...none].filter((day) => isDateTime(`${day}T10:00:00Z`)), days)
  })

  it("has times in the forms that programs write", () => {
    const durationOf = (from: string, to: string) => {
      const point = (lat: number, time: string) => `<trkpt lat="${lat}" lon="9"><time>${time}</time></trkpt>`
      return read(gpx(trk(point(46, from), point(47, to)))).measures
    }
    const forms = [
      ["2024-01-01T10:00:00+02:00", "2024-01-01T10:10:00+02:00"],
      ["2024-01-01T10:00:00+0200", "2024-01-01T10:10:00+0200"],
      ["2024-01-01T10:00:00+02", "2024-01-01T10:10:00+02"],
      ["2024-01-01 08:00:00", "2024-01-01 08:10:00"],
      ["2024-01-01T08:00:00z", "2024-01-01T08:10:00z"],
      ["2024-01-01T08:00Z", "2024-01-01T08:10Z"],
      ["2024-01-01T8:00:00Z", "2024-01-01T8:10:00Z"],
      ["20240101T080000Z", "20240101T081000Z"],
      ["2024-01-01T08:00:00,000Z", "2024-01-01T08:10:00,000Z"],
      ["2024/01/01 08:00:00 UTC", "2024/01/01 08:10:00 GMT"],
      ["2024-01-01T10:00:00.000+02:00[Europe/Vaduz]", "2024-01-01T10:10:00.000+02:00[Europe/Vaduz]"]
    ] as const
    for (const [from, to] of forms) {
      assert.deepStrictEqual(durationOf(from, to), { duration: 600, recordedAt: "2024-01-01T08:00:00.000Z" }, from)
    }
    for (
      const time of [
        "yesterday",
        "2024-02-30 08:00:00",
        "2024-01-01",
        "08:00:00",
        `2024-01-01T08:00:00Z${"]".repeat(99)}`
      ]
    ) {
      assert.deepStrictEqual(durationOf(time, time), {}, time)
    }
  })

  it("names the sport in its own words, and warns where it is none of the three", () => {
    const words: Readonly<Record<string, string>> = {
      cycle: "cycling Ride e_biking Rennrad Mountainbiken MTB mtb_easy e_mtb_advanced e_racebike e_touringbicycle "
        + "citybike downhillbike unicycle GravelRide EMountainBikeRide EBikeRide VirtualRide Velomobile "
        + "hand_cycling indoor_cycling spinning cyclocross bmx road_biking downhill_biking enduro_mtb "
        + "e_bike_fitness e_bike_mountain recumbent_cycling CYCLING_SPORT CYCLING_TRANSPORTATION bike-touring "
        + "tandem Radfahren Vélo VTT cyclotourisme ciclismo bici bicicleta fietsen wielrennen cykling sykling "
        + "pyöräily kolarstwo rowerowa kerékpár cyklistika 1",
      run: "running TrailRun virtual_run treadmill_running treadmill track_running street_running ultra_run "
        + "obstacle_run jogging Laufen Trail trail-running course courir footing correr carrera corrida corsa "
        + "hardlopen löpning løping løb juoksu bieganie běh futás canicross marathon orienteering 9",
      walk: "walking hiking Hike casual_walking speed_walking nordicwalking backpacking trekking mountaineering "
        + "Wandern Bergtour Spaziergang Gehen rucking randonnée marche promenade senderismo caminata caminar "
        + "excursionismo escursionismo camminata passeggiata caminhada wandelen vandring fottur gåtur vaellus "
        + "kävely spacer wędrówka turistika gyaloglás dog_walking FITNESS_WALKING on_foot 4 10",
      none: "swimming swimrun skiing NordicSki BackcountrySki skitour snowboard InlineSkate rowing Kayaking "
        + "sailing golf Motorcycling motorcycle off-road-driving horseback_riding Reiten triathlon multisport "
        + "Workout yoga Elliptical Crossfit Wheelchair Skateboard Other paragliding climbing via_ferrata "
        + "велосипед 自転車"
    }
    for (const [activity, all] of Object.entries(words)) {
      for (
        const word of [
          ...all.split(" "),
          ...all.split(" ").map((word) => word.replaceAll("_", " ").toUpperCase())
        ]
      ) {
        const { document, warnings } = read(
          gpx(`<trk><type>${word}</type><trkseg><trkpt lat="1" lon="2"/></trkseg></trk>`)
        )
        assert.strictEqual(document.activity ?? "none", activity, word)
        assert.strictEqual(warnings.length, activity === "none" ? 1 : 0, word)
      }
    }
  })

  it("has the first 1,000 waypoints with a warning, all positions of its line, and is refused without any", () => {
    const points = (count: number) => "<trkpt lat=\"1\" lon=\"2\"/>".repeat(count)
    assert.strictEqual(read(gpx(trk(points(100_000)))).document.geometry.length, 100_000)
    const { document, dropped } = read(
      gpx(`<rte>${"<rtept lat=\"1\" lon=\"2\"/>".repeat(1001)}</rte>${trk(points(1))}`)
    )
    assert.strictEqual(document.waypoints.length, 1000)
    assert.deepStrictEqual(dropped, [
      { what: "waypoints", why: "a route has at most 1000, the first are kept", count: 1 }
    ])
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
