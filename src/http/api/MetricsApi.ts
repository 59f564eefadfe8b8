import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { NotFound, Unavailable, ValidationFailed } from "../../schema/Errors.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import { described, titled } from "./Described.ts"

const Exposition = Schema.String.pipe(HttpApiSchema.asText({ contentType: MEDIA_TYPES.metrics }))

export class MetricsApi extends HttpApiGroup.make("metrics")
  .add(
    HttpApiEndpoint.get("metrics", "/metrics", {
      success: Exposition,
      error: [NotFound, Unavailable, ValidationFailed]
    }).annotateMerge(described(
      "Figures for Prometheus",
      "Figures for Prometheus. Only from inside (`METRICS_ALLOWED_CIDRS`); to all others there is no such path."
    ))
  )
  .annotateMerge(titled("Metrics", "Figures for operators."))
{}
