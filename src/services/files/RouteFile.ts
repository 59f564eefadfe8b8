import type { Effect } from "effect"
import type { InvalidInput } from "../DomainErrors.ts"
import { chunked } from "./Chunks.ts"
import type { DraftFile, TextFormat, WrittenRoute } from "./draft/Document.ts"
import { readGeoJson, writeGeoJson } from "./formats/GeoJson.ts"
import { readGpx } from "./formats/Gpx.ts"
import { writeGpx } from "./formats/GpxWriter.ts"
import { readKml } from "./formats/Kml.ts"
import { writeKml } from "./formats/KmlWriter.ts"
import { readTcx } from "./formats/Tcx.ts"
import { writeTcx } from "./formats/TcxWriter.ts"

const READERS: Record<TextFormat, (text: string) => Effect.Effect<DraftFile, InvalidInput>> = {
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

/** Synchronous; the caller limits the length of the text. Limits of a route are applied later. */
export const readRouteFile = (text: string, format: TextFormat): Effect.Effect<DraftFile, InvalidInput> =>
  READERS[format](text.startsWith("\uFEFF") ? text.slice(1) : text)

/**
 * Chunks of some 64 KiB, generated on demand. Read again it is the same route, except for characters that XML cannot
 * carry and, in GPX, timestamps of waypoints that are no `xsd:dateTime`.
 */
export const writeRouteFile = (route: WrittenRoute, format: TextFormat): Iterable<string> =>
  chunked(WRITERS[format](route))
