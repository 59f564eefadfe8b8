import { Effect } from "effect"
import type { Position } from "../../../schema/Geometry.ts"
import type { Dropped } from "../../../schema/Import.ts"
import { MAX_WAYPOINTS } from "../../../schema/Route.ts"
import type { InvalidInput } from "../../DomainErrors.ts"
import { maneuverOf, OWN_MANEUVER } from "../draft/CourseTurns.ts"
import { type DraftFile, type DraftTrack, type DraftWaypoint, droppedIf, UNUSED } from "../draft/Document.ts"
import {
  allPositions,
  coordOf,
  MAX_READ_POSITIONS,
  MAX_WORDS,
  nextGroups,
  numberOf,
  positionOf,
  takerOf
} from "../draft/Numbers.ts"
import { durationOf } from "../draft/Times.ts"
import { beyondEdge, OWN_LONGITUDE } from "../xml/EastEdge.ts"
import { parseXml } from "../xml/Xml.ts"
import { attributeOf, childOf, childrenOf, textOf, unknownChildren } from "../xml/XmlQuery.ts"
import { leafOf, NOTHING, type PointReader, type XmlElement } from "../xml/XmlTree.ts"

const TRACK_POINT = new Set(["ele", "extensions"])
const PLANNED_POINT = new Set(["name", "type", "time", "extensions"])
const POINT_OF_BOTH = new Set([...TRACK_POINT, ...PLANNED_POINT])
const ROOT = new Set(["metadata", "wpt", "rte", "trk", "name", "desc", "time", "keywords", "bounds"])
const METADATA = new Set(["name", "desc", "time", "keywords", "bounds"])
const TRACK = new Set(["name", "desc", "type", "number", "trkseg"])
const SEGMENT = new Set(["trkpt"])
const ROUTE = new Set(["name", "desc", "type", "number", "rtept"])

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
  OWN_LONGITUDE,
  OWN_MANEUVER
])

const longitudeOf = (point: XmlElement) => beyondEdge(numberOf(attributeOf(point, "lon")), point, "extensions")

const pointOf = (point: XmlElement): Position | undefined =>
  positionOf(longitudeOf(point), numberOf(attributeOf(point, "lat")), numberOf(textOf(point, "ele")))

const ELEVATION_ALONE = [leafOf("ele")]
const NOTHING_ELSE: ReadonlyArray<XmlElement> = []

/** The elevation of a planned point is kept to report it as dropped. */
const childrenBeside = ({ children, name }: XmlElement, { length }: Position): ReadonlyArray<XmlElement> => {
  const isElevationAlone = length === 3 && children.length === 1
  if (!isElevationAlone) return children
  return name === "trkpt" ? NOTHING_ELSE : ELEVATION_ALONE
}

/** Without what its position was read from: usually nothing else is left. */
const POINTS: PointReader = {
  names: new Set(["trkpt", "rtept", "wpt"]),
  read: (point) => {
    const position = pointOf(point)
    if (position === undefined) return point
    return { name: point.name, attributes: NOTHING, children: childrenBeside(point, position), text: "", position }
  }
}

const positionRead = ({ position }: XmlElement) => position

const waypointsOf = (
  points: ReadonlyArray<XmlElement>,
  positions: ReadonlyArray<Position>,
  untyped?: string
): ReadonlyArray<DraftWaypoint> =>
  positions.map((position, index) => ({
    coord: coordOf(position),
    name: textOf(points[index], "name"),
    type: textOf(points[index], "type") ?? untyped,
    timestamp: textOf(points[index], "time")?.trim()
  }))

/** A position has the elevation that could be read. */
const isElevationUnread = (point: XmlElement) =>
  point.position?.length !== 3 && (textOf(point, "ele") ?? "").trim() !== ""

/** Our own extension was read: it only marks the side of the 180th meridian. */
const isForeign = (point: XmlElement) =>
  childOf(point, "extensions")?.children.some(({ name }) => name !== OWN_LONGITUDE) ?? false

const extensionsOf = (points: ReadonlyArray<XmlElement>): ReadonlyArray<Dropped> =>
  droppedIf(points.filter(isForeign).length, "extensions of points", UNUSED)

const elevationsOf = (points: ReadonlyArray<XmlElement>): ReadonlyArray<Dropped> =>
  droppedIf(points.filter(isElevationUnread).length, "elevations", "they are not decimal numbers")

interface Line {
  readonly owners: ReadonlyArray<XmlElement>
  readonly parts: ReadonlyArray<ReadonlyArray<XmlElement>>
  readonly isPlan: boolean
}

const lineOfTrack = (track: XmlElement): Line => ({
  owners: [track],
  parts: childrenOf(track, "trkseg").map((segment) => childrenOf(segment, "trkpt")),
  isPlan: false
})

const lineOfRoute = (route: XmlElement): Line => ({
  owners: [route],
  parts: [childrenOf(route, "rtept")],
  isPlan: true
})

/** One track and one route are polyline and plan of the same thing; several of either are polylines of their own. */
const linesOf = (
  tracks: ReadonlyArray<XmlElement>,
  routes: ReadonlyArray<XmlElement>,
  points: ReadonlyArray<XmlElement>
): ReadonlyArray<Line> => {
  if (tracks.length > 1 || routes.length > 1) return [...tracks.map(lineOfTrack), ...routes.map(lineOfRoute)]
  const isPlan = tracks.length === 0 && points.length > 1
  const segments = childrenOf(tracks, "trkseg")
  return [{
    owners: [...tracks, ...routes],
    parts: isPlan ? [points] : segments.map((segment) => childrenOf(segment, "trkpt")),
    isPlan
  }]
}

