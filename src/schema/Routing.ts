import { Schema } from "effect"
import { Activity } from "./Activity.ts"
import { isLatitude, isLongitude, Latitude, Longitude, Polyline6 } from "./Geometry.ts"
import { Language, Maneuvers } from "./Maneuver.ts"
import { Kilometres, Metres, Seconds } from "./Measures.ts"
import { defaultedMember, oneOfMembers, optionalMember } from "./Optional.ts"
import { flag, knownQuery } from "./Page.ts"
import { RequestedPreferences } from "./Preferences.ts"
import { Timestamp } from "./Timestamp.ts"
import { MAX_TRACE, MIN_TRACE, TracePoints } from "./TracePoints.ts"

/** `tiles` is the date of the map; while the circuit is open no routes are requested. */
export const EngineState = Schema.Union([
  Schema.Struct({ status: Schema.Literal("ok"), version: Schema.String, tiles: Timestamp }).annotate({
    identifier: "EngineReady"
  }),
  Schema.Struct({ status: Schema.Literals(["away", "circuit-open"]) }).annotate({ identifier: "EngineAway" })
]).annotate({ identifier: "EngineState" })
export type EngineState = typeof EngineState.Type

const Location = Schema.Struct({ lat: Latitude, lon: Longitude })

const DIRECTIONS = "`true` for `maneuvers`"

export const RoutingRequest = Schema.Struct({
  activity: Activity,
  preferences: RequestedPreferences,
  locations: Schema.Array(Location).check(Schema.isMinLength(2), Schema.isMaxLength(25)),
  walkingSpeedKmh: optionalMember(Schema.Finite.check(Schema.isBetween({ minimum: 0.5, maximum: 25 }))),
  directions: optionalMember(Schema.Boolean.annotate({ description: DIRECTIONS })),
  language: optionalMember(Language)
}).annotate({ identifier: "RoutingRequest" })
export type RoutingRequest = typeof RoutingRequest.Type

const Warning = Schema.Struct({
  code: Schema.Literals(["ferry_used", "highway_used", "unpaved_used", "preference_unknown"]),
  message: Schema.String
})
export type Warning = typeof Warning.Type

const Leg = Schema.Struct({
  shape: Polyline6,
  summary: Schema.Struct({ length: Kilometres, time: Seconds })
})

/** Query parameters override the members of the body. */
export const DirectionsQuery = knownQuery({
  directions: flag(DIRECTIONS),
  language: Schema.optionalKey(Language)
})

/**
 * `locations` are snapped to the ends of the legs. `maneuvers` have indexes into the line of all legs, in which the
 * first position of a leg is the last one of the leg before.
 */
export const RoutingAnswer = Schema.Struct({
  legs: Schema.Array(Leg),
  locations: Schema.Array(Schema.Struct({ lat: Schema.Finite, lon: Schema.Finite, original_index: Schema.Int })),
  maneuvers: Schema.optionalKey(Maneuvers),
  warnings: Schema.Array(Warning)
}).annotate({ identifier: "RoutingAnswer" })
export type RoutingAnswer = typeof RoutingAnswer.Type

export const isOnEarth = ([lat, lon]: readonly [number, number]) => isLatitude(lat) && isLongitude(lon)

export const TraceRequest = Schema.Struct({
  activity: defaultedMember(Activity, "cycle"),
  shape: TracePoints,
  encodedPolyline: optionalMember(
    Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(2_000_000)).annotate({
      description: `${MIN_TRACE} to ${MAX_TRACE} points in place of \`shape\`: an encoded polyline with six decimals`,
      format: "polyline6"
    })
  ),
  preferences: optionalMember(RequestedPreferences)
}).check(
  Schema.makeFilter(
    ({ encodedPolyline, shape }) =>
      (encodedPolyline === undefined) !== (shape === undefined) || "Expected either shape or encodedPolyline",
    {
      toJsonSchema: () => oneOfMembers("shape", "encodedPolyline")
    }
  )
).annotate({ identifier: "TraceRequest" })
export type TraceRequest = typeof TraceRequest.Type

export const TraceEdge = Schema.Struct({
  surface: Schema.optionalKey(Schema.String),
  length: Kilometres,
  names: Schema.optionalKey(Schema.Array(Schema.String)),
  road_class: Schema.optionalKey(Schema.String),
  use: Schema.optionalKey(Schema.String),
  unpaved: Schema.optionalKey(Schema.Boolean),
  way_id: Schema.optionalKey(Schema.Finite),
  speed: Schema.optionalKey(Schema.Finite),
  begin_shape_index: Schema.Int,
  end_shape_index: Schema.Int
})
export type TraceEdge = typeof TraceEdge.Type

export const MatchedPoint = Schema.Struct({
  lat: Schema.Finite,
  lon: Schema.Finite,
  type: Schema.String,
  edge_index: Schema.optionalKey(Schema.Finite),
  distance_from_trace_point: Schema.optionalKey(Metres)
})
export type MatchedPoint = typeof MatchedPoint.Type

/** `coverage` is the matched share of the length of the trace, `share` that of a surface in the matched length. */
export const TraceAnswer = Schema.Struct({
  coverage: Schema.Finite,
  shape: Polyline6,
  edges: Schema.Array(TraceEdge),
  matched_points: Schema.Array(MatchedPoint),
  surfaces: Schema.Array(
    Schema.Struct({ surface: Schema.String, length: Kilometres, share: Schema.Finite })
  )
}).annotate({ identifier: "TraceAnswer" })
export type TraceAnswer = typeof TraceAnswer.Type
