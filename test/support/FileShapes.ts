import { Effect } from "effect"
import { gzipSync } from "node:zlib"
import { zipped } from "./Archives.ts"

/** The files are made up here, in the forms of programs and devices. */
export interface FileShape {
  readonly bytes: Uint8Array
  readonly tracks: number
  readonly positions: number
}

const shape = (text: string, tracks: number, positions: number): FileShape => ({
  bytes: Buffer.from(text),
  tracks,
  positions
})

const POINTS = 20

const points = <A>(at: (index: number) => A, count = POINTS) => Array.from({ length: count }, (_, index) => at(index))

const time = (index: number) => new Date(Date.UTC(2025, 5, 1, 8, 0, 5 * index)).toISOString()

const lat = (index: number) => (47.1 + index / 5000).toFixed(7)
const lon = (index: number) => (9.5 + Math.sin(index / 9) / 1000).toFixed(7)

const garminPoint = (index: number) =>
  `<trkpt lat="${lat(index)}" lon="${lon(index)}"><ele>${455 + index}.20000076</ele><time>${
    time(index)
  }</time><extensions>
<ns3:TrackPointExtension><ns3:atemp>21.0</ns3:atemp><ns3:hr>121</ns3:hr><ns3:cad>80</ns3:cad></ns3:TrackPointExtension>
</extensions></trkpt>`

const plainPoint = (index: number) =>
  `<trkpt lat="${lat(index)}" lon="${lon(index)}"><ele>${455 + index}</ele><time>${time(index)}</time></trkpt>`

const segment = (list: ReadonlyArray<string>) => `<trkseg>${list.join("\n")}</trkseg>`

const gpx = (attributes: string, body: string) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1" ${attributes}>${body}</gpx>`

const watchGpx = () =>
  shape(
    gpx(
      "creator=\"Garmin Connect\" xmlns:ns3=\"http://www.garmin.com/xmlschemas/TrackPointExtension/v1\"",
      `<metadata><link href="connect.garmin.com"><text>Garmin Connect</text></link><time>${time(0)}</time></metadata>
<trk><name>Vaduz Radfahren</name><type>road_biking</type>${segment(points(garminPoint))}</trk>`
    ),
    1,
    POINTS
  )

const pausedGpx = () =>
  shape(
    gpx(
      "creator=\"OsmAnd~\" xmlns:osmand=\"https://osmand.net\"",
      `<metadata><name>2025-06-01_08-00_Sun</name></metadata><trk>${segment(points(plainPoint, 5))}${segment([])}${
        segment(points((index) => plainPoint(index + 10), 5))
      }</trk><extensions><osmand:show_arrows>false</osmand:show_arrows></extensions>`
    ),
    1,
    10
  )

const collectedGpx = () =>
  shape(
    gpx(
      "creator=\"gpx.studio\"",
      `<wpt lat="47.1" lon="9.5"><name>Hut</name><sym>Lodge</sym></wpt>${
        points(
          (day) =>
            `<trk><name>Day ${day + 1}</name>${segment(points((index) => plainPoint(20 * day + index), 4))}</trk>`,
          3
        )
          .join("")
      }`
    ),
    3,
    12
  )

const plannedGpx = () =>
  shape(
    gpx(
      "creator=\"BaseCamp\"",
      `<wpt lat="47.11" lon="9.51"><name>Spring</name></wpt><rte><name>Plan</name>${
        points((index) => `<rtept lat="${lat(index)}" lon="${lon(index)}"><name>${index}</name></rtept>`, 6).join("")
      }</rte>`
    ),
    1,
    6
  )

const oldGpx = () => ({
  bytes: Buffer.from(
    `<?xml version="1.0" encoding="ISO-8859-1"?><gpx version="1.0" creator="GPSBabel" xmlns="http://www.topografix.com/GPX/1/0"><name>Höhenweg</name><trk>${
      segment(points(plainPoint))
    }</trk></gpx>`,
    "latin1"
  ),
  tracks: 1,
  positions: POINTS
})

const wideGpx = () => ({
  ...watchGpx(),
  bytes: Buffer.from(`\ufeff${Buffer.from(watchGpx().bytes).toString().replace("UTF-8", "utf-16")}`, "utf16le")
})

