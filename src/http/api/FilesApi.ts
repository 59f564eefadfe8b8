import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  Conflict,
  NotFound,
  PayloadTooLarge,
  RequestTimeout,
  UnsupportedMediaType,
  ValidationFailed
} from "../../schema/Errors.ts"
import { RouteRef } from "../../schema/Ids.ts"
import {
  DryRun,
  ImportedRoute,
  ImportQuery,
  MAX_FILE_BYTES,
  MAX_FILES,
  MAX_UNPACKED_BYTES
} from "../../schema/Import.ts"
import { DOWNLOADS_AN_ADDRESS } from "../../schema/Limits.ts"
import { ONLY_KNOWN } from "../../schema/Page.ts"
import { Tier } from "./Access.ts"
import { CallerAuthentication, OptionalAuthentication } from "./Authentication.ts"
import { BodyLimit, IdempotencyHeader, ROUTE_BODY_LIMIT } from "./Requests.ts"

const download = <const Name extends string, const Path extends `/:ref/${string}`>(
  name: Name,
  path: Path,
  type: string,
  summary: string
) =>
  HttpApiEndpoint.get(name, path, {
    params: { ref: RouteRef },
    success: Schema.String.pipe(HttpApiSchema.asText({ contentType: type })),
    error: NotFound
  }).middleware(OptionalAuthentication).annotate(OpenApi.Summary, summary).annotate(
    OpenApi.Description,
    "A route as a file, for anyone who may read it. Importing it again gives the same route. At most "
      + `${DOWNLOADS_AN_ADDRESS} downloads at once to `
      + "one address; 429 or 503 with `Retry-After` beyond."
  )

const downloadFit = HttpApiEndpoint.get("fit", "/:ref/fit", {
  params: { ref: RouteRef },
  success: Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array({ contentType: "application/vnd.ant.fit" })),
  error: NotFound
}).middleware(OptionalAuthentication).annotate(OpenApi.Summary, "Download as FIT").annotate(
  OpenApi.Description,
  "A route as a FIT course, for anyone who may read it: positions to a centimetre, elevations to 20 cm, at most 254 "
    + "bytes of the name, neither tags nor description. "
    + `At most ${DOWNLOADS_AN_ADDRESS} downloads at once to one address; 429 or 503 with \`Retry-After\` beyond.`
)

const mebibytes = (bytes: number) => `${bytes / 2 ** 20} MiB`

const file = { schema: { type: "string" } }

const binary = { schema: { type: "string", format: "binary" } }

/** A part with a file name is a file, whatever the name of its field is. */
const form = { schema: { type: "object", additionalProperties: { type: "string", format: "binary" } } }

/** For a client that knows no content type of its file: its content decides on the format. */
const anyFile = Schema.String.pipe(HttpApiSchema.asText({ contentType: "application/octet-stream" }))

/** A content type that names a format is believed. */
const importBody = {
  required: true,
  content: {
    "application/gpx+xml": file,
    "application/geo+json": file,
    "application/vnd.garmin.tcx+xml": file,
    "application/vnd.google-earth.kml+xml": file,
    "application/vnd.google-earth.kmz": binary,
    "application/vnd.ant.fit": binary,
    "application/zip": binary,
    "application/gzip": binary,
    "multipart/form-data": form,
    "application/octet-stream": binary
  }
}

export class FilesApi extends HttpApiGroup.make("files")
  .add(
    HttpApiEndpoint.post("import", "/import", {
      headers: IdempotencyHeader,
      query: ImportQuery,
      payload: anyFile,
      success: [
        Schema.Union([ImportedRoute, Schema.Array(ImportedRoute)]).annotate({
          description: "The route that was made, or with `split` those that were."
        }).pipe(HttpApiSchema.status("Created")),
        DryRun
      ],
      error: [Conflict, PayloadTooLarge, RequestTimeout, UnsupportedMediaType, ValidationFailed]
    }).middleware(CallerAuthentication).annotate(BodyLimit, ROUTE_BODY_LIMIT).annotate(
      HttpApi.QueryParseOptions,
      ONLY_KNOWN
    )
      .annotate(
        OpenApi.Summary,
        "Import a file"
      )
      .annotate(OpenApi.Override, { requestBody: importBody })
      .annotate(
        OpenApi.Description,
        "Makes a private route of a file: GPX (1.0 and 1.1), GeoJSON, TCX, KML or FIT, recognized by content type, "
          + "else by content; in UTF-8, UTF-16 or the encoding that its XML declaration or `charset` names. It may be "
          + "compressed with gzip (as `Content-Encoding`, or a file of it), and several files may come as a ZIP "
          + `archive (KMZ) or as \`multipart/form-data\`: at most ${MAX_FILES}, of ${
            mebibytes(MAX_FILE_BYTES)
          } each and `
          + `${mebibytes(MAX_UNPACKED_BYTES)} together unpacked, whose `
          + "tracks are one list. A route is named by `name`, else by its file, else by the name of the file "
          + "(`Content-Disposition`); `elevationGain` and `duration` are those of its elevations and times. Segments "
          + "of one track are joined; the gaps between them do not count into `distance`, and `warnings` names them, "
          + "as it names all that was left out. A file with several tracks (routes, courses, placemarks or features "
          + "with lines) needs `split=true`, which returns a list of routes, `track=<index>` or `join=true`: without "
          + "any of them it is 400 with the list of its tracks in `details.tracks`. `?dryRun=true` stores nothing and "
          + "returns that list, what would be stored, and what would be left out and why."
      ),
    download("gpx", "/:ref/gpx", "application/gpx+xml", "Download as GPX"),
    download("geojson", "/:ref/geojson", "application/geo+json", "Download as GeoJSON"),
    download("tcx", "/:ref/tcx", "application/vnd.garmin.tcx+xml", "Download as TCX"),
    download("kml", "/:ref/kml", "application/vnd.google-earth.kml+xml", "Download as KML"),
    downloadFit
  )
  .annotateEndpoints(Tier, "moderate")
  .prefix("/routes")
  .annotate(OpenApi.Title, "Route files")
  .annotate(OpenApi.Description, "Routes as files of other programs.")
{}
