import { Effect } from "effect"
import { gzipSync } from "node:zlib"
import { ROUTE_BODY_LIMIT } from "../src/http/api/Requests.ts"
import { type Files, sealed } from "../test/support/Archives.ts"
import type { Hostile } from "./hostileJson.ts"

const MIB = 1024 * 1024

const IMPORT = "/api/v1/routes/import?duplicates=allow"

const POSITIONS = 100_000

const POSITION = "[13.123456789,47.123456789]"

/** JSON of so many bytes, for what is no JSON itself. */
export const positionsOf = (bytes: number): string =>
  `[${`${POSITION},`.repeat(Math.max(1, Math.floor(bytes / (POSITION.length + 1))) - 1)}${POSITION}]`

/** As often as it fits into the body of a file, with something around it. */
const filled = (before: string, item: string, after: string) =>
  before + item.repeat(Math.floor((ROUTE_BODY_LIMIT - before.length - after.length) / item.length)) + after

const lines = (item: (n: number) => string) => Array.from({ length: POSITIONS }, (_, n) => item(n)).join("")

const gpx = (inside: (before: string, after: string) => string) => inside(`<gpx version="1.1">`, "</gpx>")

const track = (points: string) => `<gpx version="1.1"><trk><trkseg>${points}</trkseg></trk></gpx>`

const kml = (inside: string) => `<kml xmlns="http://www.opengis.net/kml/2.2"><Document>${inside}</Document></kml>`

const tcx = (inside: string) =>
  `<TrainingCenterDatabase><Courses><Course><Name>x</Name><Track>${inside}</Track></Course></Courses></TrainingCenterDatabase>`

const lat = (n: number) => (n / 10_000).toFixed(4)

const trackpoint = (n: number) =>
  `<Trackpoint><Position><LatitudeDegrees>${
    lat(n)
  }</LatitudeDegrees><LongitudeDegrees>9</LongitudeDegrees></Position></Trackpoint>`

const FILES: Readonly<Record<string, readonly [type: string, text: () => string]>> = {
  "GPX of empty elements": ["gpx+xml", () => gpx((before, after) => filled(before, "<a/>", after))],
  "GPX of empty waypoints": ["gpx+xml", () => gpx((before, after) => filled(before, `<wpt lat="1" lon="2"/>`, after))],
  "GPX of one element with attributes": [
    "gpx+xml",
    () => `<gpx ${Array.from({ length: 700_000 }, (_, n) => `a${n}=""`).join(" ")}></gpx>`
  ],
  "GPX of entities": ["gpx+xml", () => gpx((before, after) => filled(`${before}<name>`, "&amp;", `</name>${after}`))],
  "GPX of levels": ["gpx+xml", () => "<a>".repeat(ROUTE_BODY_LIMIT / 7) + "</a>".repeat(ROUTE_BODY_LIMIT / 7)],
  "GPX of one text": ["gpx+xml", () => gpx((before, after) => filled(`${before}<name>`, "x", `</name>${after}`))],
  "GPX of 100,000 points": [
    "gpx+xml",
    () => track(lines((n) => `<trkpt lat="${lat(n)}" lon="9"><ele>4</ele></trkpt>`))
  ],
  "GPX of points to the limit": ["gpx+xml", () => filled("<gpx><rte>", `<rtept lat="1" lon="2"/>`, "</rte></gpx>")],
  "KML of empty elements": ["vnd.google-earth.kml+xml", () => filled("<kml><Document>", "<a/>", "</Document></kml>")],
  "KML of empty placemarks": [
    "vnd.google-earth.kml+xml",
    () => filled("<kml><Document>", "<Placemark/>", "</Document></kml>")
  ],
  "KML of 100,000 positions": [
    "vnd.google-earth.kml+xml",
    () =>
      kml(
        `<Placemark><LineString><coordinates>${lines((n) => `9,${lat(n)},4 `)}</coordinates></LineString></Placemark>`
      )
  ],
  "KML of blanks": [
    "vnd.google-earth.kml+xml",
    () => filled("<kml><Placemark><LineString><coordinates>", " ", "</coordinates></LineString></Placemark></kml>")
  ],
  "TCX of empty elements": [
    "vnd.garmin.tcx+xml",
    () => filled("<TrainingCenterDatabase>", "<a/>", "</TrainingCenterDatabase>")
  ],
  "TCX of points": ["vnd.garmin.tcx+xml", () => tcx(Array.from({ length: 60_000 }, (_, n) => trackpoint(n)).join(""))],
  "GeoJSON of empty geometries": [
    "geo+json",
    () => filled(`{"type":"GeometryCollection","geometries":[`, "{},", "{}]}")
  ],
  "GeoJSON of levels": ["geo+json", () => "[".repeat(ROUTE_BODY_LIMIT / 2) + "]".repeat(ROUTE_BODY_LIMIT / 2)],
  "GeoJSON of numbers": ["geo+json", () => filled(`{"type":"LineString","coordinates":[`, "1,", "1]}")],
  "GeoJSON of 100,000 positions": [
    "geo+json",
    () => `{"type":"LineString","coordinates":[${lines((n) => `[9,${lat(n)},4],`)}[9,1]]}`
  ],
  "GeoJSON of points": [
    "geo+json",
    () => filled(`{"type":"FeatureCollection","features":[`, `{"type":"Point","coordinates":[1,2]},`, "{}]}")
  ],
  "a file of nothing known": ["octet-stream", () => " ".repeat(ROUTE_BODY_LIMIT)]
}