const watchTcx = () =>
  shape(
    `<TrainingCenterDatabase xmlns="http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2"><Activities><Activity Sport="Biking"><Id>${
      time(0)
    }</Id>${
      points((lap) =>
        `<Lap StartTime="${time(10 * lap)}"><TotalTimeSeconds>50</TotalTimeSeconds><Track>${
          points((index) =>
            `<Trackpoint><Time>${time(10 * lap + index)}</Time>${
              index === 3
                ? ""
                : `<Position><LatitudeDegrees>${lat(10 * lap + index)}</LatitudeDegrees><LongitudeDegrees>${
                  lon(10 * lap + index)
                }</LongitudeDegrees></Position>`
            }<AltitudeMeters>455.2</AltitudeMeters><HeartRateBpm><Value>120</Value></HeartRateBpm></Trackpoint>`, 10)
            .join("")
        }</Track></Lap>`, 2).join("")
    }</Activity></Activities></TrainingCenterDatabase>`,
    1,
    18
  )

const coord = (index: number) => `${lon(index)},${lat(index)},0`

const mapKml = () =>
  shape(
    `<kml xmlns="http://www.opengis.net/kml/2.2"><Document><name>My map</name><Style id="s"/><Folder><name>Layer</name><Placemark><name>Tour</name><styleUrl>#s</styleUrl><LineString><tessellate>1</tessellate><coordinates>
            ${points(coord).join("\n            ")}
          </coordinates></LineString></Placemark><Placemark><name>Well</name><Point><coordinates>${
      coord(3)
    }</coordinates></Point></Placemark><Placemark><name>Nothing</name></Placemark></Folder></Document></kml>`,
    1,
    POINTS
  )

const trackKml = (prefix: string, namespace: string) =>
  shape(
    `<kml xmlns="${namespace}" xmlns:gx="http://www.google.com/kml/ext/2.2"><Placemark><${prefix}Track>${
      points((index) => `<when>${time(index)}</when>`).join("")
    }${
      points((index) =>
        index === 4 ? `<${prefix}coord/>` : `<${prefix}coord>${lon(index)} ${lat(index)} 455</${prefix}coord>`
      )
        .join("")
    }</${prefix}Track></Placemark></kml>`,
    1,
    POINTS - 1
  )

const featureOf = (type: string, coordinates: unknown, properties: unknown) => ({
  type: "Feature",
  properties,
  geometry: { type, coordinates }
})

const layerGeoJson = () =>
  shape(
    JSON.stringify({
      type: "FeatureCollection",
      name: "export",
      crs: { type: "name", properties: { name: "urn:ogc:def:crs:OGC:1.3:CRS84" } },
      features: [
        featureOf("LineString", points((index) => [Number(lon(index)), Number(lat(index)), 455]), { name: "A" }),
        featureOf("MultiLineString", [[[9.5, 47.1], [9.6, 47.1]], [[9.7, 47.1], [9.8, 47.1]]], { name: "B" }),
        featureOf("Point", [9.5, 47.1], null)
      ]
    }),
    2,
    POINTS + 4
  )

export const fileShapes: Effect.Effect<ReadonlyMap<string, FileShape>> = Effect.gen(function*() {
  const kml = mapKml()
  const archive = yield* zipped([["doc.kml", Buffer.from(kml.bytes)], ["images/icon.png", "no picture"]])
  return new Map<string, FileShape>([
    ["watch.gpx", watchGpx()],
    ["paused.gpx", pausedGpx()],
    ["collected.gpx", collectedGpx()],
    ["planned.gpx", plannedGpx()],
    ["latin1.gpx", oldGpx()],
    ["utf16.gpx", wideGpx()],
    ["watch.gpx.gz", { ...watchGpx(), bytes: gzipSync(watchGpx().bytes) }],
    ["watch.tcx", watchTcx()],
    ["map.kml", kml],
    ["map.kmz", { ...kml, bytes: archive }],
    ["gx-track.kml", trackKml("gx:", "http://www.opengis.net/kml/2.2")],
    ["track-2.3.kml", trackKml("", "http://www.opengis.net/kml/2.3")],
    ["layer.geojson", layerGeoJson()]
  ])
})
