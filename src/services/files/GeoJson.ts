import { Effect, Option, Predicate, Schema } from "effect"
import type { Position } from "../../schema/Geometry.ts"
import type { Dropped } from "../../schema/Import.ts"
import { Maneuvers } from "../../schema/Maneuver.ts"
import { recordedAtOf } from "../../schema/Measures.ts"
import { excessOf, type TextLimits } from "../bodies/JsonScanner.ts"
import { InvalidInput } from "../DomainErrors.ts"
import { NO_GAPS, rangesOf } from "../geometry/Geodesy.ts"
import { isSymbolLost, typeOf } from "./CoursePoints.ts"
import {
  type DraftFile,
  type DraftTrack,
  type DraftWaypoint,
  droppedIf,
  droppedOfPoints,
  OTHER_SHAPE,
  UNUSED,
  type WrittenRoute
} from "./Draft.ts"
import {
  coordOf,
  decimal,
  finiteOf,
  instantText,
  MAX_WORDS,
  measuresIn,
  measuresText,
  OWN_MEASURES,
  positionOf,
  recordingOf,
  stringOf
} from "./FileValues.ts"
import { activityOf } from "./Finish.ts"
import { droppedElevations, MAX_READ_POSITIONS, placedPoints, placedTracks, segmentsOf } from "./Positions.ts"

type JsonObject = Readonly<Record<string, unknown>>

interface Part {
  readonly type: string
  readonly coordinates: ReadonlyArray<unknown>
  readonly properties: JsonObject
}

/** An object of this type has this member (RFC 7946, 1.4); objects of other programs have such types, too. */
const MEMBERS: ReadonlyMap<string, string> = new Map([
  ["FeatureCollection", "features"],
  ["Feature", "geometry"],
  ["GeometryCollection", "geometries"],
  ["Point", "coordinates"],
  ["MultiPoint", "coordinates"],
  ["LineString", "coordinates"],
  ["MultiLineString", "coordinates"],
  ["Polygon", "coordinates"],
  ["MultiPolygon", "coordinates"]
])

const MAX_DEPTH = 32

/** A position with an elevation is an array of three values. Nested geometries have two levels each. */
const FILE_LIMITS: TextLimits = {
  depth: 3 * MAX_DEPTH,
  values: 4 * MAX_READ_POSITIONS,
  what: `values in all, which are those of ${MAX_READ_POSITIONS} positions with elevations`
}

const objectOf = (value: unknown): JsonObject => Predicate.isReadonlyObject(value) ? value : {}

const listOf = (value: unknown): ReadonlyArray<unknown> => Array.isArray(value) ? value : []

/** Other programs write a name of digits as a number. */
const nameOf = (object: JsonObject): string | undefined =>
  [object["name"], object["title"]].map((value) => stringOf(value) ?? finiteOf(value)?.toString())
    .find((name) => name !== undefined)

/** Converters of GPX keep its `desc`. */
const descriptionOf = (object: JsonObject) => stringOf(object["description"]) ?? stringOf(object["desc"])

const partsOf = (value: unknown, properties: JsonObject, depth: number): ReadonlyArray<Part> => {
  const object = objectOf(value)
  if (depth > MAX_DEPTH) return [{ type: "deeply nested geometry", coordinates: [], properties }]
  switch (object["type"]) {
    case "FeatureCollection":
      return listOf(object["features"]).flatMap((feature) => partsOf(feature, properties, depth + 1))
    case "Feature":
      return object["geometry"] === null ? [] : partsOf(object["geometry"], objectOf(object["properties"]), depth + 1)
    case "GeometryCollection":
      return listOf(object["geometries"]).flatMap((geometry) => partsOf(geometry, properties, depth + 1))
    default:
      return [{
        type: stringOf(object["type"]) ?? "object without a type",
        coordinates: listOf(object["coordinates"]),
        properties
      }]
  }
}

/** A number after the elevation is read as a time (`timesOf`). */
const readPosition = (value: unknown): Position | undefined => {
  const [lng, lat, elevation] = listOf(value)
  return positionOf(finiteOf(lng), finiteOf(lat), finiteOf(elevation))
}

