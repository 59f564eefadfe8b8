import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Unavailable } from "../../schema/Errors.ts"
import { EngineState } from "../../schema/Routing.ts"

const Status = Schema.Struct({ status: Schema.Literal("ok") }).annotate({ identifier: "Liveness" })

/** Beside it, what the service can do without. */
const Readiness = Schema.Struct({ ...Status.fields, routingEngine: EngineState }).annotate({ identifier: "Readiness" })

export class HealthApi extends HttpApiGroup.make("health")
  .add(
    HttpApiEndpoint.get("health", "/", { success: Readiness, error: Unavailable }).annotate(
      OpenApi.Summary,
      "Probe the service"
    ).annotate(
      OpenApi.Description,
      "The same as `/health/ready`."
    ),
    HttpApiEndpoint.get("live", "/live", { success: Status }).annotate(OpenApi.Summary, "Probe the process").annotate(
      OpenApi.Description,
      "The process answers."
    ),
    HttpApiEndpoint.get("ready", "/ready", { success: Readiness, error: Unavailable }).annotate(
      OpenApi.Summary,
      "Probe readiness"
    ).annotate(
      OpenApi.Description,
      "The database is reachable. A routing engine that is away is told and makes nothing unready."
    )
  )
  .prefix("/health")
  .annotate(OpenApi.Title, "Health")
  .annotate(OpenApi.Description, "Probes.")
{}
