import { Duration, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Unavailable } from "../../schema/Errors.ts"
import { named } from "../../schema/Named.ts"
import { ENGINE, EngineState } from "../../schema/Routing.ts"
import { described, titled } from "./Described.ts"
import { NoParameters, ResponseWithin } from "./Requests.ts"

const Status = Schema.Struct({
  status: Schema.Literal("ok").annotate({ description: "Whether it works" })
}).annotate(named("Liveness", "The process responds.", { status: "ok" }))

const Readiness = Schema.Struct({
  ...Status.fields,
  database: Schema.Literals(["ok", "read-only"]).annotate({
    description: "`read-only`: reads work, and what writes is 503"
  }),
  routingEngine: EngineState
}).annotate(named("Readiness", "The service takes requests.", { status: "ok", database: "ok", routingEngine: ENGINE }))

export class HealthApi extends HttpApiGroup.make("health")
  .add(
    HttpApiEndpoint.get("health", "/", { success: Readiness, error: Unavailable }).annotateMerge(
      described("Probe the service", "The same as `/health/ready`.")
    ),
    // This endpoint waits for nothing, and a fiber to interrupt is a tenth of its work.
    HttpApiEndpoint.get("live", "/live", { success: Status }).annotate(ResponseWithin, Duration.infinity)
      .annotateMerge(described("Probe the process", "The process responds.")),
    HttpApiEndpoint.get("ready", "/ready", { success: Readiness, error: Unavailable }).annotateMerge(described(
      "Probe readiness",
      "The database is reachable. A database that takes no writes, as for seconds without a primary, and an unavailable routing engine are "
        + "reported and do not affect readiness."
    ))
  )
  .middleware(NoParameters)
  .prefix("/health")
  .annotateMerge(titled("Health", "Probes."))
{}