const FIT_BYTES = 4 * MIB

/** Records without a field, a byte each. It has no checksum: its messages are counted first. */
const fit = () => {
  const file = Buffer.alloc(FIT_BYTES)
  const header = [14, 0x20, 0, 0, 0, 0, 0, 0, 0x2e, 0x46, 0x49, 0x54, 0, 0]
  const definition = [0x40, 0, 0, 20, 0, 0]
  file.set([...header, ...definition])
  file.writeUInt32LE(FIT_BYTES - header.length - 2, 4)
  return file
}

/** These files are no text, or packed. */
const BINARIES: Readonly<Record<string, readonly [type: string, body: () => Buffer]>> = {
  "FIT of records without fields": ["vnd.ant.fit", fit],
  "gzip of 64 MiB of blanks": ["gzip", () => gzipSync(Buffer.alloc(64 * MIB, " "))]
}

/** Files of every format, and of none, and a body that is far over its limit. */
export const fileBodies = (): ReadonlyArray<Hostile> => [
  {
    name: "64 MiB for a sign-in",
    method: "POST",
    path: "/api/v1/auth/login-email",
    type: "application/json",
    body: () => Buffer.alloc(64 * MIB, "x")
  },
  ...[
    ...Object.entries(FILES).map(([name, [type, text]]) => [name, type, () => Buffer.from(text())] as const),
    ...Object.entries(BINARIES).map(([name, [type, body]]) => [name, type, body] as const)
  ].map(([name, type, body]) => ({ name, method: "POST", path: IMPORT, type: `application/${type}`, body }))
]

/** Lines that are hard to simplify: each of them a route that may be stored. */
export const lineBodies = (): ReadonlyArray<Hostile> => {
  const shapes: Readonly<Record<string, (n: number) => readonly [number, number]>> = {
    zigzag: (n) => [n / 10_000, n % 2 === 0 ? 0 : 1],
    spiral: (n) => [Math.cos(n / 100) * n / 10_000, Math.sin(n / 100) * n / 10_000],
    "one position": () => [9, 47]
  }
  return Object.entries(shapes).map(([name, at]) => ({
    name: `POST /routes of 100,000 positions: ${name}`,
    method: "POST",
    path: "/api/v1/routes",
    type: "application/json",
    body: () =>
      Buffer.from(JSON.stringify({
        name,
        waypoints: [{ coord: [9, 47] }],
        geometry: Array.from({ length: POSITIONS }, (_, n) => at(n))
      }))
  }))
}

const counts = (routes: number) => ({ counts: { routes, collections: 0, tokens: 0, sessions: 0 } })

const ROUTES_ARCHIVE = "an archive of 1,000 routes"

/** Archives that are made of one that was exported. */
export const archiveBodies = Effect.fnUntraced(function*(files: Files) {
  const line = (files["routes.json"] ?? "").split("\n")[1]?.replace(/,$/, "") ?? "{}"
  const { "manifest.json": _, ...own } = files
  const routesOf = (count: number) =>
    `[\n${
      Array.from({ length: count }, (_, n) =>
        line.replace(/"origin":"\w+"/, `"origin":"${n.toString(16).padStart(32, "0")}"`))
        .join(",\n")
    }\n]\n`
  const routes = routesOf(1000)
  const archives = {
    [ROUTES_ARCHIVE]: sealed({ ...files, "routes.json": routes }, counts(1000)),
    "an archive of line feeds": sealed({ ...files, "routes.json": `[${"\n".repeat(256 * MIB)}` }),
    "an archive of one long line": sealed({ ...files, "routes.json": `[\n[${"{},".repeat(2 * MIB)}{}]\n]\n` }),
    "an archive of an unread file": sealed({
      ...own,
      "manifest.json": files["manifest.json"] ?? "",
      x: "0".repeat(400 * MIB)
    }),
    "an archive of many files": sealed({
      ...files,
      ...Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`routes/${n}.gpx`, ""]))
    }),
    "an archive of a long profile": sealed({ ...files, "profile.json": `[${"0,".repeat(7 * MIB)}0]` })
  }
  const bodies = yield* Effect.forEach(
    Object.entries(archives),
    ([name, archive]) =>
      Effect.map(archive, (bytes): Hostile => ({
        name,
        method: "POST",
        path: "/api/v1/users/me/import",
        type: "application/zip",
        body: () => Buffer.from(bytes),
        ...(name === ROUTES_ARCHIVE ? { unpacked: routes.length } : {})
      }))
  )
  return [
    ...bodies,
    {
      name: "an archive of nothing",
      method: "POST",
      path: "/api/v1/users/me/import",
      type: "application/zip",
      body: () => Buffer.alloc(64 * MIB)
    }
  ]
})
