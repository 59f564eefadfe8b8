import { Duration, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Unavailable } from "../../schema/Errors.ts"
import { ENGINE, EngineState } from "../../schema/Routing.ts"
import { described, titled } from "./Described.ts"
import { ResponseWithin } from "./Requests.ts"

const Status = Schema.Struct({
  status: Schema.Literal("ok").annotate({ description: "Whether it works" })
}).annotate({ identifier: "Liveness", description: "The process responds.", examples: [{ status: "ok" }] })

const Readiness = Schema.Struct({ ...Status.fields, routingEngine: EngineState }).annotate({
  identifier: "Readiness",
  description: "The service takes requests.",
  examples: [{ status: "ok", routingEngine: ENGINE }]
})

export class HealthApi extends HttpApiGroup.make("health")
  .add(
    HttpApiEndpoint.get("health", "/", { success: Readiness, error: Unavailable }).annotateMerge(
      described("Probe the service", "The same as `/health/ready`.")
    ),
    // It waits for nothing, and a fiber to interrupt is a tenth of its work.
    HttpApiEndpoint.get("live", "/live", { success: Status }).annotate(ResponseWithin, Duration.infinity)
      .annotateMerge(described("Probe the process", "The process responds.")),
    HttpApiEndpoint.get("ready", "/ready", { success: Readiness, error: Unavailable }).annotateMerge(described(
      "Probe readiness",
      "The database is reachable. An unavailable routing engine is reported and does not affect readiness."
    ))
  )
  .prefix("/health")
  .annotateMerge(titled("Health", "Probes."))
{}
