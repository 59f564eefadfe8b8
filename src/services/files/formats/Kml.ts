import { Effect } from "effect"
import type { ValidationFailed } from "../../../schema/Errors.ts"
import { MAX_POSITIONS, type Position } from "../../../schema/Geometry.ts"
import { MAX_WAYPOINTS } from "../../../schema/Route.ts"
import type { Draft, DraftWaypoint, Dropped, ReadRoute } from "../Document.ts"
import { finish } from "../Finish.ts"
import { allPositions, coordOf, MAX_WORDS, numberOf, positionOf } from "../Numbers.ts"
import { parseXml } from "../xml/Xml.ts"
import { attributeOf, childOf, childrenOf, textOf } from "../xml/XmlQuery.ts"
import type { XmlElement } from "../xml/XmlTree.ts"

/** What a file says of a feature, read once however many geometries are in it. */
interface Feature {
  readonly name: string | undefined
  readonly description: string | undefined
  readonly timestamp: string | undefined
  readonly data: ReadonlyMap<string | undefined, string | undefined>
}

/** One geometry of a file with the placemark that it is in. */
interface Part {
  readonly placemark: Feature
  readonly geometry: XmlElement
}

const CONTAINERS = new Set(["Document", "Folder", "kml"])
const GEOMETRY_CONTAINERS = new Set(["MultiGeometry", "gx:MultiTrack"])
const LINES = new Set(["LineString", "gx:Track"])
const OTHER_GEOMETRIES = new Set(["LinearRing", "Polygon", "Model"])

/** Features that are read from elsewhere, or are pictures. */
const OTHER_FEATURES: ReadonlyMap<string, string> = new Map([
  ["NetworkLink", "nothing is fetched from elsewhere"],
  ["GroundOverlay", "a route has a line and points only"],
  ["ScreenOverlay", "a route has a line and points only"],
  ["PhotoOverlay", "a route has a line and points only"],
  ["gx:Tour", "a route has a line and points only"]
])

/** The elements and attributes that a route is read from. */
const KNOWN = new Set([
  ...CONTAINERS,
  ...GEOMETRY_CONTAINERS,
  ...LINES,
  "Placemark",
  "Point",
  "coordinates",
  "gx:coord",
  "when",
  "TimeStamp",
  "name",
  "description",
  "ExtendedData",
  "Data",
  "value"
])

/** More characters than three numbers need. */
const MAX_TUPLE = 1024

/** The elements of these kinds below a container, through all containers in it, in the order of the file. */
const below = (
  parent: XmlElement,
  containers: ReadonlySet<string>,
  isWanted: (element: XmlElement) => boolean
): ReadonlyArray<XmlElement> =>
  parent.children.flatMap((child) => {
    if (isWanted(child)) return [child]
    return containers.has(child.name) ? below(child, containers, isWanted) : []
  })

const isGeometry = ({ name }: XmlElement) => LINES.has(name) || OTHER_GEOMETRIES.has(name) || name === "Point"

const partsOf = (kml: XmlElement): ReadonlyArray<Part> =>
  below(kml, CONTAINERS, ({ name }) => name === "Placemark").flatMap((placemark) =>
    partsOfPlacemark(featureOf(placemark), below(placemark, GEOMETRY_CONTAINERS, isGeometry))
  )

const partsOfPlacemark = (placemark: Feature, geometries: ReadonlyArray<XmlElement>) =>
  geometries.map((geometry) => ({ placemark, geometry }))

/** Of several pairs of one name the first counts. */
const dataOf = (feature: XmlElement): Feature["data"] =>
  new Map(
    childrenOf(childOf(feature, "ExtendedData"), "Data").toReversed().map((data) => [
      attributeOf(data, "name"),
      textOf(data, "value")
    ])
  )

const featureOf = (feature: XmlElement): Feature => ({
  name: textOf(feature, "name"),
  description: textOf(feature, "description"),
  timestamp: textOf(childOf(feature, "TimeStamp"), "when")?.trim(),
  data: dataOf(feature)
})

