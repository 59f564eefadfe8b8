import { Effect } from "effect"
import type { Position } from "../../schema/Geometry.ts"
import type { Dropped } from "../../schema/Import.ts"
import type { Maneuver } from "../../schema/Maneuver.ts"
import { InvalidInput } from "../DomainErrors.ts"
import { NO_GAPS, rangesOf } from "../geometry/Geodesy.ts"
import { maneuverMark, maneuverOf, OWN_MANEUVER } from "./CoursePoints.ts"
import {
  type DraftFile,
  type DraftTrack,
  type DraftWaypoint,
  droppedIf,
  droppedOfPoints,
  NO_GEOMETRY,
  OTHER_SHAPE,
  UNUSED,
  type WrittenRoute
} from "./Draft.ts"
import {
  coordOf,
  decimal,
  instantText,
  isDateTime,
  MAX_WORDS,
  measuresIn,
  measuresText,
  numberOf,
  OWN_MEASURES,
  positionOf,
  recordingOf
} from "./FileValues.ts"
import { droppedElevations, type Placed, placedPoints, placedTracks, segmentsOf } from "./Positions.ts"
import { parseXml, type TextPieces, XML_DECLARATION, xmlOf, type XmlParts } from "./Xml.ts"
import {
  attributeOf,
  childOf,
  childrenOf,
  descendantsOf,
  leafOf,
  textOf,
  unknownChildren,
  type XmlElement
} from "./XmlTree.ts"

interface Feature {
  readonly name: string | undefined
  /** The name is that of the nearest folder around it. */
  readonly folder: string | undefined
  readonly description: string | undefined
  readonly timestamp: string | undefined
  readonly data: ReadonlyMap<string | undefined, string | undefined>
  readonly cues: () => ReadonlyArray<Maneuver>
}

interface Part {
  readonly placemark: Feature
  readonly geometry: XmlElement
}

/** Google Earth also opens a feature without the root of KML 2.2, 7.1. */
const KML_ROOTS = ["kml", "Document", "Folder", "Placemark"] as const

const isLink = ({ name }: XmlElement) => name === "NetworkLink"

const CONTAINERS = new Set(["Document", "Folder", "kml"])
const GEOMETRY_CONTAINERS = new Set(["MultiGeometry", "MultiTrack", "gx:MultiTrack"])

/** KML 2.3 adopted the tracks of Google's extension. */
const TRACKS = new Set(["Track", "gx:Track"])
const LINES = new Set(["LineString", ...TRACKS])
const OTHER_GEOMETRIES = new Set(["LinearRing", "Polygon", "Model"])

const OTHER_FEATURES: ReadonlyMap<string, string> = new Map([
  ["NetworkLink", "nothing is fetched from elsewhere"],
  ["GroundOverlay", OTHER_SHAPE],
  ["ScreenOverlay", OTHER_SHAPE],
  ["PhotoOverlay", OTHER_SHAPE],
  ["gx:Tour", OTHER_SHAPE]
])

const KNOWN = new Set([
  ...CONTAINERS,
  ...GEOMETRY_CONTAINERS,
  ...LINES,
  "Placemark",
  "Point",
  "coordinates",
  "coord",
  "gx:coord",
  "altitudeMode",
  "gx:altitudeMode",
  "when",
  "TimeStamp",
  "name",
  "description",
  "ExtendedData",
  "Data",
  "displayName",
  "value"
])

/** A placemark has these, of which some say how it looks on a map. */
const PLACEMARK = new Set([
  ...GEOMETRY_CONTAINERS,
  ...LINES,
  ...OTHER_GEOMETRIES,
  "Point",
  "name",
  "description",
  "TimeStamp",
  "ExtendedData",
  "visibility",
  "open",
  "Snippet",
  "snippet",
  "styleUrl",
  "Style",
  "StyleMap",
  "LookAt",
  "Camera",
  "Region",
  "gx:balloonVisibility"
])

const OWN_DATA = new Set<string | undefined>([
  "role",
  "type",
  "timestamp",
  "tags",
  "activity",
  "recordedAt",
  OWN_MEASURES,
  OWN_MANEUVER
])

const MAX_TUPLE = 1024

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

const partsOf = (container: XmlElement, folder?: string): ReadonlyArray<Part> =>
  container.children.flatMap((child) => {
    if (child.name === "Placemark") {
      return partsOfPlacemark(featureOf(child, folder), below(child, GEOMETRY_CONTAINERS, isGeometry))
    }
    return CONTAINERS.has(child.name) ? partsOf(child, child.name === "Folder" ? textOf(child, "name") : folder) : []
  })

const partsOfPlacemark = (placemark: Feature, geometries: ReadonlyArray<XmlElement>) =>
  geometries.map((geometry) => ({ placemark, geometry }))

