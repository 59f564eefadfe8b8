import { Effect, Record, Schema, Struct } from "effect"
import { Model } from "effect/schema"
import type { Position } from "../../schema/Geometry.ts"
import { RouteId, ShareToken, UserId } from "../../schema/Ids.ts"
import { Visibility } from "../../schema/Resource.ts"
import { type NewRoute, type Place, PLAIN, Provenance, type RoutePatch, type Waypoint } from "../../schema/Route.ts"
import { Instant, InstantOnce, readOnly, tableOf, writtenOnce } from "../db/Tables.ts"
import { CueBeyondLine } from "../DomainErrors.ts"
import { boxAround, type MeasuredPolyline, measurePositions } from "../geometry/MeasuredPolyline.ts"
import { PLACES_VERSION } from "../places/Places.ts"
import { cueText, waypointText } from "./RouteText.ts"

const Text = Schema.NullOr(Schema.String)

/** Columns that reads do not select by name. */
const written = <S extends Schema.Top>(column: S) => Model.Field({ insert: column, update: column })

export class RouteRecord extends Model.Class<RouteRecord>("RouteRecord")({
  id: readOnly(RouteId),
  userId: writtenOnce(UserId),
  name: Schema.String,
  ...Struct.map(PLAIN, Schema.NullOr),
  visibility: Visibility,
  tags: Schema.Array(Schema.String),
  favourite: Schema.Boolean,
  waypoints: Schema.String,
  geometry: Text,
  simplified: written(Text),
  polyline6: Text,
  segments: Text,
  simplifiedSegments: written(Text),
  positionCount: written(Schema.Int),
  cues: Text,
  bounds: written(Text),
  distance: Schema.NullOr(Schema.Finite),
  placeCity: Text,
  placeRegion: Text,
  placeCountryCode: Text,
  placeVersion: written(Schema.Int),
  /** The column is JSON, which `toStoredRoute` reads. */
  routingPreferences: Text,
  /** JSON as well. */
  surfaces: Text,
  provenance: Provenance,
  shareToken: writtenOnce(ShareToken),
  importedFrom: Model.Field({ insert: Schema.NullOr(ShareToken) }),
  clientId: Model.Field({ insert: Schema.NullOr(Schema.String) }),
  clientDigest: Model.Field({ insert: Schema.NullOr(Schema.String) }),
  sourceProvider: Text,
  sourceExternalId: Text,
  sourceUrl: Text,
  publishedAt: Model.Field({ insert: Schema.NullOr(Schema.Date) }),
  createdAt: InstantOnce,
  updatedAt: Instant,
  deletedAt: Model.Field({ update: Schema.NullOr(Schema.Date) }),
  version: readOnly(Schema.Int)
}) {}

export const routesTable = tableOf("routes", RouteRecord)

export const ChangedRouteRow = Schema.toType(RouteRecord.update.mapFields(Struct.map(Schema.optional)))
type RouteChanges = typeof ChangedRouteRow.Type

type Geometry = ReadonlyArray<Position> | MeasuredPolyline | null | undefined

export type RouteDraft = Omit<NewRoute, "geometry" | "polyline6" | "segments"> & { readonly geometry?: Geometry }

export type RouteChange = Omit<RoutePatch, "geometry" | "polyline6" | "segments"> & { readonly geometry?: Geometry }

export type Line = MeasuredPolyline | null | undefined

const isMeasured = (geometry: Geometry): geometry is MeasuredPolyline =>
  geometry !== null && geometry !== undefined && "json" in geometry

export const lineOf = (geometry: Geometry): Line =>
  isMeasured(geometry) ? geometry : geometry && measurePositions(geometry)

export const startOf = (line: Line, waypoints: ReadonlyArray<Pick<Waypoint, "coord">>): Position =>
  line?.start ?? waypoints[0]?.coord ?? [0, 0]

export const cueBeyond = (cues: RouteDraft["cues"], positions: number): number | undefined => {
  const index = (cues ?? []).findIndex(({ begin_shape_index }) => begin_shape_index >= positions)
  return index === -1 ? undefined : index
}

export const requireOnLine = (cues: RouteDraft["cues"], positions: number) => {
  const index = cueBeyond(cues, positions)
  return index === undefined ? Effect.void : Effect.fail(new CueBeyondLine({ index, positions }))
}