const isLine = ({ geometry, placemark }: Part) =>
  LINES.has(geometry.name) || (geometry.name === "Point" && placemark.data.get("role") === "geometry")

const isPoint = (part: Part) => part.geometry.name === "Point" && !isLine(part)

const positionFrom = (members: ReadonlyArray<string>): Position | undefined =>
  positionOf(numberOf(members[0]), numberOf(members[1]), numberOf(members[2]))

const words = (text: string) => text.split(/\s+/).filter((word) => word !== "")

/** Tuples have no white space in them (KML 2.2, 16.10), yet some writers put it after each comma. */
const tuplesOf = ({ geometry }: Part): ReadonlyArray<string> =>
  geometry.name === "gx:Track"
    ? childrenOf(geometry, "gx:coord").map(({ text }) => text.slice(0, MAX_TUPLE))
    : words((textOf(geometry, "coordinates") ?? "").replace(/,\s+/g, ","))

/** The members of a tuple have commas between them, those of `gx:coord` spaces. */
const positionOfTuple = (tuple: string) => positionFrom(tuple.includes(",") ? tuple.split(",", 3) : words(tuple))

const waypointOf = ({ placemark }: Part, position: Position): DraftWaypoint => ({
  coord: coordOf(position),
  name: placemark.name,
  type: placemark.data.get("type"),
  timestamp: placemark.data.get("timestamp") ?? placemark.timestamp
})

const counted = (elements: ReadonlyArray<XmlElement>, why: (name: string) => string): ReadonlyArray<Dropped> =>
  [...Map.groupBy(elements, ({ name }) => name)].map(([what, { length }]) => ({ what, why: why(what), count: length }))

const droppedOf = (kml: XmlElement, parts: ReadonlyArray<Part>): ReadonlyArray<Dropped> => {
  const lines = parts.filter(isLine)
  const times = lines.flatMap(({ geometry }) => childrenOf(geometry, "when")).length
  return [
    ...(lines.length < 2
      ? []
      : [{ what: "bounds of lines", why: "a route has one line: they were joined in order", count: lines.length }]),
    ...(times === 0 ? [] : [{ what: "when of gx:Track", why: "a route has no place for it", count: times }]),
    ...counted(
      parts.map(({ geometry }) => geometry).filter(({ name }) => OTHER_GEOMETRIES.has(name)),
      () => "a route has a line and points only"
    ),
    ...counted(
      below(kml, CONTAINERS, ({ name }) => OTHER_FEATURES.has(name)),
      (name) => OTHER_FEATURES.get(name) ?? ""
    )
  ]
}

/** Reads KML 2.2: lines and tracks are the route's line, points its waypoints. Nothing that a file points to is fetched. */
export const readKml = Effect.fnUntraced(function*(text: string): Effect.fn.Return<ReadRoute, ValidationFailed> {
  const kml = yield* parseXml(text, "kml", KNOWN)
  const parts = partsOf(kml)
  const lines = parts.filter(isLine)
  const points = parts.filter(isPoint)
  const geometry = yield* allPositions(lines.flatMap(tuplesOf), positionOfTuple, {
    what: "positions",
    path: "coordinates",
    max: MAX_POSITIONS
  })
  const coords = yield* allPositions(points, (part) => positionOfTuple(tuplesOf(part)[0] ?? ""), {
    what: "waypoints",
    path: "Point",
    max: MAX_WAYPOINTS
  })
  const features = [
    ...below(kml, new Set(), ({ name }) => CONTAINERS.has(name)).map(featureOf),
    ...new Set(lines.map((line) => line.placemark))
  ]
  const draft: Draft = {
    names: features.map(({ name }) => name),
    descriptions: features.map(({ description }) => description),
    tags: features.flatMap(({ data }) => data.get("tags")?.split(",", MAX_WORDS) ?? []),
    activity: features.map(({ data }) => data.get("activity")).find((activity) => activity !== undefined),
    waypoints: points.flatMap((part, index) => coords[index] === undefined ? [] : [waypointOf(part, coords[index])]),
    geometry,
    dropped: droppedOf(kml, parts)
  }
  return yield* finish(draft)
})
