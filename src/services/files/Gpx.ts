import { Effect } from "effect"
import type { Position } from "../../schema/Geometry.ts"
import type { Dropped } from "../../schema/Import.ts"
import { MAX_WAYPOINTS } from "../../schema/Route.ts"
import { SERVICE_TITLE } from "../../schema/ServiceName.ts"
import type { InvalidInput } from "../DomainErrors.ts"
import { metresBetween } from "../geometry/Geodesy.ts"
import {
  isSymbolLost,
  maneuverOf,
  OWN_INSTRUCTION,
  OWN_MANEUVER,
  SHAPING,
  SHAPING_MEMBERS,
  shapingIn,
  turnTypeOf,
  typeOf,
  withShaping
} from "./CoursePoints.ts"
import {
  type DraftFile,
  type DraftTrack,
  type DraftWaypoint,
  droppedEmpty,
  droppedIf,
  type FileOrigin,
  UNUSED
} from "./Draft.ts"
import {
  beyondEdge,
  coordOf,
  MAX_WORDS,
  measuresIn,
  NOT_RECORDED,
  numberOf,
  OWN_LONGITUDE,
  OWN_MEASURES,
  positionOf,
  recordingOf
} from "./FileValues.ts"
import { droppedElevations, pairsOf, type Placed, placedPoints, placedTracks, segmentsOf } from "./Positions.ts"
import { parseXml, type TextPieces } from "./Xml.ts"
import {
  attributeOf,
  childOf,
  childrenOf,
  leafOf,
  NOTHING,
  type PointReader,
  textOf,
  unknownChildren,
  type XmlElement
} from "./XmlTree.ts"

const TRACK_POINT = new Set(["ele", "extensions"])
const RECORDED_POINT = new Set([...TRACK_POINT, "time"])
const PLANNED_POINT = new Set(["name", "type", "time", "extensions"])
const POINT_OF_BOTH = new Set([...TRACK_POINT, ...PLANNED_POINT])
const ROOT = new Set(["metadata", "wpt", "rte", "trk", "name", "desc", "time", "keywords", "bounds"])
const METADATA = new Set(["name", "desc", "time", "keywords", "bounds"])
const TRACK = new Set(["name", "desc", "type", "number", "extensions", "trkseg"])
const SEGMENT = new Set(["trkpt"])
const ROUTE = new Set(["name", "desc", "type", "number", "rtept"])

/** BaseCamp and MapSource keep the line of a route between its points there. */
const ROUTE_EXTENSION = "gpxx:RoutePointExtension"
const SHAPE_POINT = "gpxx:rpt"

const KNOWN = new Set([
  ...POINT_OF_BOTH,
  ...ROOT,
  ...METADATA,
  ...TRACK,
  ...SEGMENT,
  ...ROUTE,
  "gpx",
  "sym",
  "lat",
  "lon",
  "creator",
  "link",
  "href",
  "url",
  "cmt",
  ROUTE_EXTENSION,
  SHAPE_POINT,
  ...SHAPING_MEMBERS,
  OWN_LONGITUDE,
  OWN_INSTRUCTION,
  OWN_MANEUVER,
  OWN_MEASURES
])

const longitudeOf = (point: XmlElement) => beyondEdge(numberOf(attributeOf(point, "lon")), point, "extensions")

const pointOf = (point: XmlElement): Position | undefined =>
  positionOf(longitudeOf(point), numberOf(attributeOf(point, "lat")), numberOf(textOf(point, "ele")))

const ELEVATION_ALONE = [leafOf("ele")]

const FOREIGN: XmlElement = { ...leafOf("extensions"), children: [leafOf("foreign")] }

/** Our own extension was read: it only marks the side of the 180th meridian. */
const isForeign = (extensions: XmlElement | undefined) =>
  extensions?.children.some(({ name }) => name !== OWN_LONGITUDE && name !== ROUTE_EXTENSION) ?? false

const TIME = leafOf("time")

/** Most points share one of these arrays, since a ride would have 4 MB of them. */
const USUAL: ReadonlyArray<ReadonlyArray<XmlElement>> = [[TIME, FOREIGN], [TIME], [FOREIGN], []]

const sharedOf = (children: ReadonlyArray<XmlElement>): ReadonlyArray<XmlElement> =>
  USUAL.find((usual) => usual.length === children.length && usual.every((one, index) => one === children[index]))
    ?? children

/** The elevation of a planned point is kept to report it as dropped. */
const childrenBeside = ({ children, name }: XmlElement, { length }: Position): ReadonlyArray<XmlElement> => {
  if (name !== "trkpt") return length === 3 && children.length === 1 ? ELEVATION_ALONE : children
  const kept: Array<XmlElement> = []
  for (const child of children) {
    if (child.name === "extensions") kept.push(isForeign(child) ? FOREIGN : child)
    else if (child.name === "time") kept.push(TIME)
    else if (child.name !== "ele" || length !== 3) kept.push(child)
  }
  return sharedOf(kept)
}