const decodeCues = Schema.decodeUnknownOption(Maneuvers)

const isLine = ({ properties, type }: Part) =>
  type === "LineString" || type === "MultiLineString" || (type === "Point" && properties["role"] === "geometry")

const isPoint = (part: Part) => part.type === "Point" && !isLine(part)

/** Several points in one feature are an ordered track where a file has no line, and places beside one. */
const withMultiPoints = (parts: ReadonlyArray<Part>): ReadonlyArray<Part> => {
  const type = parts.some(isLine) ? "Point" : "LineString"
  return parts.flatMap((part) => {
    if (part.type !== "MultiPoint") return [part]
    const coordinates = type === "Point" ? part.coordinates.map(listOf) : [part.coordinates]
    return coordinates.map((coordinates): Part => ({ type, coordinates, properties: part.properties }))
  })
}

/** Numbers are seconds or milliseconds since 1970: no number is an instant of a recording as both. */
const timeOf = (value: unknown): string | undefined =>
  typeof value === "number" ? recordedAtOf(1000 * value) ?? recordedAtOf(value) : stringOf(value)

/** Returns the times of each line's positions: properties have them (togeojson), or positions as the fourth value. */
const timesOf = (part: Part): ReadonlyArray<ReadonlyArray<unknown>> => {
  const { properties } = part
  const given = properties["coordTimes"] ?? objectOf(properties["coordinateProperties"])["times"] ?? properties["times"]
  const list = listOf(given)
  const lines = linesOf(part)
  if (list.some(Array.isArray)) return list.map(listOf)
  if (list.length === 0) return lines.map((line) => line.map((position) => listOf(position)[3]))
  let from = 0
  return lines.map(({ length }) => {
    from += length
    return list.slice(from - length, from)
  })
}

const linesOf = ({ coordinates, type }: Part): ReadonlyArray<ReadonlyArray<unknown>> => {
  if (type === "MultiLineString") return coordinates.map(listOf)
  return type === "Point" ? [[coordinates]] : [coordinates]
}

const OF_BOTH = ["role", "name", "title", "description", "desc", "type", "time"]
const OF_POINTS = new Set([...OF_BOTH, "timestamp", "sym"])
const TIMES = ["times"]
const OF_LINES = new Set([
  ...OF_BOTH,
  ...TIMES,
  "tags",
  "activity",
  "createdAt",
  "recordedAt",
  "cues",
  "coordTimes",
  "coordinateProperties",
  "_gpxType",
  OWN_MEASURES
])
const OF_POSITIONS = new Set(TIMES)

/** Converters write nulls for what a feature lacks. */
const hasOther = (properties: JsonObject, known: ReadonlySet<string>) =>
  Object.entries(properties).some(([name, value]) => value !== null && value !== "" && !known.has(name))

const typeIn = ({ type }: JsonObject) => stringOf(type)

/** Converters of GPX keep the sport as a type, which may be anything else in other files. */
const sportIn = (properties: JsonObject) => activityOf(typeIn(properties) ?? "")

const hasOtherOfLine = (properties: JsonObject) =>
  hasOther(properties, OF_LINES)
  || hasOther(objectOf(properties["coordinateProperties"]), OF_POSITIONS)
  || (typeIn(properties) !== undefined && sportIn(properties) === undefined)

const hasOtherOfPoint = (properties: JsonObject) =>
  hasOther(properties, OF_POINTS) || isSymbolLost(typeIn(properties), stringOf(properties["sym"]))

const droppedOf = (parts: ReadonlyArray<Part>): ReadonlyArray<Dropped> => {
  const others = Map.groupBy(parts.filter((part) => !isLine(part) && !isPoint(part)), ({ type }) => type.slice(0, 64))
  const points = parts.filter(isPoint)
  const ofLines = new Set(parts.filter(isLine).map(({ properties }) => properties))
  const described = new Set(points.map(({ properties }) => properties).filter((owner) => !ofLines.has(owner)))
  return [
    ...[...others].map(([what, { length }]) => ({ what, why: OTHER_SHAPE, count: length })),
    ...droppedIf([...ofLines].filter(hasOtherOfLine).length, "properties of lines", UNUSED),
    ...droppedIf([...described].filter(hasOtherOfPoint).length, "properties of points", UNUSED),
    ...droppedOfPoints(
      [...described].map(descriptionOf),
      points.filter(({ coordinates }) => coordinates.length > 2).length
    )
  ]
}

