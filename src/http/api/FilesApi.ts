import { Schema } from "effect"
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
import { DryRun, ImportedRoute, ImportQuery } from "../../schema/Import.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import { Tier } from "./Access.ts"
import { CallerAuthentication, OptionalAuthentication } from "./Authentication.ts"
import { BodyLimit, IdempotencyHeader, NoParameters, ROUTE_BODY_LIMIT } from "./Requests.ts"
import { texts } from "./texts/FilesTexts.ts"

const download = <const Format extends "gpx" | "geojson" | "tcx" | "kml">(format: Format) =>
  HttpApiEndpoint.get(format, `/:ref/${format}`, {
    params: { ref: RouteRef },
    success: Schema.String.pipe(HttpApiSchema.asText({ contentType: MEDIA_TYPES[format] })),
    error: [Forbidden, NotFound]
  })
    .middleware(NoParameters)
    .middleware(OptionalAuthentication)
    .annotateMerge(texts[format])

const downloadFit = HttpApiEndpoint.get("fit", "/:ref/fit", {
  params: { ref: RouteRef },
  success: Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array({ contentType: MEDIA_TYPES.fit })),
  error: [Forbidden, NotFound]
})
  .middleware(NoParameters)
  .middleware(OptionalAuthentication)
  .annotateMerge(texts.fit)

const file = { schema: { type: "string" } }

const binary = { schema: { type: "string", format: "binary" } }

/** A part with a file name is a file, under any field name. */
const form = { schema: { type: "object", additionalProperties: { type: "string", format: "binary" } } }

/** The content decides the format. */
const anyFile = Schema.String.pipe(HttpApiSchema.asText({ contentType: MEDIA_TYPES.bytes }))

/** A specific content type decides the format. */
const importBody = {
  required: true,
  content: {
    [MEDIA_TYPES.gpx]: file,
    [MEDIA_TYPES.geojson]: file,
    [MEDIA_TYPES.tcx]: file,
    [MEDIA_TYPES.kml]: file,
    [MEDIA_TYPES.kmz]: binary,
    [MEDIA_TYPES.fit]: binary,
    [MEDIA_TYPES.zip]: binary,
    [MEDIA_TYPES.gzip]: binary,
    [MEDIA_TYPES.multipart]: form,
    [MEDIA_TYPES.bytes]: binary
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
      .annotateMerge(texts.import)
      .annotate(OpenApi.Override, { requestBody: importBody }),
    download("gpx"),
    download("geojson"),
    download("tcx"),
    download("kml"),
    downloadFit
  )
  .annotateEndpoints(Tier, "moderate")
  .prefix("/routes")
  .annotateMerge(texts.group)
{}
