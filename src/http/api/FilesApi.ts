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
import { DryRun, ImportedRoute, ImportQuery } from "../../schema/Import.ts"
import { ONLY_KNOWN } from "../../schema/Page.ts"
import { Tier } from "./Access.ts"
import { CallerAuthentication, OptionalAuthentication } from "./Authentication.ts"
import { BodyLimit, IdempotencyHeader, ROUTE_BODY_LIMIT } from "./Requests.ts"
import { texts } from "./texts/FilesTexts.ts"

const download = <const Name extends string, const Path extends `/:ref/${string}`>(
  name: Name,
  path: Path,
  type: string
) =>
  HttpApiEndpoint.get(name, path, {
    params: { ref: RouteRef },
    success: Schema.String.pipe(HttpApiSchema.asText({ contentType: type })),
    error: NotFound
  })
    .middleware(OptionalAuthentication)

const downloadFit = HttpApiEndpoint.get("fit", "/:ref/fit", {
  params: { ref: RouteRef },
  success: Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array({ contentType: "application/vnd.ant.fit" })),
  error: NotFound
})
  .middleware(OptionalAuthentication)
  .annotateMerge(texts.fit)

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
    })
      .middleware(CallerAuthentication)
      .annotate(BodyLimit, ROUTE_BODY_LIMIT)
      .annotate(HttpApi.QueryParseOptions, ONLY_KNOWN)
      .annotateMerge(texts.import)
      .annotate(OpenApi.Override, { requestBody: importBody }),
    download("gpx", "/:ref/gpx", "application/gpx+xml").annotateMerge(texts.gpx),
    download("geojson", "/:ref/geojson", "application/geo+json").annotateMerge(texts.geojson),
    download("tcx", "/:ref/tcx", "application/vnd.garmin.tcx+xml").annotateMerge(texts.tcx),
    download("kml", "/:ref/kml", "application/vnd.google-earth.kml+xml").annotateMerge(texts.kml),
    downloadFit
  )
  .annotateEndpoints(Tier, "moderate")
  .prefix("/routes")
  .annotateMerge(texts.group)
{}