const dataOf = (feature: XmlElement): Feature["data"] =>
  new Map(
    childrenOf(childOf(feature, "ExtendedData"), "Data").toReversed().map((data) => [
      attributeOf(data, "name"),
      textOf(data, "value")
    ])
  )

// Descriptions are HTML (KML 2.2, 9.1.3.10), to be run or loaded by what opens the file: a text that would be read as such is
// escaped. What is not escaped has nothing to undo.
const MARKUP = /<[a-z/!?]|&#?[a-z0-9]+;/i

const htmlOf = (text: string) => MARKUP.test(text) ? text.replaceAll("&", "&amp;").replaceAll("<", "&lt;") : text

const textOfHtml = (html: string) => html.includes("<") ? html : html.replaceAll("&lt;", "<").replaceAll("&amp;", "&")

const descriptionOf = (feature: XmlElement) => {
  const html = textOf(feature, "description")
  return html === undefined ? undefined : textOfHtml(html)
}

const featureOf = (feature: XmlElement, folder?: string): Feature => ({
  name: textOf(feature, "name"),
  folder,
  description: descriptionOf(feature),
  timestamp: textOf(childOf(feature, "TimeStamp"), "when")?.trim(),
  data: dataOf(feature),
  cues: () => cuesOf(feature)
})

const cuesOf = (feature: XmlElement) =>
  childrenOf(childOf(feature, "ExtendedData"), "Data")
    .filter((data) => attributeOf(data, "name") === OWN_MANEUVER)
    .flatMap((data) => maneuverOf(textOf(data, "value") ?? "", textOf(data, "displayName")) ?? [])

const isOwnLine = ({ placemark }: Part) => placemark.data.get("role") === "geometry"

const isLine = (part: Part) => LINES.has(part.geometry.name) || (part.geometry.name === "Point" && isOwnLine(part))

const isPoint = (part: Part) => part.geometry.name === "Point" && !isLine(part)

const positionFrom = (members: ReadonlyArray<string>): Position | undefined =>
  positionOf(numberOf(members[0]), numberOf(members[1]), numberOf(members[2]))

const words = (text: string) => text.split(/\s+/).filter((word) => word !== "")

const isTrack = ({ geometry }: Part) => TRACKS.has(geometry.name)

const coordsOf = ({ geometry }: Part) => [...childrenOf(geometry, "coord"), ...childrenOf(geometry, "gx:coord")]

const AXES = 3

const membersOf = (tuple: string) => tuple.replace(/,$/, "").split(",", AXES + 2)

/** KML 2.2, 16.10 forbids white space after a comma, but some writers have it: their parts are joined to one tuple. */
const joinedTuples = (parts: ReadonlyArray<string>): ReadonlyArray<string> => {
  const tuples: Array<string> = []
  for (const part of parts) {
    const before = tuples.at(-1)
    const isOpen = before?.endsWith(",") === true && membersOf(before).length + membersOf(part).length <= AXES
    if (isOpen) tuples[tuples.length - 1] = `${before}${part}`
    else tuples.push(part)
  }
  return tuples
}

const tuplesIn = (text: string) => /,\s/.test(text) ? joinedTuples(words(text)) : words(text)

const tuplesOf = (part: Part): ReadonlyArray<string> =>
  isTrack(part)
    ? coordsOf(part).map(({ text }) => text.slice(0, MAX_TUPLE)).filter((text) => text.trim() !== "")
    : tuplesIn(textOf(part.geometry, "coordinates") ?? "")

/** Altitudes in these modes are not above sea level. */
const RELATIVE = new Set<string | undefined>(["relativeToGround", "relativeToSeaFloor", "clampToSeaFloor"])

const isHigh = ([, , elevation = 0]: Position) => elevation !== 0

/** My Maps and Google Earth write zeros for a line on the ground, which needs no mode; others have real altitudes. */
const hasElevations = (part: Part, positions: ReadonlyArray<Position>) => {
  const mode = (textOf(part.geometry, "altitudeMode") ?? textOf(part.geometry, "gx:altitudeMode"))?.trim()
  return isOwnLine(part) || mode === "absolute" || (!RELATIVE.has(mode) && positions.some(isHigh))
}

const isEmptyPoint = (part: Part) => isPoint(part) && (textOf(part.geometry, "coordinates") ?? "").trim() === ""

const axesOf = (tuple: string) => tuple.includes(",") ? membersOf(tuple) : words(tuple)

/** More than one member behind the axes means numbers with a decimal comma, which cannot be told apart. */
const positionOfTuple = (tuple: string) => {
  const members = axesOf(tuple)
  return members.length > AXES + 1 ? undefined : positionFrom(members)
}

