import type { Position } from "../../schema/Geometry.ts"
import type { Place } from "../../schema/Place.ts"
import type { NewRoute, RoutePatch, Waypoint } from "../../schema/Route.ts"
import { boxAround, type RouteLine, routeLine } from "../geometry/RouteLine.ts"
import { PLACES_VERSION } from "../places/PlaceVersion.ts"

type Geometry = ReadonlyArray<Position> | RouteLine | null | undefined

export type RouteDraft = Omit<NewRoute, "geometry" | "polyline6"> & { readonly geometry?: Geometry }

export type RouteChange = Omit<RoutePatch, "geometry" | "polyline6"> & { readonly geometry?: Geometry }

export type Line = RouteLine | null | undefined

const isMeasured = (geometry: Geometry): geometry is RouteLine =>
  geometry !== null && geometry !== undefined && "json" in geometry

export const lineOf = (geometry: Geometry): Line => isMeasured(geometry) ? geometry : geometry && routeLine(geometry)

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

export const boxOf = (line: Line, waypoints: ReadonlyArray<Pick<Waypoint, "coord">>): string | null =>
  line?.box ?? boxAround(waypoints.map(({ coord }) => coord))

/** Every form that a response may need is stored, so that no read converts. */
const lineColumns = (line: Line) => {
  if (line === undefined) return {}
  if (line === null) return { geometry: null, simplified: null, polyline6: null, position_count: 0 }
  const { json, polyline6, positionCount, simplified } = line
  return { geometry: json, simplified, polyline6, position_count: positionCount }
}

/** An absent member sets no column; `null`, and "" for a text, clear theirs. */
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

/** A new geometry without a distance is measured: the old distance no longer applies. */
export const changedColumns = (change: RouteChange): Record<string, unknown> => ({
  ...(change.geometry === undefined ? {} : { distance: lineOf(change.geometry)?.metres ?? null }),
  ...columnsOf(change)
})

export const placeColumns = ({ placeCity, placeCountryCode, placeRegion }: Place) => ({
  place_city: placeCity ?? null,
  place_region: placeRegion ?? null,
  place_country_code: placeCountryCode ?? null,
  place_version: PLACES_VERSION
})

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

export const newRouteColumns = (
  route: Omit<RouteDraft, "geometry">,
  line: Line,
  place: Place
): Record<string, unknown> => ({ ...columnsWithoutPlace(route, line), ...placeColumns(place) })

/** Bytes that a new route adds to its account's usage; must match `route_bytes` in the migrations. */
export const storedBytes = (
  { description, waypoints }: Pick<RouteDraft, "description" | "waypoints">,
  line: Line
): number => {
  const texts = Buffer.byteLength(waypointText(waypoints)) + Buffer.byteLength(description ?? "")
  return line === undefined || line === null
    ? texts
    : texts + line.json.length + line.simplified.length + line.polyline6.length
}