const waypointOf = ([{ properties }, position]: readonly [Part, Position]): DraftWaypoint => ({
  coord: coordOf(position),
  type: typeOf(typeIn(properties), stringOf(properties["sym"])),
  name: nameOf(properties),
  timestamp: stringOf(properties["timestamp"]) ?? timeOf(properties["time"])
})

/** Names come from the only route's feature, features without a geometry, then the root. */
const aboutOf = (root: JsonObject, features: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> => [
  ...(features.length === 1 ? features : []),
  ...listOf(root["features"]).map(objectOf).filter((feature) => feature["geometry"] === null).map((feature) =>
    objectOf(feature["properties"])
  ),
  root
]

/** Python and others write numbers that JSON lacks (RFC 8259, 6): positions with one are unusable, others are not. */
const NO_NUMBER = /(?<=[[,:]\s{0,9})-?(?:NaN|Infinity)(?=\s*[\],}])/g

const valueOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    const numbers = text.replace(NO_NUMBER, "null")
    if (numbers === text) throw error
    return JSON.parse(numbers)
  }
}

const parseJson = (text: string) => {
  const excess = excessOf(Buffer.from(text), FILE_LIMITS)
  return excess !== undefined
    ? Effect.fail(new InvalidInput({ issues: [excess] }))
    : Effect.try({
      try: () => valueOf(text),
      catch: (cause) => InvalidInput.at("", `Malformed JSON: ${cause instanceof Error ? cause.message : ""}`)
    })
}

const WGS_84 = /CRS:?84|EPSG:(?:[^:]*:)?4326$|WGS ?84/i

const MAX_SYSTEM = 100

/** RFC 7946 has one reference system; older files name others, or link them (GeoJSON 2008, 3). */
const systemIn = (value: unknown): string | undefined => {
  const object = objectOf(value)
  const crs = object["crs"]
  const properties = objectOf(objectOf(crs)["properties"])
  const code = properties["code"]
  const given = stringOf(crs) ?? stringOf(properties["name"]) ?? stringOf(properties["href"])
  if (given !== undefined || code !== undefined) return given ?? `EPSG:${code}`
  const members = [object["geometry"], ...listOf(object["features"]).slice(0, 1)]
  return members.map((member) => Predicate.isReadonlyObject(member) ? systemIn(member) : undefined)
    .find((system) => system !== undefined)
}

const otherSystem = (root: unknown): InvalidInput | undefined => {
  const name = systemIn(root)
  return name === undefined || WGS_84.test(name)
    ? undefined
    : InvalidInput.at("crs", `Expected WGS 84 (RFC 7946, 4), not ${name.slice(0, MAX_SYSTEM)}`)
}

const saidOf = (about: ReadonlyArray<JsonObject>) => ({
  names: about.map(nameOf),
  descriptions: about.map(descriptionOf),
  tags: about.flatMap((object) => listOf(object["tags"]).slice(0, MAX_WORDS)).filter((tag) => typeof tag === "string"),
  activity: about.map((object) => stringOf(object["activity"])).find((activity) => activity !== undefined),
  measures: about.map((object) => measuresIn(stringOf(object[OWN_MEASURES]))).find((measures) => measures !== undefined)
})

const cuesIn = (properties: JsonObject) =>
  properties["role"] === "geometry" ? Option.getOrElse(decodeCues(properties["cues"]), () => []) : []

const trackOf = (properties: JsonObject, lines: ReadonlyArray<Part>, segments: DraftTrack["segments"]): DraftTrack => {
  const { recordedAt, seconds } = recordingOf(lines.flatMap(timesOf), timeOf)
  const said = saidOf([properties])
  return {
    ...said,
    activity: said.activity ?? sportIn(properties),
    cues: cuesIn(properties),
    waypoints: [],
    segments,
    seconds,
    recordedAt: instantText(stringOf(properties["recordedAt"])) ?? recordedAt ?? instantText(timeOf(properties["time"]))
  }
}

