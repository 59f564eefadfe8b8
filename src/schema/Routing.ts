import { Option, Result, Schema, SchemaGetter, type SchemaIssue, SchemaParser } from "effect"
import { isLatitude, isLongitude, LATITUDE, Latitude, LONGITUDE, Longitude, Polyline6 } from "./Geometry.ts"
import { MAX_ISSUES } from "./Issues.ts"
import { Language, Maneuvers } from "./Maneuver.ts"
import { Kilometres, MAX_DISTANCE, Metres, Seconds, Timestamp, upTo } from "./Measures.ts"
import { named } from "./Named.ts"
import { defaultedMember, oneOfMembers, optionalMember } from "./Optional.ts"
import { flag, knownQuery } from "./Page.ts"
import { Activity, OpenValue, RequestedPreferences, ROUTING_PREFERENCES } from "./Preferences.ts"

export const MAX_TRACE = 50_000
export const MIN_TRACE = 2

export const TracePoint = Schema.Struct({
  lat: Latitude,
  lon: Longitude,
  time: optionalMember(Seconds)
}).annotate(named("TracePoint", "A point of a recorded trace.", { lat: 47.1415, lon: 9.5209, time: 12 }))
export type TracePoint = typeof TracePoint.Type
type GivenPoint = typeof TracePoint.Encoded

/** Documents the points and reports their issues. The fast check below decides what is valid. */
const Declared = Schema.NullOr(
  Schema.Array(TracePoint).check(Schema.isMinLength(MIN_TRACE), Schema.isMaxLength(MAX_TRACE))
    .annotate({ description: "The points, in order" })
)

const decodePoint = SchemaParser.decodeUnknownResult(TracePoint, { errors: "all" })
const decodeDeclared = SchemaParser.decodeUnknownResult(Declared)

const isTime = (value: unknown) => value === null || Number.isFinite(value)

const isGivenPoint = (value: unknown): value is GivenPoint =>
  typeof value === "object" && value !== null
  && "lat" in value && isLatitude(value.lat)
  && "lon" in value && isLongitude(value.lon)
  && (!("time" in value) || isTime(value.time))

const issueOf = (result: Result.Result<unknown, SchemaIssue.Issue>) => Option.getOrUndefined(Result.getFailure(result))

const invalidPoints = (points: ReadonlyArray<unknown>) => {
  const broken: Array<Schema.FilterIssue> = []
  for (const [index, point] of points.entries()) {
    if (broken.length === MAX_ISSUES) break
    const issue = isGivenPoint(point) ? undefined : issueOf(decodePoint(point))
    if (issue !== undefined) broken.push({ path: [index], issue })
  }
  return broken
}

const pointsFilter = Schema.makeFilter(
  (value: unknown) => {
    if (Array.isArray(value)) {
      if (value.length > MAX_TRACE) return `Expected at most ${MAX_TRACE} items`
      if (!value.every(isGivenPoint)) return invalidPoints(value)
      if (value.length >= MIN_TRACE) return undefined
    }
    return issueOf(decodeDeclared(value))
  },
  { toJsonSchema: () => Schema.toJsonSchemaDocument(Declared).schema }
).abort()

const GivenPoints = Schema.Any.check(pointsFilter).pipe(
  Schema.refine((value): value is ReadonlyArray<GivenPoint> | null => value === null || Array.isArray(value))
)

const Points = Schema.Any.pipe(Schema.refine((value): value is ReadonlyArray<TracePoint> => Array.isArray(value)))

const toPoint = ({ lat, lon, time }: GivenPoint): TracePoint =>
  time === undefined || time === null ? { lat, lon } : { lat, lon, time }

const toPoints = (given: Option.Option<ReadonlyArray<GivenPoint> | null>): Option.Option<ReadonlyArray<TracePoint>> =>
  Option.map(Option.filter(given, (points) => points !== null), (points) => points.map(toPoint))

/** Reports some invalid points in one pass: the generic decoder takes 40 times as long and blocks other requests. */
export const TracePoints = Schema.optionalKey(GivenPoints).pipe(
  Schema.decodeTo(Schema.optionalKey(Points), {
    decode: SchemaGetter.transformOptional(toPoints),
    encode: SchemaGetter.passthroughSubtype()
  })
)

const STATUS = { description: "Whether it works" }

export const ENGINE = { status: "ok", version: "3.5.1", tiles: "2025-05-30T00:00:00.000Z" } as const

