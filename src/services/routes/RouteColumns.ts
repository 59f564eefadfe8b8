import type { Position } from "../../schema/Geometry.ts"
import type { Place } from "../../schema/Place.ts"
import { MAX_DISTANCE, type NewRoute, type RoutePatch, type Waypoint } from "../../schema/Route.ts"
import { lengthOf } from "./Geodesy.ts"
import { type Bounds, boundsOf, MAX_SIMPLIFIED, polyline6, simplified } from "./Lines.ts"

/** The length of a geometry in metres, where it has one. */
const measured = (geometry: NewRoute["geometry"]) =>
  geometry === undefined || geometry === null || geometry.length < 2
    ? null
    : Math.min(lengthOf(geometry), MAX_DISTANCE)

/** Where a route begins: with its line, else with what was chosen. */
export const startOf = (
  geometry: ReadonlyArray<Position> | null | undefined,
  waypoints: ReadonlyArray<Pick<Waypoint, "coord">>
): Position => geometry?.[0] ?? waypoints[0]?.coord ?? [0, 0]

const waypointText = (waypoints: ReadonlyArray<Waypoint>) =>
  JSON.stringify(waypoints.map(({ coord, name, timestamp, type }) => ({
    coord,
    ...(type === null ? {} : { type }),
    ...(name === null ? {} : { name }),
    ...(timestamp === null ? {} : { timestamp })
  })))

const text = (value: string | null | undefined) => value === "" ? null : value

const boxText = ({ east, north, south, west }: Bounds) => `(${east},${north}),(${west},${south})`

/** The box around a route's line, or around its waypoints where it has none; as PostgreSQL reads it. */
export const boxAround = (
  geometry: ReadonlyArray<Position> | null | undefined,
  waypoints: ReadonlyArray<Pick<Waypoint, "coord">>
): string | null => {
  const line = geometry === null || geometry === undefined || geometry.length === 0
    ? waypoints.map(({ coord }) => coord)
    : geometry
  const bounds = boundsOf(line)
  return bounds === undefined ? null : boxText(bounds)
}

/** The line of a route in every form that is ever answered, so that no read makes one of another. */
const lineColumns = (geometry: RoutePatch["geometry"]) => {
  if (geometry === undefined) return {}
  if (geometry === null) return { geometry: null, simplified: null, polyline6: null, position_count: 0 }
  return {
    geometry: JSON.stringify(geometry),
    simplified: JSON.stringify(simplified(geometry)),
    polyline6: polyline6(geometry),
    position_count: geometry.length
  }
}

/** The columns for what a body names. An absent member has none; `null` and "" for a text clear their column. */
const columnsOf = (body: RoutePatch | NewRoute): Record<string, unknown> => {
  const columns = {
    name: body.name,
    description: text(body.description),
    activity: body.activity,
    visibility: body.visibility,
    tags: body.tags === null ? [] : body.tags,
    favourite: body.favourite === null ? false : body.favourite,
    waypoints: body.waypoints && waypointText(body.waypoints),
    ...lineColumns(body.geometry),
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
export const changedColumns = (patch: RoutePatch): Record<string, unknown> => ({
  ...(patch.geometry === undefined ? {} : { distance: measured(patch.geometry) }),
  ...columnsOf(patch)
})

/** The columns for where a route starts. */
export const placeColumns = ({ placeCity, placeCountryCode, placeRegion }: Place) => ({
  place_city: placeCity ?? null,
  place_region: placeRegion ?? null,
  place_country_code: placeCountryCode ?? null
})

/** The columns of a new route, all but whose it is, its share token and its instants. */
export const newRouteColumns = (route: NewRoute, place: Place): Record<string, unknown> => ({
  ...columnsOf(route),
  ...placeColumns(place),
  bounds: boxAround(route.geometry, route.waypoints),
  visibility: route.visibility ?? "private",
  provenance: route.provenance ?? "routing-engine",
  tags: route.tags ?? [],
  favourite: route.favourite ?? false,
  distance: route.distance ?? measured(route.geometry)
})

const longestPosition = (geometryText: string) =>
  geometryText.split("],[").reduce((longest, position) => Math.max(longest, position.length), 0) + "],[".length

/**
 * How many bytes a new route adds to what its account stores (`route_bytes` of the migrations), or some more: the
 * simplified line, which is the costliest to make, is taken to have the longest of the positions.
 */
export const storedBytesAtMost = ({ description, geometry, waypoints }: NewRoute): number => {
  const texts = Buffer.byteLength(waypointText(waypoints)) + Buffer.byteLength(description ?? "")
  if (geometry === undefined || geometry === null) return texts
  const geometryText = JSON.stringify(geometry)
  const simplifiedBytes = Math.min(geometryText.length, MAX_SIMPLIFIED * longestPosition(geometryText))
  return texts + geometryText.length + simplifiedBytes + polyline6(geometry).length
}