const timeOf = (point: XmlElement) => point.time ?? textOf(point, "time")

/** V8 makes a slice of the text of a file, which would keep all of it in memory. */
const copied = (text: string | undefined) => text === undefined ? undefined : ` ${text}`.slice(1)

/** Removes the members that the position was read from, and what is only counted. */
const POINTS: PointReader = {
  names: new Set(["trkpt", "rtept", "wpt", SHAPE_POINT]),
  read: (point) => {
    const position = pointOf(point)
    if (position === undefined) return point
    const children = childrenBeside(point, position)
    return { name: point.name, attributes: NOTHING, children, text: "", position, time: copied(timeOf(point)) }
  }
}

const positionRead = ({ position }: XmlElement) => position

/** A code of a turn, such as `KL`, may be the name of something else. */
const isTurnName = (name: string) => name.length > 3 && turnTypeOf(name) !== undefined

/** Ride with GPS has the text of a turn beside a name such as `Left`, GraphHopper that of a point without a name. */
const textBeside = (point: XmlElement): string | undefined => {
  const [name = "", ...texts] = ["name", "desc", "cmt"].map((member) => textOf(point, member)?.trim())
  return name === "" || isTurnName(name) ? texts.find((text) => text !== undefined && text !== "") : undefined
}

/** Other programs write turns as points, by `sym` or `type`; a file of this service marks its own. */
const waypointsOf = (
  points: ReadonlyArray<readonly [XmlElement, Position]>,
  isOwn: boolean
): ReadonlyArray<DraftWaypoint> =>
  points.map(([point, position]) => {
    const [name, type, sym] = ["name", "type", "sym"].map((member) => textOf(point, member))
    const text = textBeside(point)
    return {
      coord: coordOf(position),
      name: text ?? name,
      type: typeOf(type, sym),
      timestamp: textOf(point, "time")?.trim(),
      turn: isOwn
        ? undefined
        : turnTypeOf(sym) ?? turnTypeOf(type) ?? turnTypeOf(text && (name || text))
    }
  })

const stopOf = ({ coord, name, turn }: DraftWaypoint) => [...coord, turn, name].join(" ")

/** BaseCamp writes each stop of a route as a place too, which may say more. */
const withPlace = (places: ReadonlyMap<string, DraftWaypoint>) => (point: DraftWaypoint): DraftWaypoint => {
  const { timestamp, type } = places.get(stopOf(point)) ?? point
  return { ...point, type: point.type ?? type, timestamp: point.timestamp ?? timestamp }
}

const isForeignToTrack = ({ children }: XmlElement) =>
  children.length === 0 || children.some(({ name }) => name !== SHAPING && name !== OWN_MEASURES)

const extensionsOf = (points: ReadonlyArray<XmlElement>): ReadonlyArray<Dropped> =>
  droppedIf(points.filter((point) => isForeign(childOf(point, "extensions"))).length, "extensions of points", UNUSED)

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

const withShape = (points: ReadonlyArray<XmlElement>): ReadonlyArray<XmlElement> =>
  points.flatMap((point) => [
    point,
    ...childrenOf(childOf(childOf(point, "extensions"), ROUTE_EXTENSION), SHAPE_POINT)
  ])

const lineOfRoute = (route: XmlElement): Line => ({
  owners: [route],
  parts: [withShape(childrenOf(route, "rtept"))],
  isPlan: true
})

const NEAR_METRES = 1000

/** A route that does not begin and end at the track is not the plan of it. A single point is no route. */
const isApart = (route: ReadonlyArray<XmlElement>, track: ReadonlyArray<XmlElement>) => {
  const [first, ...others] = route.map(positionRead).filter((position) => position !== undefined)
  const last = others.at(-1)
  const isNear = ([lng, lat]: Position) =>
    track.some((point) => {
      const position = positionRead(point)
      return position !== undefined && metresBetween(lng, lat, position[0], position[1]) <= NEAR_METRES
    })
  return first !== undefined && last !== undefined && !(isNear(first) && isNear(last))
}

/** One track and one route at it are polyline and plan of the same thing; others are polylines of their own. */
const linesOf = (
  tracks: ReadonlyArray<XmlElement>,
  routes: ReadonlyArray<XmlElement>,
  points: ReadonlyArray<XmlElement>,
  areApart: boolean
): ReadonlyArray<Line> => {
  if (areApart || tracks.length > 1 || routes.length > 1) {
    return [...tracks.map(lineOfTrack), ...routes.map(lineOfRoute)]
  }
  const plan = tracks.length === 0 ? withShape(points) : []
  const isPlan = plan.length > 1
  const segments = childrenOf(tracks, "trkseg")
  return [{
    owners: [...tracks, ...routes],
    parts: isPlan ? [plan] : segments.map((segment) => childrenOf(segment, "trkpt")),
    isPlan
  }]
}