/** No routes are requested while the circuit is open. */
export const EngineState = Schema.Union([
  Schema.Struct({
    status: Schema.Literal("ok").annotate(STATUS),
    version: Schema.String.annotate({ description: "The version of the engine" }),
    tiles: Timestamp.annotate({ description: "The date of the engine's map" })
  }).annotate(named("EngineReady", "The routing engine, its version and the date of its map.", ENGINE)),
  Schema.Struct({ status: Schema.Literals(["away", "circuit-open"]).annotate(STATUS) }).annotate(
    named("EngineAway", "The routing engine is unavailable, or gets no requests for a while after failures.", {
      status: "away"
    })
  )
]).annotate(named("EngineState", "The state of the routing engine.", ENGINE))
export type EngineState = typeof EngineState.Type

const Location = Schema.Struct({ lat: Latitude, lon: Longitude }).annotate(
  named("RoutingLocation", "Where a route is to go through.", { lat: 47.1415, lon: 9.5209 })
)

const THROUGH = "Where the route goes through, in order"

const LOCATIONS = [{ lat: 47.1415, lon: 9.5209 }, { lat: 47.1501, lon: 9.53 }]

/** The engine matches these points, and not the two locations alone. `SHAPE` is their polyline. */
const TRACE = LOCATIONS.toSpliced(1, 0, { lat: 47.144, lon: 9.5254 })

const SHAPE = "wfh|xAgobdQg{CgxGg|Jo~G"

const DIRECTIONS = "`true` for `maneuvers`"

const SURFACES = "`true` for `surfaces`, which the engine is asked for by another call"

const SURFACE = { description: "The surface, in the engine's words" }

const SURFACE_SHARE = { surface: "gravel", length: 1.2, share: 1 }

const SurfaceShare = Schema.Struct({
  surface: OpenValue.annotate(SURFACE),
  length: Kilometres.check(upTo(MAX_DISTANCE / 1000)),
  share: Schema.Finite.check(upTo(1)).annotate({ description: "The part of the length: 0 to 1" })
}).annotate(named("SurfaceShare", "How much of a line has a surface.", SURFACE_SHARE))

export const SurfaceShares = Schema.Array(SurfaceShare)
export type SurfaceShares = typeof SurfaceShares.Type

export const RoutingRequest = Schema.Struct({
  activity: Activity,
  preferences: RequestedPreferences,
  locations: Schema.Array(Location).check(Schema.isMinLength(2), Schema.isMaxLength(25)).annotate({
    description: THROUGH
  }),
  walkingSpeedKmh: optionalMember(
    Schema.Finite.check(Schema.isBetween({ minimum: 0.5, maximum: 25 })).annotate({
      description: "Kilometres per hour"
    })
  ),
  directions: optionalMember(Schema.Boolean.annotate({ description: DIRECTIONS })),
  surfaces: optionalMember(Schema.Boolean.annotate({ description: SURFACES })),
  language: optionalMember(Language)
}).annotate(named("RoutingRequest", "A route to be computed, through locations in their order.", {
  activity: "cycle",
  preferences: ROUTING_PREFERENCES,
  locations: LOCATIONS
}))
export type RoutingRequest = typeof RoutingRequest.Type

const Warning = Schema.Struct({
  code: Schema.Literals(["ferry_used", "highway_used", "unpaved_used", "preference_unknown"]).annotate({
    description: "A stable word for a program"
  }),
  message: Schema.String.annotate({ description: "For people" })
}).annotate(named("RoutingWarning", "What a route takes, or could not be done.", {
  code: "ferry_used",
  message: "The route takes a ferry"
}))
export type Warning = typeof Warning.Type

const Leg = Schema.Struct({
  shape: Polyline6,
  summary: Schema.Struct({ length: Kilometres, time: Seconds }).annotate({ description: "Length and time" })
}).annotate(named("RouteLeg", "A part of a computed route, from a location to the next.", {
  shape: SHAPE,
  summary: { length: 1.2, time: 290.5 }
}))

/** Query parameters override the members of the body. */
export const DirectionsQuery = knownQuery({
  directions: flag(DIRECTIONS),
  surfaces: flag(SURFACES),
  language: Schema.optionalKey(Language)
})

const EngineLatitude = Schema.Finite.annotate({ description: LATITUDE })
const EngineLongitude = Schema.Finite.annotate({ description: LONGITUDE })