export const requireOwnLine = ({ cues, geometry }: Pick<RouteChange, "cues" | "geometry">) =>
  requireOnLine(cues, lineOf(geometry)?.positionCount ?? 0)

export const boxOf = (line: Line, waypoints: ReadonlyArray<Pick<Waypoint, "coord">>): string | null =>
  line?.box ?? boxAround(waypoints.map(({ coord }) => coord))

/** Every form that a response may need is stored, so that no read converts. */
const lineValues = (line: MeasuredPolyline | null) => ({
  geometry: line?.json ?? null,
  simplified: line?.simplified ?? null,
  polyline6: line?.polyline6 ?? null,
  segments: line?.segments ?? null,
  simplifiedSegments: line?.simplifiedSegments ?? null,
  positionCount: line?.positionCount ?? 0
})

const NO_VALUES = Record.map(PLAIN, () => null)

const withoutEmpty = <A extends object>(members: A): { readonly [K in keyof A]: A[K] | null } => {
  const result: { [K in keyof A]: A[K] | null } = { ...members }
  for (const key in members) if (members[key] === "") result[key] = null
  return result
}

const plainValues = (route: Pick<RoutePatch, keyof typeof PLAIN>) =>
  withoutEmpty(Struct.pick(route, Struct.keys(PLAIN)))

const sourceValues = (source: RouteChange["source"]) => ({
  sourceProvider: source?.provider ?? null,
  sourceExternalId: source?.externalId ?? null,
  sourceUrl: source?.url ?? null
})

const surfaceText = (surfaces: RouteDraft["surfaces"]) =>
  surfaces === undefined || surfaces === null || surfaces.length === 0 ? null : JSON.stringify(surfaces)

/** An absent member changes no column; `null`, and "" for a text, clear theirs. */
export const changedValues = (change: RouteChange): RouteChanges => {
  const line = lineOf(change.geometry)
  return {
    ...plainValues(change),
    name: change.name,
    visibility: change.visibility,
    tags: change.tags === null ? [] : change.tags,
    favourite: change.favourite === null ? false : change.favourite,
    waypoints: change.waypoints && waypointText(change.waypoints),
    ...(line === undefined ? {} : lineValues(line)),
    ...(change.source === undefined ? {} : sourceValues(change.source)),
    // Cues and surfaces are those of the line that they came with.
    cues: change.cues === undefined && line === undefined ? undefined : cueText(change.cues),
    surfaces: change.surfaces === undefined && line === undefined ? undefined : surfaceText(change.surfaces),
    // A new geometry without a distance is measured: the old distance no longer applies.
    distance: change.distance === undefined && line !== undefined ? line?.metres ?? null : change.distance,
    routingPreferences: change.routingPreferences && JSON.stringify(change.routingPreferences),
    provenance: change.provenance
  }
}

export const placeValues = ({ placeCity, placeCountryCode, placeRegion }: Place) => ({
  placeCity: placeCity ?? null,
  placeRegion: placeRegion ?? null,
  placeCountryCode: placeCountryCode ?? null,
  placeVersion: PLACES_VERSION
})

export const valuesWithoutPlace = (route: Omit<RouteDraft, "geometry">, line: Line) => ({
  ...NO_VALUES,
  ...plainValues(route),
  name: route.name,
  visibility: route.visibility ?? "private" as const,
  tags: route.tags ?? [],
  favourite: route.favourite ?? false,
  waypoints: waypointText(route.waypoints),
  ...lineValues(line ?? null),
  ...sourceValues(route.source),
  cues: cueText(route.cues),
  bounds: boxOf(line, route.waypoints),
  distance: route.distance ?? line?.metres ?? null,
  elevationGain: route.elevationGain ?? line?.elevationGain ?? null,
  routingPreferences: route.routingPreferences ? JSON.stringify(route.routingPreferences) : null,
  surfaces: surfaceText(route.surfaces),
  provenance: route.provenance ?? "routing-engine" as const
})

/** Counts the bytes that a new route adds to its account's usage; must match what `route_bytes` counts. */
export const storedBytes = (
  { cues, description, waypoints }: Pick<RouteDraft, "cues" | "description" | "waypoints">,
  line: Line
): number => {
  const texts = Buffer.byteLength(waypointText(waypoints)) + Buffer.byteLength(description ?? "")
    + Buffer.byteLength(cueText(cues) ?? "")
  return line === undefined || line === null
    ? texts
    : texts + line.json.length + line.simplified.length + line.polyline6.length
}
