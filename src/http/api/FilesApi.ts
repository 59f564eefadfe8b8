import { Record, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  Conflict,
  Forbidden,
  NotFound,
  PayloadTooLarge,
  RequestTimeout,
  UnsupportedMediaType,
  ValidationFailed
} from "../../schema/Errors.ts"
import { RouteRef } from "../../schema/Ids.ts"
import {
  DryRun,
  GpxQuery,
  ImportedRoutes,
  ImportQuery,
  MAX_FILES,
  MAX_FIT_BYTES,
  MAX_UNPACKED_BYTES
} from "../../schema/Import.ts"
import { DOWNLOADS_AN_ADDRESS } from "../../schema/Limits.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import { CallerAuthentication, OptionalAuthentication, Tier } from "./Access.ts"
import { described, mebibytes, titled } from "./Described.ts"
import { BodyLimit, IdempotencyHeader, NoParameters } from "./Requests.ts"

const BOUNDED =
  `At most ${DOWNLOADS_AN_ADDRESS} downloads at once to one address; 429 or 503 with \`Retry-After\` beyond.`

const fileOf = (format: "gpx" | "geojson" | "tcx" | "kml") => ({
  params: { ref: RouteRef },
  success: Schema.String.pipe(HttpApiSchema.asText({ contentType: MEDIA_TYPES[format] })),
  error: [Forbidden, NotFound]
} as const)

const AGAIN = "A route as a file, for anyone who may read it. Importing it again gives the same route, with its "
  + "measures and cues"

const download = <const Format extends "geojson" | "tcx" | "kml">(format: Format, name: string, more = "") =>
  HttpApiEndpoint.get(format, `/:ref/${format}`, fileOf(format))
    .middleware(NoParameters)
    .middleware(OptionalAuthentication)
    .annotateMerge(described(`Download as ${name}`, `${AGAIN}. ${more}${BOUNDED}`))

const downloadGpx = HttpApiEndpoint.get("gpx", "/:ref/gpx", { ...fileOf("gpx"), query: GpxQuery })
  .middleware(OptionalAuthentication)
  .annotateMerge(described(
    "Download as GPX",
    `${AGAIN}, except as \`route\`. Cues are waypoints of the kind of the turn. An unnamed waypoint of the type \`routed\` is `
      + `no \`wpt\`, but in an extension of the track, which an import reads. ${BOUNDED}`
  ))

const CUES =
  "Cues are course points. An unnamed waypoint of the type `routed` is none, but in an extension, which an import "
  + "reads; cues of an arrival or a start there, on the way, are left out. "

const downloadFit = HttpApiEndpoint.get("fit", "/:ref/fit", {
  params: { ref: RouteRef },
  success: Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array({ contentType: MEDIA_TYPES.fit })),
  error: [Forbidden, NotFound]
})
  .middleware(NoParameters)
  .middleware(OptionalAuthentication)
  .annotateMerge(described(
    "Download as FIT",
    "A route as a FIT course, for anyone who may read it: positions to a centimetre, elevations to 20 cm, at most 254 "
      + "bytes of the name, neither tags nor description. Cues are course points, with the start of the instruction. An "
      + "unnamed waypoint of the type `routed` is no course point, but in a message of our own, which an import reads, as are cues of a kind that FIT lacks, distance and gain; cues of an arrival or a start there, on the way, are left out. An import reads no `recordedAt`. "
      + "At a gap the timer stops and starts a second later. "
      + BOUNDED
  ))

const GPX =
  "<gpx version=\"1.1\" xmlns=\"http://www.topografix.com/GPX/1/1\"><trk><trkseg><trkpt lat=\"47.1415\" lon=\"9.5209\"/>"
  + "<trkpt lat=\"47.1501\" lon=\"9.53\"/></trkseg></trk></gpx>"

const GEOJSON = "{\"type\":\"LineString\",\"coordinates\":[[9.5209,47.1415],[9.53,47.1501]]}"

const TCX =
  "<TrainingCenterDatabase xmlns=\"http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2\"><Courses><Course>"
  + "<Name>Vaduz</Name><Track><Trackpoint><Position><LatitudeDegrees>47.1415</LatitudeDegrees><LongitudeDegrees>9.5209"
  + "</LongitudeDegrees></Position></Trackpoint><Trackpoint><Position><LatitudeDegrees>47.1501</LatitudeDegrees>"
  + "<LongitudeDegrees>9.53</LongitudeDegrees></Position></Trackpoint></Track></Course></Courses></TrainingCenterDatabase>"

