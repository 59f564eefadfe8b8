import type { Effect } from "effect"
import type { ValidationFailed } from "../../schema/Errors.ts"
import { chunked } from "./Chunks.ts"
import type { DraftFile, TextFormat, WrittenRoute } from "./Document.ts"
import { readGeoJson, writeGeoJson } from "./formats/GeoJson.ts"
import { readGpx } from "./formats/Gpx.ts"
import { writeGpx } from "./formats/GpxWriter.ts"
import { readKml } from "./formats/Kml.ts"
import { writeKml } from "./formats/KmlWriter.ts"
import { readTcx } from "./formats/Tcx.ts"
import { writeTcx } from "./formats/TcxWriter.ts"

const READERS: Record<TextFormat, (text: string) => Effect.Effect<DraftFile, ValidationFailed>> = {
  gpx: readGpx,
  geojson: readGeoJson,
  tcx: readTcx,
  kml: readKml
}

const WRITERS: Record<TextFormat, (route: WrittenRoute) => Generator<string>> = {
  gpx: writeGpx,
  geojson: writeGeoJson,
  tcx: writeTcx,
  kml: writeKml
}

/**
 * What a file says of its tracks, before the limits of a route are applied, and what was not read. The caller bounds
 * the length of the text. Reading is synchronous: it blocks the thread.
 */
export const readRouteFile = (text: string, format: TextFormat): Effect.Effect<DraftFile, ValidationFailed> =>
  READERS[format](text.startsWith("\uFEFF") ? text.slice(1) : text)

/**
 * A file of the route in pieces of some 64 KiB, made as they are asked for. What is read from it again is the same route,
 * but for characters that XML cannot carry and, in GPX, timestamps of waypoints that are no `xsd:dateTime`.
 */
export const writeRouteFile = (route: WrittenRoute, format: TextFormat): Iterable<string> =>
  chunked(WRITERS[format](route))