const waypointOf = ([{ placemark }, position]: readonly [Part, Position]): DraftWaypoint => ({
  coord: coordOf(position),
  name: placemark.name,
  type: placemark.data.get("type"),
  timestamp: placemark.data.get("timestamp") ?? placemark.timestamp
})

const isOwnData = (data: XmlElement) => data.name === "Data" && OWN_DATA.has(attributeOf(data, "name"))

const counted = (elements: ReadonlyArray<XmlElement>, why: (name: string) => string): ReadonlyArray<Dropped> =>
  [...Map.groupBy(elements, ({ name }) => name)].map(([what, { length }]) => ({ what, why: why(what), count: length }))

const droppedOf = (kml: XmlElement, parts: ReadonlyArray<Part>): ReadonlyArray<Dropped> => {
  const tracks = parts.filter(isTrack)
  const placemarks = below(kml, CONTAINERS, ({ name }) => name === "Placemark")
  const empty = placemarks.filter((placemark) => below(placemark, GEOMETRY_CONTAINERS, isGeometry).length === 0)
  const times = tracks.flatMap(({ geometry }) => childrenOf(geometry, "when")).length
  const foreign = descendantsOf([kml], "ExtendedData").filter(({ children }) => !children.every(isOwnData))
  const unplaced = tracks.flatMap(coordsOf).filter(({ text }) => text.trim() === "").length
  return [
    ...unknownChildren(placemarks, PLACEMARK, UNUSED),
    ...droppedIf(times, "when of Track", UNUSED),
    ...droppedIf(foreign.length, "ExtendedData", UNUSED),
    // A device writes one `coord` for each time without a position (KML 2.3, 13.8).
    ...droppedIf(unplaced, "coord of Track", "it has no value"),
    ...droppedIf(empty.length, "Placemark", NO_GEOMETRY),
    ...droppedIf(parts.filter(isEmptyPoint).length, "Point", "it has no coordinates"),
    ...counted(
      parts.map(({ geometry }) => geometry).filter(({ name }) => OTHER_GEOMETRIES.has(name)),
      () => OTHER_SHAPE
    ),
    ...counted(
      below(kml, CONTAINERS, ({ name }) => OTHER_FEATURES.has(name)),
      (name) => OTHER_FEATURES.get(name) ?? ""
    )
  ]
}

const highIn = (tracks: ReadonlyArray<ReadonlyArray<Placed<unknown>>>) =>
  tracks.flat().reduce((sum, { positions }) => sum + positions.filter(isHigh).length, 0)

const saidOf = (features: ReadonlyArray<Feature>) => ({
  names: features.map(({ name }) => name),
  descriptions: features.map(({ description }) => description),
  tags: features.flatMap(({ data }) => data.get("tags")?.split(",", MAX_WORDS) ?? []),
  activity: features.map(({ data }) => data.get("activity")).find((activity) => activity !== undefined),
  measures: features.map(({ data }) => measuresIn(data.get(OWN_MEASURES))).find((measures) => measures !== undefined)
})

/** GPSBabel calls each line `Path`, in a folder with the name of its track. */
const lineNameOf = ({ folder, name = "" }: Feature) => ["Path", ""].includes(name.trim()) ? folder ?? name : name

const timesOf = ({ geometry }: Part) => childrenOf(geometry, "when")

const trackOf = (
  placemark: Feature,
  parts: ReadonlyArray<Part>,
  segments: DraftTrack["segments"]
): DraftTrack => {
  const { recordedAt, seconds } = recordingOf(parts.map(timesOf), ({ text }) => text)
  return {
    ...saidOf([placemark]),
    names: [lineNameOf(placemark)],
    cues: placemark.cues(),
    waypoints: [],
    segments,
    seconds,
    recordedAt: instantText(placemark.data.get("recordedAt")) ?? recordedAt
  }
}

