import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Unavailable } from "../../schema/Errors.ts"

const Status = Schema.Struct({ status: Schema.Literal("ok") })

export class HealthApi extends HttpApiGroup.make("health")
  .add(
    HttpApiEndpoint.get("health", "/", { success: Status, error: Unavailable }).annotate(
      OpenApi.Description,
      "The same as `/health/ready`."
    ),
    HttpApiEndpoint.get("live", "/live", { success: Status }).annotate(OpenApi.Description, "The process answers."),
    HttpApiEndpoint.get("ready", "/ready", { success: Status, error: Unavailable }).annotate(
      OpenApi.Description,
      "The database is reachable."
    )
  )
  .prefix("/health")
  .annotate(OpenApi.Description, "Probes.")
{}
