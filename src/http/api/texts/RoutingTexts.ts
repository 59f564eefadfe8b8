import { grouped, MAX_SNAP_METRES, MAX_TRACE_METRES } from "../../../schema/Limits.ts"
import { MAX_TRACE, MIN_TRACE } from "../../../schema/TracePoints.ts"
import { described, titled } from "./Described.ts"

export const texts = {
  route: described(
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
      + "line of all legs, each without its first position but the first leg, and a stored route takes them as `cues`. Without "
      + "`walkingSpeedKmh` a run is timed at 10 km/h, a walk by the engine. 404 has `details.reason` `no_path` or `no_road_near_location`, the latter with the indexes of "
      + "those locations in `details.locations` where the engine reports them; 400 `too_far`."
  ),
  elevation: described(
    "Fill elevations",
    "Adds elevations (metres) to the positions of a line that have none; those that are there stay. What the engine has no "
      + "elevation for stays as it is and is counted by `missing`: an engine without elevation data fills none."
  ),
  traceAttributes: described(
    "Match a trace",
    `Aligns a recorded trace of ${MIN_TRACE} to ${grouped(MAX_TRACE)} points and at most `
      + `${grouped(MAX_TRACE_METRES / 1000)} km to the network; \`activity\` is \`cycle\` if absent. `
      + "`length` is in kilometres; "
      + "indexes are into the response's `shape`, a polyline with six decimals, and `matched_points` has one for each "
      + "point of the trace. `coverage` is the part of the trace that was matched. Where a road's surface is not mapped "
      + "the engine guesses it from the kind of road. 404 has `details.reason` `no_path` where no part of the trace "
      + "follows a road; 400 `too_far` or `too_many_points`."
  ),
  group: titled("Routing", "Routes and traces by the routing engine.")
}
