import type { Position } from "../../schema/Geometry.ts"
import type { Place } from "../../schema/Place.ts"
import type { NewRoute, RoutePatch, Waypoint } from "../../schema/Route.ts"
import { boxAround, type RouteLine, routeLine } from "../geometry/RouteLine.ts"
import { PLACES_VERSION } from "../places/PlaceVersion.ts"

/** The geometry of a route that is written: what its client sent, or what was measured of it before. */
type Geometry = ReadonlyArray<Position> | RouteLine | null | undefined

/** A new route whose line may be measured already. */
export type RouteDraft = Omit<NewRoute, "geometry" | "polyline6"> & { readonly geometry?: Geometry }

/** A change of a route whose line may be measured already. */
export type RouteChange = Omit<RoutePatch, "geometry" | "polyline6"> & { readonly geometry?: Geometry }

export type Line = RouteLine | null | undefined

const isMeasured = (geometry: Geometry): geometry is RouteLine =>
  geometry !== null && geometry !== undefined && "json" in geometry

/** The line of a geometry, measured once. */
export const lineOf = (geometry: Geometry): Line => isMeasured(geometry) ? geometry : geometry && routeLine(geometry)

/** Where a route begins: with its line, else with what was chosen. */
export const startOf = (line: Line, waypoints: ReadonlyArray<Pick<Waypoint, "coord">>): Position =>
  line?.start ?? waypoints[0]?.coord ?? [0, 0]

const waypointText = (waypoints: ReadonlyArray<Waypoint>) =>
  JSON.stringify(waypoints.map(({ coord, name, timestamp, type }) => ({
    coord,
    ...(type === null ? {} : { type }),
    ...(name === null ? {} : { name }),
    ...(timestamp === null ? {} : { timestamp })
  })))

const text = (value: string | null | undefined) => value === "" ? null : value

/** The box around a route's line, or around its waypoints where it has none; as PostgreSQL reads it. */
export const boxOf = (line: Line, waypoints: ReadonlyArray<Pick<Waypoint, "coord">>): string | null =>
  line?.box ?? boxAround(waypoints.map(({ coord }) => coord))

/** The line of a route in every form that is ever answered, so that no read makes one of another. */
const lineColumns = (line: Line) => {
  if (line === undefined) return {}
  if (line === null) return { geometry: null, simplified: null, polyline6: null, position_count: 0 }
  const { json, polyline6, positionCount, simplified } = line
  return { geometry: json, simplified, polyline6, position_count: positionCount }
}

/** The columns for what a body names. An absent member has none; `null` and "" for a text clear their column. */
const columnsOf = (body: RouteChange | RouteDraft): Record<string, unknown> => {
  const columns = {
    name: body.name,
    description: text(body.description),
    activity: body.activity,
    visibility: body.visibility,
    tags: body.tags === null ? [] : body.tags,
    favourite: body.favourite === null ? false : body.favourite,
    waypoints: body.waypoints && waypointText(body.waypoints),
    ...lineColumns(lineOf(body.geometry)),
    distance: body.distance,
    duration: body.duration,
    elevation_gain: body.elevationGain,
    start_address: text(body.startAddress),
    end_address: text(body.endAddress),
    routing_preferences: body.routingPreferences && JSON.stringify(body.routingPreferences),
    provenance: body.provenance
  }
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined))
}

/**
 * The columns that a change sets. A new geometry without a distance is measured, as a new route's is: the distance of
 * the old one says nothing about it. Without a geometry there is no distance.
 */
export const changedColumns = (change: RouteChange): Record<string, unknown> => ({
  ...(change.geometry === undefined ? {} : { distance: lineOf(change.geometry)?.metres ?? null }),
  ...columnsOf(change)
})

/** The columns for where a route starts, and by which version of the rule. */
export const placeColumns = ({ placeCity, placeCountryCode, placeRegion }: Place) => ({
  place_city: placeCity ?? null,
  place_region: placeRegion ?? null,
  place_country_code: placeCountryCode ?? null,
  place_version: PLACES_VERSION
})

/** The columns of a new route, all but its place, whose it is, its share token and its instants. */
export const columnsWithoutPlace = (route: Omit<RouteDraft, "geometry">, line: Line): Record<string, unknown> => ({
  ...columnsOf({ ...route, geometry: line }),
  bounds: boxOf(line, route.waypoints),
  visibility: route.visibility ?? "private",
  provenance: route.provenance ?? "routing-engine",
  tags: route.tags ?? [],
  favourite: route.favourite ?? false,
  distance: route.distance ?? line?.metres ?? null,
  elevation_gain: route.elevationGain ?? line?.elevationGain ?? null
})

/** The columns of a new route, all but whose it is, its share token and its instants. */
export const newRouteColumns = (
  route: Omit<RouteDraft, "geometry">,
  line: Line,
  place: Place
): Record<string, unknown> => ({ ...columnsWithoutPlace(route, line), ...placeColumns(place) })

/** How many bytes a new route adds to what its account stores: as `route_bytes` of the migrations counts them. */
export const storedBytes = (
  { description, waypoints }: Pick<RouteDraft, "description" | "waypoints">,
  line: Line
): number => {
  const texts = Buffer.byteLength(waypointText(waypoints)) + Buffer.byteLength(description ?? "")
  return line === undefined || line === null
    ? texts
    : texts + line.json.length + line.simplified.length + line.polyline6.length
}
