import { Schema } from "effect"
import { Coordinate, EncodedLine, Polyline6, Positions } from "./Geometry.ts"
import { RouteId, ShareToken } from "./Ids.ts"
import { Metres, Seconds } from "./Measures.ts"
import { Place } from "./Place.ts"
import { Activity, OpenValue, RequestedPreferences, RoutingPreferences, Visibility } from "./Preferences.ts"
import { Tags } from "./Tags.ts"
import { isCodePointLength, trimmedText, WellFormedString } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"
import { UserSummary } from "./User.ts"

/** Where a route's geometry came from. */
export const Provenance = Schema.Literals(["routing-engine", "legacy-provider", "gpx-import", "generation"])
export type Provenance = typeof Provenance.Type

const nullable = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const upTo = (maximum: number) => Schema.isBetween({ minimum: 0, maximum })

/** The metres of the longest route: more than 2,500 times around the Earth. A measured one is cut to it. */
export const MAX_DISTANCE = 100_000_000

const Distance = Metres.check(upTo(MAX_DISTANCE))

/** More than three years. */
export const MAX_DURATION = 100_000_000

const Duration = Seconds.check(upTo(MAX_DURATION))

/** The metres that a route may climb. A measured gain is cut to it. */
export const MAX_ELEVATION_GAIN = 1_000_000

const Elevation = Metres.check(upTo(MAX_ELEVATION_GAIN))

/** A point that the rider chose. Known types: `routed`, `direct`. */
export const Waypoint = Schema.Struct({
  coord: Coordinate,
  type: nullable(OpenValue),
  name: nullable(trimmedText(0, 255)),
  timestamp: nullable(WellFormedString.check(isCodePointLength(1, 64)))
}).annotate({ identifier: "Waypoint" })
export type Waypoint = typeof Waypoint.Type

const Name = trimmedText(1, 255)
const Description = trimmedText(0, 10_000)
const Address = trimmedText(0, 255)
/** The most waypoints that a route may have. */
export const MAX_WAYPOINTS = 1000

const Waypoints = Schema.Array(Waypoint).check(Schema.isMinLength(1), Schema.isMaxLength(MAX_WAYPOINTS))

/** Members that a PATCH with `null` clears, and that a POST may leave out. */
const clearable = {
  description: nullable(Description),
  activity: nullable(Activity),
  geometry: nullable(Positions),
  polyline6: nullable(EncodedLine),
  distance: nullable(Distance),
  duration: nullable(Duration),
  elevationGain: nullable(Elevation),
  startAddress: nullable(Address),
  endAddress: nullable(Address),
  routingPreferences: nullable(RequestedPreferences),
  tags: nullable(Tags),
  favourite: nullable(Schema.Boolean)
}

/** A line comes in one form. */
const oneLine = Schema.makeFilter(
  ({ geometry, polyline6 }: { readonly geometry?: unknown; readonly polyline6?: unknown }) =>
    typeof polyline6 !== "string" || geometry === undefined || geometry === null
    || { path: ["polyline6"], issue: "Expected either geometry or polyline6" },
  {
    toJsonSchema: () => ({
      not: {
        required: ["geometry", "polyline6"],
        properties: { geometry: { not: { type: "null" } }, polyline6: { not: { type: "null" } } }
      }
    })
  }
)

/** What a client may say of a new route. `null` is the same as leaving a member out. */
export const NewRoute = Schema.Struct({
  name: Name,
  waypoints: Waypoints,
  visibility: nullable(Visibility),
  provenance: nullable(Provenance),
  ...clearable
}).check(oneLine).annotate({ identifier: "RouteInput" })
export type NewRoute = typeof NewRoute.Type

/** What a client may change of a route: an absent member stays as it is, `null` clears an optional one. */
export const RoutePatch = Schema.Struct({
  name: Schema.optionalKey(Name),
  waypoints: Schema.optionalKey(Waypoints),
  visibility: Schema.optionalKey(Visibility),
  provenance: Schema.optionalKey(Provenance),
  ...clearable
}).check(oneLine).annotate({ identifier: "RoutePatch" })
export type RoutePatch = typeof RoutePatch.Type

/** A route as it is answered. `distance` and `elevationGain` are in metres, `duration` in seconds. */
export const Route = Schema.Struct({
  id: RouteId,
  name: Schema.String,
  description: Schema.optionalKey(Schema.String),
  activity: Schema.optionalKey(Activity),
  visibility: Visibility,
  tags: Schema.Array(Schema.String),
  favourite: Schema.Boolean.annotate({ description: "The owner's mark: `false` for everybody else" }),
  waypoints: Schema.Array(Waypoint),
  geometry: Schema.optionalKey(Positions),
  polyline6: Schema.optionalKey(Polyline6),
  distance: Schema.optionalKey(Metres),
  duration: Schema.optionalKey(Seconds),
  elevationGain: Schema.optionalKey(Metres),
  startAddress: Schema.optionalKey(Schema.String),
  endAddress: Schema.optionalKey(Schema.String),
  ...Place.fields,
  routingPreferences: Schema.NullOr(RoutingPreferences),
  provenance: Provenance,
  shareToken: ShareToken,
  user: UserSummary,
  createdAt: Timestamp,
  updatedAt: Timestamp
}).annotate({ identifier: "Route" })
export type Route = typeof Route.Type

/** JSON text as it is stored, to be put into an answer as it stands. */
type JsonText = string

/**
 * A route whose long members are still text: what reads hand on, so that no request parses them. It has the form of its
 * line that was asked for, if any.
 */
export interface StoredRoute extends Omit<Route, "waypoints" | "geometry" | "polyline6"> {
  readonly waypoints: JsonText
  readonly geometry: JsonText | undefined
  readonly polyline6: JsonText | undefined
  /** How often it was changed: what an ETag is made of. */
  readonly version: number
}