/** Reads KML 2.2 and 2.3: lines are tracks, points are waypoints of all tracks. Never fetches anything. */
export const readKml = Effect.fnUntraced(function*(pieces: TextPieces): Effect.fn.Return<DraftFile, InvalidInput> {
  const root = yield* parseXml(pieces, KML_ROOTS, KNOWN)
  const kml = root.name === "kml" ? root : { ...leafOf("kml"), children: [root] }
  const parts = partsOf(kml)
  // The lines of a placemark are one track with gaps.
  const byPlacemark = Map.groupBy(parts.filter(isLine), ({ placemark }) => placemark)
  const lines = [...byPlacemark]
  const points = parts.filter((part) => isPoint(part) && !isEmptyPoint(part))
  const described = new Set(points.map(({ placemark }) => placemark).filter((owner) => !byPlacemark.has(owner)))
  const { dropped, tracks: read } = yield* placedTracks(
    lines.map(([, geometries]) => geometries.map(tuplesOf)),
    positionOfTuple,
    "coordinates"
  )
  const tracks = lines.map(([, geometries], line) =>
    geometries.map((part, index) => {
      const { items = [], positions = [] } = read[line]?.[index] ?? {}
      return { items, positions: hasElevations(part, positions) ? positions : positions.map(coordOf) }
    })
  )
  const isPlaced = points.length > 0 || tracks.some((parts) => segmentsOf(parts).length > 0)
  if (!isPlaced && below(kml, CONTAINERS, isLink).length > 0) {
    return yield* InvalidInput.at(
      "",
      "The map was exported as a link: expected an export with its data, without NetworkLink"
    )
  }
  const positionOfPoint = (part: Part) => positionOfTuple(tuplesOf(part)[0] ?? "")
  const placed = yield* placedPoints(points, positionOfPoint, "Point", tracks)
  const said = saidOf(
    below(kml, new Set(), ({ name }) => CONTAINERS.has(name)).map((container) => featureOf(container))
  )
  const found = lines.filter((_, index) => segmentsOf(tracks[index] ?? []).length > 0)
  const file: DraftFile = {
    ...said,
    // A document is often named after its program, the only line after itself.
    names: [...(found.length === 1 ? found.map(([placemark]) => lineNameOf(placemark)) : []), ...said.names],
    waypoints: placed.points.map(waypointOf),
    tracks: lines.map(([placemark, geometries], index) =>
      trackOf(placemark, geometries, segmentsOf(tracks[index] ?? []))
    ),
    dropped: [
      ...droppedOf(kml, parts),
      ...droppedOfPoints(
        [...described].map(({ description }) => description),
        placed.points.filter(([, position]) => isHigh(position)).length
      ),
      ...droppedElevations(read, (tuple) => axesOf(tuple)[2]),
      ...droppedIf(highIn(read) - highIn(tracks), "elevations", "they are not above sea level"),
      ...dropped,
      ...placed.dropped
    ]
  }
  return file
})

const ROOT = "<kml xmlns=\"http://www.opengis.net/kml/2.2\"><Document>"

const tupleOf = (position: Position) => position.map(decimal).join(",")

const writtenData = (
  values: Readonly<Record<string, string | null | undefined>>,
  cues: ReadonlyArray<Maneuver> = []
): XmlParts => {
  const data = [
    ...Object.entries(values).flatMap(([name, value]) =>
      value === undefined || value === null ? [] : [{ "@name": name, value }]
    ),
    ...cues.map((cue) => ({
      "@name": OWN_MANEUVER,
      displayName: cue.instruction,
      value: maneuverMark(cue)[OWN_MANEUVER]
    }))
  ]
  return data.length === 0 ? {} : { ExtendedData: { Data: data } }
}

const placemarkOf = ({ coord, name, timestamp, type }: WrittenRoute["waypoints"][number]): XmlParts => ({
  name: name ?? undefined,
  ...(isDateTime(timestamp ?? "") ? { TimeStamp: { when: timestamp ?? undefined } } : {}),
  ...writtenData({ role: "waypoint", type, timestamp }),
  Point: { coordinates: tupleOf(coord) }
})

/** A line needs two positions (KML 2.2, 10.7). */
function* partOf(positions: ReadonlyArray<Position>): Generator<string> {
  const element = positions.length === 1 ? "Point" : "LineString"
  yield `<${element}><coordinates>`
  for (const position of positions) yield `${tupleOf(position)}\n`
  yield `</coordinates></${element}>`
}

function* lineOf({ cues, geometry, name, recordedAt, segments = NO_GAPS }: WrittenRoute): Generator<string> {
  const ranges = rangesOf(geometry.length, segments)
  const [start, end] = ranges.length > 1 ? ["<MultiGeometry>", "</MultiGeometry>"] : ["", ""]
  yield `<Placemark>${xmlOf({ name, ...writtenData({ role: "geometry", recordedAt }, cues) })}${start}`
  for (const { from, to } of ranges) yield* partOf(geometry.slice(from, to))
  yield `${end}</Placemark>\n`
}

export function* writeKml(route: WrittenRoute): Generator<string> {
  const { activity, description, geometry, name, tags, waypoints } = route
  yield `${XML_DECLARATION}${ROOT}\n`
  yield xmlOf({
    name,
    description: description === undefined ? undefined : htmlOf(description),
    ...writtenData({
      tags: tags.length === 0 ? undefined : tags.join(", "),
      activity,
      [OWN_MEASURES]: measuresText(route)
    })
  })
  if (geometry.length > 0) yield* lineOf(route)
  for (const waypoint of waypoints) yield `${xmlOf({ Placemark: placemarkOf(waypoint) })}\n`
  yield "</Document></kml>\n"
}