/** `maneuvers` index the line of all legs, where legs share a position. `locations` are snapped to the ends of legs. */
export const RoutingAnswer = Schema.Struct({
  legs: Schema.Array(Leg).annotate({ description: "From each location to the next, in order" }),
  locations: Schema.Array(
    Schema.Struct({
      lat: EngineLatitude,
      lon: EngineLongitude,
      original_index: Schema.Int.annotate({ description: "Which of the request's locations it is" })
    }).annotate(
      named("SnappedLocation", "A location on the road network.", { lat: 47.1415, lon: 9.5209, original_index: 0 })
    )
  ).annotate({ description: THROUGH }),
  maneuvers: Schema.optionalKey(
    Maneuvers.annotate({ description: "What to do along the line, where `directions` asks for it" })
  ),
  surfaces: Schema.optionalKey(
    SurfaceShares.annotate({
      description: "How much of the line has each surface, where `surfaces` asks for it and the engine responds in time"
    })
  ),
  warnings: Schema.Array(Warning).annotate({ description: "What the route takes, or could not be done" })
}).annotate(named("RoutingAnswer", "A computed route.", {
  legs: [{ shape: SHAPE, summary: { length: 1.2, time: 290.5 } }],
  locations: LOCATIONS.map(({ lat, lon }, original_index) => ({ lat, lon, original_index })),
  warnings: []
}))
export type RoutingAnswer = typeof RoutingAnswer.Type

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
).annotate(
  named(
    "TraceRequest",
    "A recorded trace: its points, or the same as a polyline.",
    { activity: "cycle", shape: TRACE },
    { activity: "cycle", encodedPolyline: SHAPE }
  )
)
export type TraceRequest = typeof TraceRequest.Type

/** Counts the values of a trace: the document of `TraceRequest` only names the schema of its points. */
export const TraceRoom = Schema.Struct({ ...TraceRequest.fields, shape: Declared })

export const TraceEdge = Schema.Struct({
  surface: Schema.optionalKey(Schema.String.annotate(SURFACE)),
  length: Kilometres,
  names: Schema.optionalKey(Schema.Array(Schema.String).annotate({ description: "The names of the road" })),
  road_class: Schema.optionalKey(
    Schema.String.annotate({ description: "The class of the road, in the engine's words" })
  ),
  use: Schema.optionalKey(Schema.String.annotate({ description: "The use of the road, in the engine's words" })),
  unpaved: Schema.optionalKey(Schema.Boolean.annotate({ description: "Whether the road is unpaved" })),
  way_id: Schema.optionalKey(Schema.Finite.annotate({ description: "The id of the road in OpenStreetMap" })),
  speed: Schema.optionalKey(Schema.Finite.annotate({ description: "Kilometres per hour" })),
  begin_shape_index: Schema.Int.annotate({ description: "Where it begins in `shape`" }),
  end_shape_index: Schema.Int.annotate({ description: "Where it ends in `shape`" })
}).annotate(named("TraceEdge", "A road that a trace follows.", {
  surface: "gravel",
  length: 1.2,
  road_class: "unclassified",
  begin_shape_index: 0,
  end_shape_index: 2
}))
export type TraceEdge = typeof TraceEdge.Type

export const MatchedPoint = Schema.Struct({
  lat: EngineLatitude,
  lon: EngineLongitude,
  type: Schema.String.annotate({ description: "`matched`, `interpolated` or `unmatched`" }),
  edge_index: Schema.optionalKey(Schema.Finite.annotate({ description: "Which of `edges` it lies on" })),
  distance_from_trace_point: Schema.optionalKey(Metres)
}).annotate(named("MatchedPoint", "Where a point of a trace was matched.", {
  lat: 47.1415,
  lon: 9.5209,
  type: "matched",
  edge_index: 0
}))
export type MatchedPoint = typeof MatchedPoint.Type

export const TraceAnswer = Schema.Struct({
  coverage: Schema.Finite.annotate({ description: "The part of the trace that was matched, by length: 0 to 1" }),
  shape: Polyline6,
  edges: Schema.Array(TraceEdge).annotate({ description: "The roads, in order" }),
  matched_points: Schema.Array(MatchedPoint).annotate({ description: "Where each point of the trace was matched" }),
  surfaces: SurfaceShares.annotate({ description: "How much of the matched trace has each surface" })
}).annotate(named("TraceAnswer", "A trace on the road network.", {
  coverage: 1,
  shape: SHAPE,
  edges: [{ surface: "gravel", length: 1.2, road_class: "unclassified", begin_shape_index: 0, end_shape_index: 2 }],
  matched_points: TRACE.map(({ lat, lon }) => ({ lat, lon, type: "matched", edge_index: 0 })),
  surfaces: [SURFACE_SHARE]
}))
export type TraceAnswer = typeof TraceAnswer.Type
