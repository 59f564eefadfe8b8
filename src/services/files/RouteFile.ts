import { Effect } from "effect"
import type { GpxForm } from "../../schema/Import.ts"
import type { InvalidInput } from "../DomainErrors.ts"
import { type DraftFile, type TextFormat, withoutEmptyTracks, type WrittenRoute } from "./Draft.ts"
import { chunked } from "./FileValues.ts"
import { readGeoJson, writeGeoJson } from "./GeoJson.ts"
import { readGpx } from "./Gpx.ts"
import { writeGpx } from "./GpxWriter.ts"
import { readKml, writeKml } from "./Kml.ts"
import { readTcx, writeTcx } from "./Tcx.ts"
import type { TextPieces } from "./Xml.ts"

const READERS: Record<TextFormat, (pieces: TextPieces) => Effect.Effect<DraftFile, InvalidInput>> = {
  gpx: readGpx,
  geojson: (pieces) => readGeoJson([...pieces].join("")),
  tcx: readTcx,
  kml: readKml
}

const WRITERS: Record<TextFormat, (route: WrittenRoute, form?: GpxForm) => Generator<string>> = {
  gpx: writeGpx,
  geojson: writeGeoJson,
  tcx: writeTcx,
  kml: writeKml
}

/** Blocks the thread, so the caller limits the length of the text. Limits of a route are applied later. */
export const readRouteFile = (pieces: TextPieces, format: TextFormat): Effect.Effect<DraftFile, InvalidInput> =>
  Effect.map(READERS[format](pieces), withoutEmptyTracks)

/**
 * Generates chunks of some 64 KiB on demand. The file is read as the same route, except for characters that XML lacks,
 * timestamps of waypoints that are no `xsd:dateTime` in GPX, and all but the waypoints in a GPX `route`.
 */
export const writeRouteFile = (route: WrittenRoute, format: TextFormat, form?: GpxForm): Iterable<string> =>
  chunked(WRITERS[format](route, form))
