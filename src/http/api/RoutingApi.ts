import { Duration } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { ElevationAnswer, ElevationRequest } from "../../schema/Elevation.ts"
import { BadGateway, GatewayTimeout, NotFound } from "../../schema/Errors.ts"
import { grouped, MAX_SNAP_METRES, MAX_TRACE_METRES } from "../../schema/Limits.ts"
import {
  DirectionsQuery,
  MAX_TRACE,
  MIN_TRACE,
  RoutingAnswer,
  RoutingRequest,
  TraceAnswer,
  TraceRequest
} from "../../schema/Routing.ts"
import { AddressLimit, StaleCookie, Tier } from "./Access.ts"
import { described, titled } from "./Described.ts"
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

/** Interrupted calls are no failures of the engine, so the time exceeds the maximum of `ROUTING_ENGINE_TIMEOUT`. */
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
      .annotateMerge(described(
        "Compute a route",
        "Computes a route through locations in their order. `summary.length` is in kilometres, `summary.time` in seconds, "
          + "`shape` a polyline with six decimals. `locations` are snapped to the network, "
          + `to a road at most ${grouped(MAX_SNAP_METRES)} m away. `
          + "Known surface preferences: `paved`, `any`, `unpaved`; the engine has no surfaces for walking and running, where "
          + "`paved` shuns tracks and `unpaved` seeks them. With `avoidHighways` cyclists go around busy roads, though not "
          + "many times as far; pedestrians take a footpath beside them, since the engine knows no busy roads on foot. "
          + "`warnings` says what the route takes all the same: `ferry_used`, `highway_used` (a motorway or trunk road), "
          + "`unpaved_used`. A surface preference that is not known is accepted, ignored and named by `preference_unknown`. With `directions` there "
          + "are `maneuvers` in `language`, which may be given in the query or in the body; `begin_shape_index` counts in the "
          + "line of all legs, each without its first position but the first leg, and a stored route takes them as `cues`. With `surfaces` "
          + "there is how much of the line has each surface, which a stored route takes as `surfaces` and its page shows; it is "
          + "absent where the engine does not say within a second, as `highway_used` and `unpaved_used` may then be. Without "
          + "`walkingSpeedKmh` a run is timed at 10 km/h, a walk by the engine. 404 has `details.reason` `no_path` or `no_road_near_location`, the latter with the indexes of "
          + "those locations in `details.locations` where the engine reports them; 400 `too_far`."
      )),
    HttpApiEndpoint.post("elevation", "/elevation", { payload: ElevationRequest, success: ElevationAnswer, error })
      .annotate(BodyLimit, ROUTE_BODY_LIMIT)
      .annotate(LongBodies, "line")
      .annotateMerge(described(
        "Fill elevations",
        "Adds elevations (metres) to the positions of a line that have none; those that are there stay. What the engine has no "
          + "elevation for stays as it is and is counted by `missing`: an engine without elevation data fills none."
      )),
    HttpApiEndpoint.post("traceAttributes", "/trace-attributes", { payload: TraceRequest, success: TraceAnswer, error })
      .annotate(BodyLimit, TRACE_BODY_LIMIT)
      .annotate(LongBodies, "trace")
      .annotateMerge(described(
        "Match a trace",
        `Aligns a recorded trace of ${MIN_TRACE} to ${grouped(MAX_TRACE)} points and at most `
          + `${grouped(MAX_TRACE_METRES / 1000)} km to the network; \`activity\` is \`cycle\` if absent. `
          + "On foot, paths of any `sac_scale` match, though a route takes none above T1. `length` is in kilometres; "
          + "indexes are into the response's `shape`, a polyline with six decimals, and `matched_points` has one for each "
          + "point of the trace. `coverage` is the part of the trace that was matched. Where a road's surface is not mapped "
          + "the engine guesses it from the kind of road. 404 has `details.reason` `no_path` where no part of the trace "
          + "follows a road; 400 `too_far` or `too_many_points`."
      ))
  )
  .annotateEndpoints(Tier, "moderate")
  .annotateEndpoints(StoresNothing, true)
  .annotateEndpoints(ResponseWithin, WHILE_THE_ENGINE_WORKS)
  .middleware(NoParameters)
  .middleware(JsonBody)
  .middleware(StaleCookie)
  .middleware(AddressLimit)
  .prefix("/routing")
  .annotateMerge(titled("Routing", "Routes and traces by the routing engine."))
{}
