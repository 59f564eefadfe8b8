import { assert, describe, it } from "@effect/vitest"
import { gpx, read, trk } from "../support/Files.ts"

describe("GPX of BaseCamp", () => {
  it("has the line of a route between its points", () => {
    const shape =
      "<extensions><gpxx:RoutePointExtension><gpxx:rpt lat=\"46.1\" lon=\"9.3\"/><gpxx:rpt lat=\"46.2\" lon=\"9.4\"/>"
      + "</gpxx:RoutePointExtension></extensions>"
    const { document, dropped } = read(gpx(
      `<rte><rtept lat="46" lon="9"><name>A</name>${shape}</rtept><rtept lat="46.3" lon="9.5"><name>B</name></rtept></rte>`,
      "xmlns=\"http://www.topografix.com/GPX/1/1\" xmlns:gpxx=\"http://www.garmin.com/xmlschemas/GpxExtensions/v3\""
    ))
    assert.deepStrictEqual(document.geometry, [[9, 46], [9.3, 46.1], [9.4, 46.2], [9.5, 46.3]])
    assert.deepStrictEqual(document.waypoints.map(({ name }) => name), ["A", "B"])
    assert.deepStrictEqual(dropped, [])
  })

  it("has each stop once, with what its place says beside the route", () => {
    const point = (kind: string, lat: number, members: string) => `<${kind} lat="${lat}" lon="9">${members}</${kind}>`
    const [inn, well] = ["<name>Inn</name>", "<name>Well</name><sym>Water</sym>"]
    const time = "<time>2024-01-01T00:00:00Z</time>"
    const places = [point("wpt", 46, inn + time), point("wpt", 46.1, inn), point("wpt", 46.2, well)]
    const route = `<rte>${point("rtept", 46, inn)}${point("rtept", 46.2, "<name>Well</name>")}</rte>`
    const stops = [
      { coord: [9, 46], name: "Inn", timestamp: "2024-01-01T00:00:00Z" },
      { coord: [9, 46.2], name: "Well", type: "water" },
      { coord: [9, 46.1], name: "Inn", type: "poi" }
    ]
    for (const line of ["", trk("<trkpt lat=\"46\" lon=\"9\"/>", "<trkpt lat=\"46.2\" lon=\"9\"/>")]) {
      const { document, dropped } = read(gpx(places.join("") + route + line))
      assert.deepStrictEqual([document.waypoints, dropped], [stops, []])
    }
  })

  it("is known by its namespace, whatever its prefix is or meant elsewhere, as other extensions are", () => {
    const garmin = "http://www.garmin.com/xmlschemas/GpxExtensions/v3"
    const other =
      "<wpt lat=\"46\" lon=\"9\"><extensions><n:rpt xmlns:n=\"urn:x\" lat=\"1\" lon=\"1\"/></extensions></wpt>"
    assert.deepStrictEqual(
      read(gpx(
        `${other}<rte><rtept lat="46" lon="9"><extensions xmlns:n="${garmin}"><n:RoutePointExtension>`
          + "<n:rpt lat=\"46.1\" lon=\"9.3\"/><n:rpt xmlns:n=\"urn:x\" lat=\"1\" lon=\"1\"/><n:rpt lat=\"46.2\" lon=\"9.4\"/>"
          + "</n:RoutePointExtension></extensions></rtept><rtept lat=\"46.3\" lon=\"9.5\"/></rte>",
        "xmlns:n=\"urn:y\""
      )).document.geometry,
      [[9, 46], [9.3, 46.1], [9.4, 46.2], [9.5, 46.3]]
    )
    const routes = [
      ["ns3:", `xmlns:ns3="${garmin}"`, ""],
      ["ns0:", "", ` xmlns:ns0="${garmin}"`],
      ["", "", ` xmlns="${garmin}"`]
    ]
    for (const [prefix, atRoot, atElement] of routes) {
      const file = gpx(
        `<rte><rtept lat="46" lon="9"><name>A</name><extensions><${prefix}RoutePointExtension${atElement}><${prefix}rpt lat="46.1"`
          + ` lon="9.3"/></${prefix}RoutePointExtension></extensions></rtept><rtept lat="46.3" lon="9.5"/></rte>`,
        `xmlns="http://www.topografix.com/GPX/1/1" ${atRoot}`
      )
      assert.deepStrictEqual(read(file).document.geometry, [[9, 46], [9.3, 46.1], [9.5, 46.3]], prefix)
    }
    const kml =
      "<kml xmlns=\"http://www.opengis.net/kml/2.2\" xmlns:g=\"http://www.google.com/kml/ext/2.2\"><Placemark>"
      + "<g:Track><when>2024-01-01T00:00:00Z</when><when>2024-01-01T00:02:00Z</when><g:coord>9 46</g:coord>"
      + "<g:coord>9 46.1</g:coord></g:Track></Placemark></kml>"
    const { document, measures } = read(kml, "kml")
    assert.deepStrictEqual([document.geometry.length, measures.duration], [2, 120])
  })
})
