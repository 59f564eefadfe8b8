import { Duration, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Unavailable } from "../../schema/Errors.ts"
import { EngineState } from "../../schema/Routing.ts"
import { ResponseWithin } from "./Requests.ts"
import { texts } from "./texts/HealthTexts.ts"

const Status = Schema.Struct({ status: Schema.Literal("ok") }).annotate({ identifier: "Liveness" })

const Readiness = Schema.Struct({ ...Status.fields, routingEngine: EngineState }).annotate({ identifier: "Readiness" })

export class HealthApi extends HttpApiGroup.make("health")
  .add(
    HttpApiEndpoint.get("health", "/", { success: Readiness, error: Unavailable }).annotateMerge(texts.health),
    // It waits for nothing, and a fiber to interrupt is a tenth of its work.
    HttpApiEndpoint.get("live", "/live", { success: Status }).annotate(ResponseWithin, Duration.infinity)
      .annotateMerge(texts.live),
    HttpApiEndpoint.get("ready", "/ready", { success: Readiness, error: Unavailable }).annotateMerge(texts.ready)
  )
  .prefix("/health")
  .annotateMerge(texts.group)
{}
