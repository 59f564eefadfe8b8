import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Unavailable } from "../../schema/Errors.ts"
import { EngineState } from "../../schema/Routing.ts"

const Status = Schema.Struct({ status: Schema.Literal("ok") })

/** Beside it, what the service can do without. */
const Readiness = Schema.Struct({ ...Status.fields, routingEngine: EngineState })

export class HealthApi extends HttpApiGroup.make("health")
  .add(
    HttpApiEndpoint.get("health", "/", { success: Readiness, error: Unavailable }).annotate(
      OpenApi.Description,
      "The same as `/health/ready`."
    ),
    HttpApiEndpoint.get("live", "/live", { success: Status }).annotate(OpenApi.Description, "The process answers."),
    HttpApiEndpoint.get("ready", "/ready", { success: Readiness, error: Unavailable }).annotate(
      OpenApi.Description,
      "The database is reachable. A routing engine that is away is told and makes nothing unready."
    )
  )
  .prefix("/health")
  .annotate(OpenApi.Description, "Probes.")
{}
