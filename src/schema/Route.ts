import { Schema } from "effect"
import { Activity } from "./Activity.ts"
import { Coordinate, Polyline6, Polyline6Input, Positions } from "./Geometry.ts"
import { RouteId, ShareToken } from "./Ids.ts"
import { Maneuvers } from "./Maneuver.ts"
import { MAX_DISTANCE, MAX_DURATION, Metres, Seconds, upTo } from "./Measures.ts"
import { PageUrl } from "./PageUrl.ts"
import { Place } from "./Place.ts"
import { OpenValue, RequestedPreferences, RoutingPreferences } from "./Preferences.ts"
import { AllowDownload } from "./ShareLink.ts"
import { Tags } from "./Tags.ts"
import { trimmedText } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"
import { TRASHED, type Trashed } from "./Trash.ts"
import { UserSummary } from "./User.ts"
import { Visibility } from "./Visibility.ts"

export const Provenance = Schema.Literals(["routing-engine", "legacy-provider", "gpx-import", "generation"])
export type Provenance = typeof Provenance.Type

const nullable = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const Distance = Metres.check(upTo(MAX_DISTANCE))

const Duration = Seconds.check(upTo(MAX_DURATION))

/** Larger measured gains are cut to it. */
export const MAX_ELEVATION_GAIN = 1_000_000

const Elevation = Metres.check(upTo(MAX_ELEVATION_GAIN))

export const MAX_NAME = 255

/** Chosen by the rider. Known types: `routed`, `direct`. */
export const Waypoint = Schema.Struct({
  coord: Coordinate,
  type: nullable(OpenValue),
  name: nullable(trimmedText(0, MAX_NAME)),
  timestamp: nullable(OpenValue)
}).annotate({ identifier: "Waypoint" })
export type Waypoint = typeof Waypoint.Type

const Name = trimmedText(1, MAX_NAME)
export const MAX_DESCRIPTION = 10_000
const Description = trimmedText(0, MAX_DESCRIPTION)
const Address = trimmedText(0, 255)
export const MAX_WAYPOINTS = 1000

const Waypoints = Schema.Array(Waypoint).check(Schema.isMinLength(1), Schema.isMaxLength(MAX_WAYPOINTS))

const clearable = {
  description: nullable(Description),
  activity: nullable(Activity),
  geometry: nullable(Positions),
  polyline6: nullable(Polyline6Input),
  distance: nullable(Distance),
  duration: nullable(Duration),
  elevationGain: nullable(Elevation),
  startAddress: nullable(Address),
  endAddress: nullable(Address),
  routingPreferences: nullable(RequestedPreferences),
  cues: nullable(
    Maneuvers.annotate({
      description:
        "Turns along the geometry, in the shape of a computed route's `maneuvers`; a new geometry without new cues "
        + "removes them"
    })
  ),
  tags: nullable(Tags),
  favourite: nullable(Schema.Boolean)
}

export const ONE_GEOMETRY = "Expected either geometry or polyline6"

export const oneGeometry = Schema.makeFilter(
  ({ geometry, polyline6 }: { readonly geometry?: unknown; readonly polyline6?: unknown }) =>
    typeof polyline6 !== "string" || geometry === undefined || geometry === null
    || { path: ["polyline6"], issue: ONE_GEOMETRY },
  {
    toJsonSchema: () => ({
      not: {
        required: ["geometry", "polyline6"],
        properties: { geometry: { not: { type: "null" } }, polyline6: { not: { type: "null" } } }
      }
    })
  }
)

export const NewRoute = Schema.Struct({
  name: Name,
  waypoints: Waypoints,
  visibility: nullable(Visibility),
  provenance: nullable(Provenance),
  ...clearable
}).check(oneGeometry).annotate({ identifier: "RouteInput" })
export type NewRoute = typeof NewRoute.Type

export const RoutePatch = Schema.Struct({
  name: Schema.optionalKey(Name),
  waypoints: Schema.optionalKey(Waypoints),
  visibility: Schema.optionalKey(Visibility),
  provenance: Schema.optionalKey(Provenance),
  ...clearable
}).check(oneGeometry).annotate({ identifier: "RoutePatch" })
export type RoutePatch = typeof RoutePatch.Type

export const Route = Schema.Struct({
  id: RouteId,
  name: Schema.String,
  description: Schema.optionalKey(Schema.String),
  activity: Schema.optionalKey(Activity),
  visibility: Visibility,
  tags: Schema.Array(Schema.String),
  favourite: Schema.Boolean.annotate({ description: "The owner's mark: `false` for other users" }),
  waypoints: Schema.Array(Waypoint),
  geometry: Schema.optionalKey(Positions),
  polyline6: Schema.optionalKey(Polyline6),
  cues: Schema.optionalKey(
    Maneuvers.annotate({ description: "Turns along the whole line: there with `geometry` `full` and `polyline6` only" })
  ),
  distance: Schema.optionalKey(Metres),
  duration: Schema.optionalKey(Seconds),
  elevationGain: Schema.optionalKey(Metres),
  startAddress: Schema.optionalKey(Schema.String),
  endAddress: Schema.optionalKey(Schema.String),
  ...Place.fields,
  routingPreferences: Schema.NullOr(RoutingPreferences),
  provenance: Provenance,
  shareToken: ShareToken.annotate({
    description:
      "By which anyone opens it while it is public or unlisted: 32 hex digits. For others than the owner who "
      + "opened the route by a link, the token of that link"
  }),
  allowDownload: AllowDownload,
  user: UserSummary,
  createdAt: Timestamp,
  updatedAt: Timestamp,
  url: PageUrl
}).annotate({ identifier: "Route" })
export type Route = typeof Route.Type

export const CollectionRoute = Schema.Struct({
  ...Route.fields,
  shareToken: Schema.optionalKey(
    ShareToken.annotate({ description: "Absent on an unlisted route that others see by a link to the collection" })
  )
}).annotate({ identifier: "CollectionRoute" })

export const DeletedRoute = Schema.Struct({ ...Route.fields, ...TRASHED }).annotate({ identifier: "DeletedRoute" })

type JsonText = string

/** A route whose long members are still text, so that no read parses them. */
export interface StoredRoute extends Omit<Route, "waypoints" | "geometry" | "polyline6" | "cues" | "url"> {
  readonly waypoints: JsonText
  /** In UTF-8 where it was read. */
  readonly geometry: JsonText | Uint8Array | undefined
  readonly polyline6: JsonText | undefined
  readonly cues: JsonText | undefined
  readonly version: number
  /** The revision of the owner's privacy zones, where they cut a part off. */
  readonly cutRevision?: number
}

export type DeletedStoredRoute = StoredRoute & Trashed

export type StoredCollectionRoute =
  & Omit<StoredRoute, "shareToken">
  & Partial<Pick<StoredRoute, "shareToken">>