const cueOf = (point: XmlElement) => {
  const mark = textOf(childOf(point, "extensions"), OWN_MANEUVER)
  return mark === undefined ? undefined : maneuverOf(mark, textOf(point, "name"))
}

const PLACE_OF_INTEREST = "poi"

const partsOf = (gpx: XmlElement) => {
  const tracks = childrenOf(gpx, "trk")
  const routes = childrenOf(gpx, "rte")
  const routePoints = childrenOf(routes, "rtept")
  return {
    tracks,
    routes,
    segments: childrenOf(tracks, "trkseg"),
    lines: linesOf(tracks, routes, routePoints),
    trackPoints: childrenOf(childrenOf(tracks, "trkseg"), "trkpt"),
    routePoints,
    places: childrenOf(gpx, "wpt").filter((point) => cueOf(point) === undefined),
    cues: childrenOf(gpx, "wpt").flatMap((point) => cueOf(point) ?? [])
  }
}

type Parts = ReturnType<typeof partsOf>

const isLineOnly = ({ isPlan, parts }: Line) => isPlan && (parts[0]?.length ?? 0) > MAX_WAYPOINTS

const hasMore = ({ children }: XmlElement) => children.length > 0

const droppedOf = (gpx: XmlElement, { lines, routes, segments, tracks, ...points }: Parts): ReadonlyArray<Dropped> => {
  const trackPoints = points.trackPoints.filter(hasMore)
  const routePoints = points.routePoints.filter(hasMore)
  const places = points.places.filter(hasMore)
  const lineOnly = lines.filter(isLineOnly).flatMap(({ parts }) => parts.flat()).length
  const hasPlan = lines.some(({ isPlan }) => isPlan)
  return [
    ...droppedIf(lineOnly, "waypoints", `a route has at most ${MAX_WAYPOINTS}; the points are its line`),
    ...unknownChildren([gpx], ROOT, UNUSED),
    ...unknownChildren(childrenOf(gpx, "metadata"), METADATA, UNUSED),
    ...unknownChildren(tracks, TRACK, UNUSED),
    ...unknownChildren(segments, SEGMENT, UNUSED),
    ...unknownChildren(routes, ROUTE, UNUSED),
    ...unknownChildren(trackPoints, TRACK_POINT, UNUSED),
    ...unknownChildren(routePoints, hasPlan ? POINT_OF_BOTH : PLANNED_POINT, UNUSED),
    ...unknownChildren(places, PLANNED_POINT, UNUSED),
    ...extensionsOf([...trackPoints, ...routePoints, ...places]),
    ...elevationsOf(hasPlan ? [...trackPoints, ...routePoints] : trackPoints)
  ]
}

const textsOf = (elements: ReadonlyArray<XmlElement | undefined>, name: string) =>
  elements.map((element) => textOf(element, name))

const timeOf = (point: XmlElement) => textOf(point, "time")

const trackOf = (
  { owners, parts }: Line,
  positions: ReadonlyArray<Position>,
  waypoints: ReadonlyArray<DraftWaypoint>
): DraftTrack => ({
  names: textsOf(owners, "name"),
  descriptions: textsOf(owners, "desc"),
  tags: [],
  activity: textsOf(owners, "type").find((type) => type !== undefined),
  waypoints,
  segments: nextGroups(takerOf(positions), parts.map(({ length }) => length)),
  seconds: durationOf(parts, timeOf)
})

const lengthOf = ({ parts }: Line) => parts.reduce((sum, { length }) => sum + length, 0)

const tracksOf = (
  { lines, routePoints }: Parts,
  linePositions: ReadonlyArray<Position>,
  planned: ReadonlyArray<Position>
): ReadonlyArray<DraftTrack> => {
  const next = takerOf(linePositions)
  const isAlone = lines.length === 1
  return lines.map((line) => {
    const own = next(lengthOf(line))
    if (isAlone) return trackOf(line, own, isLineOnly(line) ? [] : waypointsOf(routePoints, planned))
    return trackOf(line, own, line.isPlan && !isLineOnly(line) ? waypointsOf(line.parts[0] ?? [], own) : [])
  })
}

/** GPX 1.1, and 1.0, which has the members of `metadata` in the root. */
export const readGpx = Effect.fnUntraced(function*(text: string): Effect.fn.Return<DraftFile, InvalidInput> {
  const gpx = yield* parseXml(text, "gpx", KNOWN, POINTS)
  const parts = partsOf(gpx)
  const { lines, places, routePoints, routes, tracks } = parts
  const line = yield* allPositions(lines.flatMap((line) => line.parts.flat()), positionRead, {
    what: "positions",
    path: tracks.length === 0 ? "rtept" : "trkpt",
    max: MAX_READ_POSITIONS
  })
  const isRead = lines.length > 1 || lines.every(isLineOnly)
  const planned = isRead ? [] : yield* allPositions(routePoints, positionRead, {
    what: "waypoints",
    path: "rtept",
    max: MAX_WAYPOINTS
  })
  const placed = yield* allPositions(places, positionRead, { what: "waypoints", path: "wpt", max: MAX_WAYPOINTS })
  const root = [childOf(gpx, "metadata"), gpx]
  const file: DraftFile = {
    names: textsOf(root, "name"),
    descriptions: textsOf(root, "desc"),
    tags: root.flatMap((element) => textOf(element, "keywords")?.split(",", MAX_WORDS) ?? []),
    activity: undefined,
    waypoints: waypointsOf(places, placed, routes.length === 0 ? undefined : PLACE_OF_INTEREST),
    cues: parts.cues,
    tracks: tracksOf(parts, line, planned),
    dropped: droppedOf(gpx, parts)
  }
  return file
})
