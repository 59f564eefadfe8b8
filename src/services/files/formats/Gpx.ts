import { Effect } from "effect"
import type { ValidationFailed } from "../../../schema/Errors.ts"
import { MAX_POSITIONS, type Position } from "../../../schema/Geometry.ts"
import { MAX_WAYPOINTS } from "../../../schema/Route.ts"
import type { Draft, DraftWaypoint, Dropped, ReadRoute } from "../Document.ts"
import { finish } from "../Finish.ts"
import { allPositions, coordOf, MAX_WORDS, numberOf, positionOf } from "../Numbers.ts"
import { beyondEdge, OWN_LONGITUDE } from "../xml/EastEdge.ts"
import { parseXml } from "../xml/Xml.ts"
import { attributeOf, childOf, childrenOf, textOf, unknownChildren } from "../xml/XmlQuery.ts"
import type { XmlElement } from "../xml/XmlTree.ts"

/** Extensions of points are counted by what is in them. */
const TRACK_POINT = new Set(["ele", "extensions"])
const PLANNED_POINT = new Set(["name", "type", "time", "extensions"])
const POINT_OF_BOTH = new Set([...TRACK_POINT, ...PLANNED_POINT])
const ROOT = new Set(["metadata", "wpt", "rte", "trk", "name", "desc", "time", "keywords", "bounds"])
const METADATA = new Set(["name", "desc", "time", "keywords", "bounds"])
const TRACK = new Set(["name", "desc", "type", "number", "trkseg"])
const SEGMENT = new Set(["trkpt"])
const ROUTE = new Set(["name", "desc", "type", "number", "rtept"])

/** The elements and attributes that a route is read from. */
const KNOWN = new Set([
  ...POINT_OF_BOTH,
  ...ROOT,
  ...METADATA,
  ...TRACK,
  ...SEGMENT,
  ...ROUTE,
  "gpx",
  "lat",
  "lon",
  OWN_LONGITUDE
])

const UNUSED = "a route has no place for it"

const longitudeOf = (point: XmlElement) => beyondEdge(numberOf(attributeOf(point, "lon")), point, "extensions")

const pointOf = (point: XmlElement): Position | undefined =>
  positionOf(longitudeOf(point), numberOf(attributeOf(point, "lat")), numberOf(textOf(point, "ele")))

const waypointsOf = (points: ReadonlyArray<XmlElement>, positions: ReadonlyArray<Position>) =>
  positions.map((position, index): DraftWaypoint => ({
    coord: coordOf(position),
    name: textOf(points[index], "name"),
    type: textOf(points[index], "type"),
    timestamp: textOf(points[index], "time")?.trim()
  }))

/** One that was read is in the position of its point. */
const isElevationUnread = (point: XmlElement, position: Position | undefined) =>
  position?.length !== 3 && (textOf(point, "ele") ?? "").trim() !== ""

/** Ours alone says which side of the 180th meridian a point is on: it was read. */
const isForeign = (point: XmlElement) =>
  childOf(point, "extensions")?.children.some(({ name }) => name !== OWN_LONGITUDE) ?? false

const extensionsOf = (points: ReadonlyArray<XmlElement>): ReadonlyArray<Dropped> => {
  const count = points.filter(isForeign).length
  return count === 0 ? [] : [{ what: "extensions of points", why: UNUSED, count }]
}

const elevationsOf = (
  points: ReadonlyArray<XmlElement>,
  positions: ReadonlyArray<Position>
): ReadonlyArray<Dropped> => {
  const count = points.filter((point, index) => isElevationUnread(point, positions[index])).length
  return count === 0 ? [] : [{ what: "elevations", why: "they are not decimal numbers", count }]
}

const joinedOf = (parts: ReadonlyArray<XmlElement>, what: string): ReadonlyArray<Dropped> =>
  parts.length < 2 ? [] : [{ what, why: "a route has one line: they were joined in order", count: parts.length }]

