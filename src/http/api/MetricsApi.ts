import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { NotFound, Unavailable } from "../../schema/Errors.ts"

/** Prometheus' text format. */
const Exposition = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/plain; version=0.0.4; charset=utf-8" }))

export class MetricsApi extends HttpApiGroup.make("metrics")
  .add(
    HttpApiEndpoint.get("metrics", "/metrics", { success: Exposition, error: [NotFound, Unavailable] }).annotate(
      OpenApi.Description,
      "Figures for Prometheus. Only from inside (`METRICS_ALLOWED_CIDRS`); to all others there is no such path."
    )
  )
  .annotate(OpenApi.Title, "Metrics")
  .annotate(OpenApi.Description, "Figures for operators.")
{}
