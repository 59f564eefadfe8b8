import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Conflict, NotFound, PayloadTooLarge, UnsupportedMediaType, ValidationFailed } from "../../schema/Errors.ts"
import { RouteRef } from "../../schema/Ids.ts"
import { Route } from "../../schema/Route.ts"
import { Tier } from "./Access.ts"
import { Authentication, OptionalAuthentication } from "./Authentication.ts"
import { IdempotencyHeader } from "./Requests.ts"

/** What an import would store and what it would leave out. */
const DryRun = Schema.Struct({
  format: Schema.Literals(["gpx", "geojson", "tcx", "kml"]),
  route: Schema.Json,
  dropped: Schema.Array(Schema.Struct({ what: Schema.String, why: Schema.String, count: Schema.Int }))
})

const download = <const Name extends string, const Path extends `/:ref/${string}`>(
  name: Name,
  path: Path,
  type: string
) =>
  HttpApiEndpoint.get(name, path, {
    params: { ref: RouteRef },
    success: Schema.String.pipe(HttpApiSchema.asText({ contentType: type })),
    error: NotFound
  }).middleware(OptionalAuthentication).annotate(
    OpenApi.Description,
    "A route as a file, for whoever may open it. Importing it again gives the same route."
  )

export class FilesApi extends HttpApiGroup.make("files")
  .add(
    HttpApiEndpoint.post("import", "/import", {
      headers: IdempotencyHeader,
      query: { dryRun: Schema.optionalKey(Schema.Literals(["true", "false"])) },
      success: [Route.pipe(HttpApiSchema.status("Created")), DryRun],
      error: [Conflict, PayloadTooLarge, UnsupportedMediaType, ValidationFailed]
    }).middleware(Authentication).annotate(
      OpenApi.Description,
      "Makes a private route of a file: GPX (1.0 and 1.1), GeoJSON, TCX or KML, told apart by content type, else by "
        + "content; at most 8 MiB of UTF-8. `?dryRun=true` stores nothing and answers what would be stored, and what would "
        + "be left out and why."
    ),
    download("gpx", "/:ref/gpx", "application/gpx+xml"),
    download("geojson", "/:ref/geojson", "application/geo+json"),
    download("tcx", "/:ref/tcx", "application/vnd.garmin.tcx+xml"),
    download("kml", "/:ref/kml", "application/vnd.google-earth.kml+xml")
  )
  .annotateEndpoints(Tier, "moderate")
  .prefix("/routes")
  .annotate(OpenApi.Description, "Routes as files of other programs.")
{}
