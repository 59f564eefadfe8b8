import { Effect } from "effect"
import type { ValidationFailed } from "../../../schema/Errors.ts"
import type { Position } from "../../../schema/Geometry.ts"
import type { Draft, DraftWaypoint, Dropped, ReadRoute } from "../Document.ts"
import { finish } from "../Finish.ts"
import { allPositions, coordOf, numberOf, positionOf } from "../Numbers.ts"
import { parseXml, type XmlElement } from "../xml/Xml.ts"
import { attributeOf, childOf, childrenOf, textOf } from "../xml/XmlQuery.ts"

/** One geometry of a file with the placemark that it is in. */
interface Part {
  readonly placemark: XmlElement
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
    below(placemark, GEOMETRY_CONTAINERS, isGeometry).map((geometry) => ({ placemark, geometry }))
  )

const dataOf = (feature: XmlElement | undefined, name: string) =>
  textOf(
    childrenOf(childOf(feature, "ExtendedData"), "Data").find((data) => attributeOf(data, "name") === name),
    "value"
  )

const isLine = ({ geometry, placemark }: Part) =>
  LINES.has(geometry.name) || (geometry.name === "Point" && dataOf(placemark, "role") === "geometry")

const isPoint = (part: Part) => part.geometry.name === "Point" && !isLine(part)

const positionFrom = (members: ReadonlyArray<string>): Position | undefined =>
  positionOf(numberOf(members[0]), numberOf(members[1]), numberOf(members[2]))

const words = (text: string) => text.split(/\s+/).filter((word) => word !== "")

/** Tuples have no white space in them (KML 2.2, 16.10), yet some writers put it after each comma. */
const tuples = (text: string) => words(text.replace(/,\s+/g, ",")).map((tuple) => positionFrom(tuple.split(",")))

const positionsOf = ({ geometry }: Part): ReadonlyArray<Position | undefined> =>
  geometry.name === "gx:Track"
    ? childrenOf(geometry, "gx:coord").map(({ text }) => positionFrom(words(text)))
    : tuples(textOf(geometry, "coordinates") ?? "")

const waypointOf = ({ placemark }: Part, position: Position): DraftWaypoint => ({
  coord: coordOf(position),
  name: textOf(placemark, "name"),
  type: dataOf(placemark, "type"),
  timestamp: dataOf(placemark, "timestamp") ?? textOf(childOf(placemark, "TimeStamp"), "when")?.trim()
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
  const kml = yield* parseXml(text, "kml")
  const parts = partsOf(kml)
  const lines = parts.filter(isLine)
  const points = parts.filter(isPoint)
  const geometry = yield* allPositions(lines.flatMap(positionsOf), "coordinates")
  const coords = yield* allPositions(points.map((part) => positionsOf(part)[0]), "Point")
  const features = [
    ...below(kml, new Set(), ({ name }) => CONTAINERS.has(name)),
    ...lines.map((line) => line.placemark)
  ]
  const draft: Draft = {
    names: features.map((feature) => textOf(feature, "name")),
    descriptions: features.map((feature) => textOf(feature, "description")),
    tags: features.flatMap((feature) => dataOf(feature, "tags")?.split(",") ?? []),
    activity: features.map((feature) => dataOf(feature, "activity")).find((activity) => activity !== undefined),
    waypoints: points.flatMap((part, index) => coords[index] === undefined ? [] : [waypointOf(part, coords[index])]),
    geometry,
    dropped: droppedOf(kml, parts)
  }
  return yield* finish(draft)
})
