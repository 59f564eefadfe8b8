import { Duration } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { ElevationAnswer, ElevationRequest } from "../../schema/Elevation.ts"
import { BadGateway, GatewayTimeout, NotFound } from "../../schema/Errors.ts"
import { DirectionsQuery, RoutingAnswer, RoutingRequest, TraceAnswer, TraceRequest } from "../../schema/Routing.ts"
import { AddressLimit, Tier } from "./Access.ts"
import { StaleCookie } from "./Authentication.ts"
import { HEADERS, OwnHeaders } from "./Headers.ts"
import {
  BodyLimit,
  JsonBody,
  LongBodies,
  NoParameters,
  ResponseWithin,
  ROUTE_BODY_LIMIT,
  StoresNothing,
  TRACE_BODY_LIMIT
} from "./Requests.ts"
import { texts } from "./texts/RoutingTexts.ts"

/** Above the maximum of `ROUTING_ENGINE_TIMEOUT`: interrupted calls do not count as failures of the engine. */
const WHILE_THE_ENGINE_WORKS = Duration.seconds(30)

const error = [NotFound, BadGateway, GatewayTimeout]

export class RoutingApi extends HttpApiGroup.make("routing")
  .add(
    HttpApiEndpoint.post("route", "/route", {
      query: DirectionsQuery,
      payload: RoutingRequest,
      success: RoutingAnswer,
      error
    })
      .annotate(
        OwnHeaders,
        [HEADERS.cache.name]
      )
      .annotateMerge(texts.route),
    HttpApiEndpoint.post("elevation", "/elevation", { payload: ElevationRequest, success: ElevationAnswer, error })
      .annotate(BodyLimit, ROUTE_BODY_LIMIT)
      .annotate(LongBodies, "line")
      .annotateMerge(texts.elevation),
    HttpApiEndpoint.post("traceAttributes", "/trace-attributes", { payload: TraceRequest, success: TraceAnswer, error })
      .annotate(BodyLimit, TRACE_BODY_LIMIT)
      .annotate(LongBodies, "trace")
      .annotateMerge(texts.traceAttributes)
  )
  .annotateEndpoints(Tier, "moderate")
  .annotateEndpoints(StoresNothing, true)
  .annotateEndpoints(ResponseWithin, WHILE_THE_ENGINE_WORKS)
  .middleware(NoParameters)
  .middleware(JsonBody)
  .middleware(StaleCookie)
  .middleware(AddressLimit)
  .prefix("/routing")
  .annotateMerge(texts.group)
{}
