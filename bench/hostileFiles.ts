import { Effect } from "effect"
import { gzipSync } from "node:zlib"
import { ROUTE_BODY_LIMIT } from "../src/http/api/Requests.ts"
import { type Files, sealed } from "../test/support/Archives.ts"
import type { Hostile } from "./hostileJson.ts"

const MIB = 1024 * 1024

const POSITIONS = 100_000

const POSITION = "[13.123456789,47.123456789]"

/** Returns JSON of this many bytes, for files that are no JSON. */
export const positionsOf = (bytes: number): string =>
  `[${`${POSITION},`.repeat(Math.max(1, Math.floor(bytes / (POSITION.length + 1))) - 1)}${POSITION}]`

/** Closes the elements that a text of XML opens. */
const closing = (opened: string) =>
  [...opened.matchAll(/<(\w+)/g)].toReversed().map(([, name]) => `</${name}>`).join("")

const xml = (before: string, inside: string) => before + inside + closing(before)

/** Repeats an item until the body of a file is full, with something around it. */
const filled = (before: string, item: string, after = closing(before)) =>
  before + item.repeat(Math.floor((ROUTE_BODY_LIMIT - before.length - after.length) / item.length)) + after

const lines = (item: (n: number) => string, count = POSITIONS) =>
  Array.from({ length: count }, (_, n) => item(n)).join("")

const nested = (open: string, close: string) => {
  const levels = ROUTE_BODY_LIMIT / (open.length + close.length)
  return open.repeat(levels) + close.repeat(levels)
}

const lat = (n: number) => (n / 10_000).toFixed(4)

const trackpoint = (n: number) =>
  xml("<Trackpoint><Position>", `${xml("<LatitudeDegrees>", lat(n))}${xml("<LongitudeDegrees>", "9")}`)

const FIT_BYTES = 4 * MIB

/** The records have no field and take a byte each. The file has no checksum: its messages are counted first. */
const fit = () => {
  const file = Buffer.alloc(FIT_BYTES)
  const header = [14, 0x20, 0, 0, 0, 0, 0, 0, 0x2e, 0x46, 0x49, 0x54, 0, 0]
  const definition = [0x40, 0, 0, 20, 0, 0]
  file.set([...header, ...definition])
  file.writeUInt32LE(FIT_BYTES - header.length - 2, 4)
  return file
}

const GPX = `<gpx version="1.1">`

const KML = `<kml xmlns="http://www.opengis.net/kml/2.2"><Document><Placemark><LineString><coordinates>`

/** The name of a file begins with its format. */
const TYPES = new Map([
  ["GPX", "gpx+xml"],
  ["KML", "vnd.google-earth.kml+xml"],
  ["TCX", "vnd.garmin.tcx+xml"],
  ["GeoJSON", "geo+json"],
  ["FIT", "vnd.ant.fit"],
  ["gzip", "gzip"]
])