/** The points of a file by what they are for. A route's own points are the line too where no track says otherwise. */
const partsOf = (gpx: XmlElement) => {
  const tracks = childrenOf(gpx, "trk")
  const segments = childrenOf(tracks, "trkseg")
  const routes = childrenOf(gpx, "rte")
  const routePoints = childrenOf(routes, "rtept")
  const places = childrenOf(gpx, "wpt")
  return {
    tracks,
    segments,
    routes,
    planned: routes.length === 0 ? places : routePoints,
    places: routes.length === 0 ? [] : places,
    line: tracks.length === 0 && routePoints.length > 1 ? routePoints : childrenOf(segments, "trkpt")
  }
}

type Parts = ReturnType<typeof partsOf>

/** Points that are the line anyway need not be waypoints as well where there are too many for that. */
const isLineOnly = ({ line, planned }: Parts) => line === planned && planned.length > MAX_WAYPOINTS

const droppedOf = (
  gpx: XmlElement,
  parts: Parts,
  positions: ReadonlyArray<Position>
): ReadonlyArray<Dropped> => {
  const { line, places, planned, routes, segments, tracks } = parts
  return [
    ...joinedOf(tracks, "bounds of tracks"),
    ...joinedOf(segments, "bounds of track segments"),
    ...joinedOf(routes, "bounds of routes"),
    ...(places.length === 0 ? [] : [{ what: "wpt", why: "they are points of interest", count: places.length }]),
    ...(isLineOnly(parts)
      ? [{
        what: "waypoints",
        why: `a route has at most ${MAX_WAYPOINTS}; the points are its line`,
        count: planned.length
      }]
      : []),
    ...unknownChildren([gpx], ROOT, UNUSED),
    ...unknownChildren(childrenOf(gpx, "metadata"), METADATA, UNUSED),
    ...unknownChildren(tracks, TRACK, UNUSED),
    ...unknownChildren(segments, SEGMENT, UNUSED),
    ...unknownChildren(routes, ROUTE, UNUSED),
    ...unknownChildren(line === planned ? [] : line, TRACK_POINT, UNUSED),
    ...unknownChildren(planned, line === planned ? POINT_OF_BOTH : PLANNED_POINT, UNUSED),
    ...extensionsOf(line === planned ? line : [...line, ...planned]),
    ...elevationsOf(line, positions)
  ]
}

/** GPX 1.0 has the members of `metadata` in the root itself, and some writers name only the track. */
const textsOf = (gpx: XmlElement, { routes, tracks }: Parts, name: string) =>
  [childOf(gpx, "metadata"), gpx, ...tracks, ...routes].map((element) => textOf(element, name))

const draftOf = (
  gpx: XmlElement,
  parts: Parts,
  line: ReadonlyArray<Position>,
  planned: ReadonlyArray<Position>
): Draft => ({
  names: textsOf(gpx, parts, "name"),
  descriptions: textsOf(gpx, parts, "desc"),
  tags: [childOf(gpx, "metadata"), gpx].flatMap((element) => textOf(element, "keywords")?.split(",", MAX_WORDS) ?? []),
  activity: [...parts.tracks, ...parts.routes].map((element) => textOf(element, "type")).find((type) =>
    type !== undefined
  ),
  waypoints: isLineOnly(parts) ? [] : waypointsOf(parts.planned, planned),
  geometry: line,
  dropped: droppedOf(gpx, parts, line)
})

/** Reads GPX 1.1, and 1.0, which differs in where it keeps name and description. */
export const readGpx = Effect.fnUntraced(function*(text: string): Effect.fn.Return<ReadRoute, ValidationFailed> {
  const gpx = yield* parseXml(text, "gpx", KNOWN)
  const parts = partsOf(gpx)
  const line = yield* allPositions(parts.line, pointOf, {
    what: "positions",
    path: parts.line === parts.planned ? "rtept" : "trkpt",
    max: MAX_POSITIONS
  })
  const planned = isLineOnly(parts) ? [] : yield* allPositions(parts.planned, pointOf, {
    what: "waypoints",
    path: parts.routes.length === 0 ? "wpt" : "rtept",
    max: MAX_WAYPOINTS
  })
  return yield* finish(draftOf(gpx, parts, line, planned))
})