const KML =
  "<kml xmlns=\"http://www.opengis.net/kml/2.2\"><Placemark><name>Vaduz</name><LineString><coordinates>9.5209,47.1415 "
  + "9.53,47.1501</coordinates></LineString></Placemark></kml>"

export const FILE_TEXTS = {
  [MEDIA_TYPES.gpx]: GPX,
  [MEDIA_TYPES.geojson]: GEOJSON,
  [MEDIA_TYPES.tcx]: TCX,
  [MEDIA_TYPES.kml]: KML
}

const binary = { schema: { type: "string", format: "binary" } }

/** A part with a file name is a file, under any field name. */
const form = {
  schema: { type: "object", additionalProperties: { type: "string", format: "binary" } },
  example: { file: GPX }
}

/** The content decides the format. */
const anyFile = Schema.String.pipe(HttpApiSchema.asText({ contentType: MEDIA_TYPES.bytes }))

/** A specific content type decides the format. */
const importBody = {
  required: true,
  content: {
    ...Record.map(FILE_TEXTS, (example) => ({ schema: { type: "string" }, example })),
    [MEDIA_TYPES.kmz]: binary,
    [MEDIA_TYPES.fit]: binary,
    [MEDIA_TYPES.zip]: binary,
    [MEDIA_TYPES.gzip]: binary,
    [MEDIA_TYPES.multipart]: form,
    [MEDIA_TYPES.bytes]: { ...binary, example: GPX }
  }
}

export class FilesApi extends HttpApiGroup.make("files")
  .add(
    HttpApiEndpoint.post("import", "/import", {
      headers: IdempotencyHeader,
      query: ImportQuery,
      payload: anyFile,
      success: [
        ImportedRoutes.pipe(HttpApiSchema.status("Created")),
        DryRun
      ],
      error: [Conflict, PayloadTooLarge, RequestTimeout, UnsupportedMediaType, ValidationFailed]
    })
      .middleware(CallerAuthentication)
      .annotate(BodyLimit, MAX_UNPACKED_BYTES)
      .annotateMerge(described(
        "Import a file",
        "Makes a private route of a file: GPX (1.0 and 1.1), GeoJSON, TCX, KML or FIT, recognized by content, "
          + "else by content type; in UTF-8, UTF-16 or the encoding that its XML declaration or `charset` names. It may be "
          + "compressed with gzip (as `Content-Encoding`, or a file of it), and several files may come as a ZIP "
          + `archive (KMZ), which may have such in it, or as \`multipart/form-data\`: at most ${MAX_FILES}, of `
          + `${mebibytes(MAX_UNPACKED_BYTES)} together unpacked, whose tracks are one list. A FIT file has at most `
          + `${mebibytes(MAX_FIT_BYTES)}. `
          + "A route is named by `name` (also as a field of a form), else by its file, else by the name of the file "
          + "(`Content-Disposition`); `elevationGain` and `duration` are those of its elevations and times. "
          + "`segments` has the gaps of a track, which do not count into `distance`; `warnings` names all that was changed or "
          + "left out, such as a position at 0/0 that is far from the others. A file with several tracks (routes, courses, placemarks or features "
          + "with lines) needs `split=true`, which returns a list of routes, `track=<index>` or `join=true`: without "
          + "any of them it is 400 with the list of its tracks in `details.tracks`. A line that an own live route has already, "
          + "rounded to 1e-6 degrees, is 409 with `details.routeId`, as are waypoints without a line that one of this name has, unless "
          + "`duplicates=allow`. `?dryRun=true` stores nothing and "
          + "returns that list, what would be stored, and what would be left out and why."
      ))
      .annotate(OpenApi.Override, { requestBody: importBody }),
    downloadGpx,
    download("geojson", "GeoJSON"),
    download("tcx", "TCX", CUES),
    download("kml", "KML"),
    downloadFit
  )
  .annotateEndpoints(Tier, "moderate")
  .prefix("/routes")
  .annotateMerge(titled("Route files", "Routes as files of other programs."))
{}