const FILES: Readonly<Record<string, () => string | Buffer>> = {
  "GPX of empty elements": () => filled(GPX, "<a/>"),
  "GPX of empty waypoints": () => filled(GPX, `<wpt lat="1" lon="2"/>`),
  "GPX of one element with attributes": () => `<gpx ${lines((n) => ` a${n}=""`, 700_000).slice(1)}></gpx>`,
  "GPX of entities": () => filled(`${GPX}<name>`, "&amp;"),
  "GPX of levels": () => nested("<a>", "</a>"),
  "GPX of one text": () => filled(`${GPX}<name>`, "x"),
  "GPX of 100,000 points": () =>
    xml(`${GPX}<trk><trkseg>`, lines((n) => `<trkpt lat="${lat(n)}" lon="9"><ele>4</ele></trkpt>`)),
  "GPX of points to the limit": () => filled("<gpx><rte>", `<rtept lat="1" lon="2"/>`),
  "KML of empty elements": () => filled("<kml><Document>", "<a/>"),
  "KML of empty placemarks": () => filled("<kml><Document>", "<Placemark/>"),
  "KML of 100,000 positions": () => xml(KML, lines((n) => `9,${lat(n)},4 `)),
  "KML of blanks": () => filled("<kml><Placemark><LineString><coordinates>", " "),
  "TCX of empty elements": () => filled("<TrainingCenterDatabase>", "<a/>"),
  "TCX of points": () =>
    xml("<TrainingCenterDatabase><Courses><Course>", `<Name>x</Name>${xml("<Track>", lines(trackpoint, 60_000))}`),
  "GeoJSON of empty geometries": () => filled(`{"type":"GeometryCollection","geometries":[`, "{},", "{}]}"),
  "GeoJSON of levels": () => nested("[", "]"),
  "GeoJSON of numbers": () => filled(`{"type":"LineString","coordinates":[`, "1,", "1]}"),
  "GeoJSON of 100,000 positions": () =>
    `{"type":"LineString","coordinates":[${lines((n) => `[9,${lat(n)},4],`)}[9,1]]}`,
  "GeoJSON of points": () =>
    filled(`{"type":"FeatureCollection","features":[`, `{"type":"Point","coordinates":[1,2]},`, "{}]}"),
  "FIT of records without fields": fit,
  "gzip of 64 MiB of blanks": () => gzipSync(Buffer.alloc(64 * MIB, " ")),
  "a file of nothing known": () => " ".repeat(ROUTE_BODY_LIMIT)
}

/** Returns files of every format and of none, and a body that is far over its limit. */
export const fileBodies = (): ReadonlyArray<Hostile> => [
  {
    name: "64 MiB for a sign-in",
    method: "POST",
    path: "/api/v1/auth/login-email",
    type: "application/json",
    body: () => Buffer.alloc(64 * MIB, "x")
  },
  ...Object.entries(FILES).map(([name, body]) => ({
    name,
    method: "POST",
    path: "/api/v1/routes/import?duplicates=allow",
    type: `application/${TYPES.get(name.split(" ")[0] ?? "") ?? "octet-stream"}`,
    body: () => Buffer.from(body())
  }))
]

/** Returns lines that are hard to simplify: each is a route that may be stored. */
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

/** Returns archives that are made from an exported one. */
export const archiveBodies = Effect.fnUntraced(function*(files: Files) {
  const line = (files["routes.json"] ?? "").split("\n")[1]?.replace(/,$/, "") ?? "{}"
  const copies = lines(
    (n) => `,\n${line.replace(/"origin":"\w+"/, `"origin":"${n.toString(16).padStart(32, "0")}"`)}`,
    1000
  )
  const routes = `[\n${copies.slice(2)}\n]\n`
  const { "manifest.json": manifest = "", ...own } = files
  const counts = { routes: 1000, collections: 0, tokens: 0, sessions: 0 }
  const archives = {
    "of 1,000 routes": sealed({ ...files, "routes.json": routes }, { counts }),
    "of line feeds": sealed({ ...files, "routes.json": `[${"\n".repeat(256 * MIB)}` }),
    "of one long line": sealed({ ...files, "routes.json": `[\n[${"{},".repeat(2 * MIB)}{}]\n]\n` }),
    "of an unread file": sealed({ ...own, "manifest.json": manifest, x: "0".repeat(400 * MIB) }),
    "of many files": sealed({
      ...files,
      ...Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`routes/${n}.gpx`, ""]))
    }),
    "of a long profile": sealed({ ...files, "profile.json": `[${"0,".repeat(7 * MIB)}0]` }),
    "of nothing": Effect.sync(() => Buffer.alloc(64 * MIB))
  }
  return yield* Effect.forEach(Object.entries(archives), ([name, archive]) =>
    Effect.map(archive, (bytes): Hostile => ({
      name: `an archive ${name}`,
      method: "POST",
      path: "/api/v1/users/me/import",
      type: "application/zip",
      body: () => Buffer.from(bytes),
      ...(name === "of 1,000 routes" ? { unpacked: routes.length } : {})
    })))
})
