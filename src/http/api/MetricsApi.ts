import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { NotFound, Unavailable } from "../../schema/Errors.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import { texts } from "./texts/MetricsTexts.ts"

const Exposition = Schema.String.pipe(HttpApiSchema.asText({ contentType: MEDIA_TYPES.metrics }))

export class MetricsApi extends HttpApiGroup.make("metrics")
  .add(
    HttpApiEndpoint.get("metrics", "/metrics", { success: Exposition, error: [NotFound, Unavailable] }).annotateMerge(
      texts.metrics
    )
  )
  .annotateMerge(texts.group)
{}