const cueOf = (point: XmlElement) => {
  const extensions = childOf(point, "extensions")
  const mark = textOf(extensions, OWN_MANEUVER)
  return mark === undefined
    ? undefined
    : maneuverOf(mark, textOf(extensions, OWN_INSTRUCTION) ?? textOf(point, "name"))
}

const asPlaceOfInterest = (place: DraftWaypoint): DraftWaypoint => ({ ...place, type: place.type ?? "poi" })

/** Leaves out owners without points, so that nobody chooses one. One stays where nothing else has points. */
const filled = (
  owners: ReadonlyArray<XmlElement>,
  hasPoints: (owner: XmlElement) => boolean,
  hasOthers: boolean
) => {
  const found = owners.filter(hasPoints)
  const kept = found.length === 0 && !hasOthers ? owners.slice(0, 1) : found
  return { kept, empty: owners.filter((owner) => owner !== kept[0] && !hasPoints(owner)) }
}

const hasTrackPoints = (track: XmlElement) => childrenOf(childrenOf(track, "trkseg"), "trkpt").length > 0

const hasRoutePoints = (route: XmlElement) => childrenOf(route, "rtept").length > 0

const partsOf = (gpx: XmlElement) => {
  const { empty: emptyRoutes, kept: routes } = filled(childrenOf(gpx, "rte"), hasRoutePoints, false)
  const isOwn = isOwnFile(gpx)
  // A file of this service has an empty track where the route has waypoints alone.
  const isPlanned = !isOwn && routes.some((route) => withShape(childrenOf(route, "rtept")).length > 1)
  const { empty: emptyTracks, kept: tracks } = filled(childrenOf(gpx, "trk"), hasTrackPoints, isPlanned)
  const routePoints = childrenOf(routes, "rtept")
  const segments = childrenOf(tracks, "trkseg")
  const trackPoints = childrenOf(segments, "trkpt")
  return {
    tracks,
    routes,
    empty: [...emptyTracks, ...emptyRoutes].map((owner) => droppedEmpty("track", [textOf(owner, "name")])),
    segments,
    lines: linesOf(tracks, routes, routePoints, !isOwn && isApart(routePoints, trackPoints)),
    trackPoints,
    routePoints,
    places: childrenOf(gpx, "wpt").filter((point) => cueOf(point) === undefined),
    cues: childrenOf(gpx, "wpt").flatMap((point) => cueOf(point) ?? [])
  }
}

type Parts = ReturnType<typeof partsOf>

const isLineOnly = ({ isPlan, parts }: Line) =>
  isPlan && (parts[0] ?? []).filter(({ name }) => name !== SHAPE_POINT).length > MAX_WAYPOINTS

const hasMore = ({ children }: XmlElement) => children.length > 0

const withoutRead = (point: XmlElement): XmlElement => {
  const read = textBeside(point)
  const isSymbolRead = !isSymbolLost(textOf(point, "type"), textOf(point, "sym"))
  return {
    ...point,
    children: point.children.filter(({ name, text }) => text.trim() !== read && !(isSymbolRead && name === "sym"))
  }
}

const droppedOf = (
  gpx: XmlElement,
  { empty, lines, routes, segments, tracks, ...points }: Parts
): ReadonlyArray<Dropped> => {
  const trackPoints = points.trackPoints.filter(hasMore)
  const routePoints = points.routePoints.map(withoutRead).filter(hasMore)
  const places = points.places.map(withoutRead).filter(hasMore)
  const lineOnly = lines.filter(isLineOnly).flatMap(({ parts }) => parts.flat()).length
  const hasPlan = lines.some(({ isPlan }) => isPlan)
  return [
    ...empty,
    ...droppedIf(lineOnly, "waypoints", `a route has at most ${MAX_WAYPOINTS}; the points are its line`),
    ...unknownChildren([gpx], ROOT, UNUSED),
    ...unknownChildren(childrenOf(gpx, "metadata"), METADATA, UNUSED),
    ...unknownChildren(tracks, TRACK, UNUSED),
    ...droppedIf(childrenOf(tracks, "extensions").filter(isForeignToTrack).length, "extensions of trk", UNUSED),
    ...unknownChildren(segments, SEGMENT, UNUSED),
    ...unknownChildren(routes, ROUTE, UNUSED),
    // The times of our own files are those of the recording, and its duration.
    ...unknownChildren(trackPoints, isOwnFile(gpx) ? RECORDED_POINT : TRACK_POINT, UNUSED),
    ...unknownChildren(routePoints, hasPlan ? POINT_OF_BOTH : PLANNED_POINT, UNUSED),
    ...unknownChildren(places, PLANNED_POINT, UNUSED),
    ...extensionsOf([...trackPoints, ...routePoints, ...places])
  ]
}