/** Reads RFC 7946: lines are tracks, points are waypoints of all tracks. */
export const readGeoJson = Effect.fnUntraced(function*(text: string): Effect.fn.Return<DraftFile, InvalidInput> {
  const root = yield* parseJson(text)
  const member = MEMBERS.get(stringOf(objectOf(root)["type"]) ?? "")
  if (member === undefined || objectOf(root)[member] === undefined) {
    return yield* InvalidInput.at("", "It is not a route file: expected GeoJSON, an object with one of its types")
  }
  const parts = withMultiPoints(partsOf(root, {}, 0))
  const lines = [...Map.groupBy(parts.filter(isLine), ({ properties }) => properties)]
  const { dropped, tracks } = yield* placedTracks(
    lines.map(([, same]) => same.flatMap(linesOf)),
    readPosition,
    "line"
  ).pipe(Effect.mapError((error) => otherSystem(root) ?? error))
  const positionOfPoint = ({ coordinates }: Part) => readPosition(coordinates)
  const placed = yield* placedPoints(parts.filter(isPoint), positionOfPoint, "points", tracks)
  const file: DraftFile = {
    ...saidOf(aboutOf(objectOf(root), lines.map(([properties]) => properties))),
    waypoints: placed.points.map(waypointOf),
    tracks: lines.map(([properties, same], index) => trackOf(properties, same, segmentsOf(tracks[index] ?? []))),
    dropped: [
      ...droppedOf(parts),
      ...droppedElevations(tracks, (position) => stringOf(listOf(position)[2])),
      ...dropped,
      ...placed.dropped
    ]
  }
  return file
})

const positionText = (position: Position) => `[${position.map(decimal).join(",")}]`

const feature = (properties: unknown) => `{"type":"Feature","properties":${JSON.stringify(properties)},"geometry":`

function* positionsOf(positions: ReadonlyArray<Position>): Generator<string> {
  for (const [index, position] of positions.entries()) yield `${index === 0 ? "[" : ",\n"}${positionText(position)}`
  yield "]"
}

/** A line needs two positions (RFC 7946, 3.1.4): one is a point, none a feature without a geometry (3.2). */
function* partOf(positions: ReadonlyArray<Position>): Generator<string> {
  const [first] = positions
  if (first === undefined) {
    yield "null"
  } else if (positions.length === 1) {
    yield `{"type":"Point","coordinates":${positionText(first)}}`
  } else {
    yield "{\"type\":\"LineString\",\"coordinates\":"
    yield* positionsOf(positions)
    yield "}"
  }
}

/** Writes parts as a `MultiLineString`, or as a collection where one of them is no line. */
function* lineOf({ geometry, segments = NO_GAPS }: WrittenRoute): Generator<string> {
  const ranges = rangesOf(geometry.length, segments)
  if (ranges.length < 2) return yield* partOf(geometry)
  const isOfLines = ranges.every(({ from, to }) => to - from > 1)
  yield isOfLines
    ? "{\"type\":\"MultiLineString\",\"coordinates\":["
    : "{\"type\":\"GeometryCollection\",\"geometries\":["
  for (const { from, to } of ranges) {
    if (from > 0) yield ",\n"
    yield* (isOfLines ? positionsOf : partOf)(geometry.slice(from, to))
  }
  yield "]}"
}

/** Writes RFC 7946: one feature for the line and the route's properties, then one for each waypoint. */
export function* writeGeoJson(route: WrittenRoute): Generator<string> {
  const { activity, createdAt, cues, description, name, recordedAt, tags, waypoints } = route
  yield "{\"type\":\"FeatureCollection\",\"features\":[\n"
  yield feature({
    role: "geometry",
    name,
    description,
    tags,
    activity,
    createdAt,
    recordedAt,
    [OWN_MEASURES]: measuresText(route),
    cues
  })
  yield* lineOf(route)
  yield "}"
  for (const { coord, name, timestamp, type } of waypoints) {
    yield `,\n${feature({ role: "waypoint", name, type, timestamp })}`
    yield `{"type":"Point","coordinates":${positionText(coord)}}}`
  }
  yield "\n]}\n"
}