const isOwnFile = (gpx: XmlElement) => attributeOf(gpx, "creator") === SERVICE_TITLE

const textsOf = (elements: ReadonlyArray<XmlElement | undefined>, name: string) =>
  elements.map((element) => textOf(element, name))

const trackOf = (
  { isPlan, owners, parts }: Line,
  placed: ReadonlyArray<Placed<XmlElement>>,
  waypoints: ReadonlyArray<DraftWaypoint>
): DraftTrack => ({
  names: textsOf(owners, "name"),
  descriptions: textsOf(owners, "desc"),
  tags: [],
  activity: textsOf(owners, "type").find((type) => type !== undefined),
  waypoints,
  segments: segmentsOf(placed),
  measures: measuresIn(textOf(childOf(owners[0], "extensions"), OWN_MEASURES)),
  ...(isPlan ? NOT_RECORDED : recordingOf(parts, timeOf))
})

const MAX_LINKS = 10

/** The links of `author` and of points are others' pages. */
const originOf = (gpx: XmlElement, { routes, tracks }: Parts): FileOrigin => {
  const owners = [...childrenOf(gpx, "metadata"), gpx, ...tracks, ...routes].slice(0, MAX_LINKS)
  const hrefs = childrenOf(owners, "link").slice(0, MAX_LINKS).map((link) => attributeOf(link, "href"))
  return {
    creator: attributeOf(gpx, "creator"),
    links: [...hrefs, ...textsOf(owners, "url")].filter((link) => link !== undefined)
  }
}

/** A route alone is the line and its waypoints; beside a track it is the waypoints of that. */
const plannedOf = Effect.fnUntraced(function*(
  { lines, routePoints }: Parts,
  tracks: ReadonlyArray<ReadonlyArray<Placed<XmlElement>>>
) {
  const [only, second] = lines
  if (only === undefined || second !== undefined || only.isPlan) return { points: [], dropped: [] }
  return yield* placedPoints(routePoints, positionRead, "rtept", tracks)
})

const shapingOf = ({ owners }: Line) => shapingIn(childrenOf(owners, "extensions"))

/** Reads GPX 1.1, and 1.0, which has the members of `metadata` in the root. */
export const readGpx = Effect.fnUntraced(function*(pieces: TextPieces): Effect.fn.Return<DraftFile, InvalidInput> {
  const gpx = yield* parseXml(pieces, ["gpx"], KNOWN, POINTS)
  const parts = partsOf(gpx)
  const { lines, places } = parts
  const path = parts.tracks.length === 0 ? "rtept" : "trkpt"
  const { dropped, tracks } = yield* placedTracks(lines.map((line) => line.parts), positionRead, path)
  const planned = yield* plannedOf(parts, tracks)
  const placed = yield* placedPoints(places, positionRead, "wpt", tracks)
  const isOwn = isOwnFile(gpx)
  const isOnly = lines.length === 1
  const waypointsOfLine = (line: Line, [points]: ReadonlyArray<Placed<XmlElement>>) => {
    if (!line.isPlan && !isOnly) return withShaping([], shapingOf(line))
    if (!line.isPlan) return waypointsOf(planned.points, isOwn)
    return points === undefined || isLineOnly(line)
      ? []
      : waypointsOf(pairsOf(points).filter(([{ name }]) => name !== SHAPE_POINT), isOwn)
  }
  const root = [childOf(gpx, "metadata"), gpx]
  const ofPlaces = waypointsOf(placed.points, isOwn)
  const addPlace = withPlace(new Map(ofPlaces.map((place) => [stopOf(place), place])))
  const ofLines = lines.map((line, index) => waypointsOfLine(line, tracks[index] ?? []).map(addPlace))
  const stops = new Set(ofLines.flat().map(stopOf))
  const others = ofPlaces.filter((place) => !stops.has(stopOf(place)))
  const file: DraftFile = {
    names: textsOf(root, "name"),
    descriptions: textsOf(root, "desc"),
    tags: root.flatMap((element) => textOf(element, "keywords")?.split(",", MAX_WORDS) ?? []),
    activity: undefined,
    waypoints: withShaping(
      parts.routes.length === 0 ? others : others.map(asPlaceOfInterest),
      isOnly ? lines.flatMap(shapingOf) : []
    ),
    cues: parts.cues,
    tracks: lines.map((line, index) => trackOf(line, tracks[index] ?? [], ofLines[index] ?? [])),
    origin: originOf(gpx, parts),
    dropped: [
      ...droppedOf(gpx, parts),
      ...droppedElevations(tracks, (point) => textOf(point, "ele")),
      ...dropped,
      ...planned.dropped,
      ...placed.dropped
    ]
  }
  return file
})
