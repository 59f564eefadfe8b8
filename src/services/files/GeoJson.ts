import { Effect, Predicate } from "effect"
import { MAX_POSITIONS, type Position } from "../../schema/Geometry.ts"
import type { Dropped } from "../../schema/Import.ts"
import { MAX_WAYPOINTS } from "../../schema/Route.ts"
import { excessOf, type TextLimits } from "../bodies/JsonScanner.ts"
import { InvalidInput } from "../DomainErrors.ts"
import {
  type DraftFile,
  type DraftTrack,
  type DraftWaypoint,
  droppedIf,
  OTHER_SHAPE,
  type WrittenRoute
} from "./Draft.ts"
import {
  allPositions,
  coordOf,
  decimal,
  MAX_READ_POSITIONS,
  MAX_WORDS,
  nextGroups,
  positionOf,
  takerOf
} from "./FileValues.ts"

type JsonObject = Readonly<Record<string, unknown>>

interface Part {
  readonly type: string
  readonly coordinates: ReadonlyArray<unknown>
  readonly properties: JsonObject
}

const MAX_DEPTH = 32

/** Twice the values of 100,000 positions with elevations; nested geometries have two levels each. */
const FILE_LIMITS: TextLimits = { depth: 3 * MAX_DEPTH, values: 8 * MAX_POSITIONS }

const objectOf = (value: unknown): JsonObject => Predicate.isReadonlyObject(value) ? value : {}

const listOf = (value: unknown): ReadonlyArray<unknown> => Array.isArray(value) ? value : []

const textOf = (value: unknown): string | undefined => typeof value === "string" ? value : undefined

const numberOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined

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
        type: textOf(object["type"]) ?? "object without a type",
        coordinates: listOf(object["coordinates"]),
        properties
      }]
  }
}

/** Numbers after the elevation have no meaning (RFC 7946, 3.1.1). */
const readPosition = (value: unknown): Position | undefined => {
  const [lng, lat, elevation] = listOf(value)
  return positionOf(numberOf(lng), numberOf(lat), numberOf(elevation))
}

const isLine = ({ properties, type }: Part) =>
  type === "LineString" || type === "MultiLineString" || (type === "Point" && properties["role"] === "geometry")

const isPoint = (part: Part) => part.type === "Point" && !isLine(part)

const linesOf = ({ coordinates, type }: Part): ReadonlyArray<ReadonlyArray<unknown>> => {
  if (type === "MultiLineString") return coordinates.map(listOf)
  return type === "Point" ? [[coordinates]] : [coordinates]
}

const droppedOf = (parts: ReadonlyArray<Part>): ReadonlyArray<Dropped> => {
  const others = Map.groupBy(parts.filter((part) => !isLine(part) && !isPoint(part)), ({ type }) => type.slice(0, 64))
  const elevations = parts.filter((part) => isPoint(part) && part.coordinates.length > 2).length
  return [
    ...[...others].map(([what, { length }]) => ({ what, why: OTHER_SHAPE, count: length })),
    ...droppedIf(elevations, "elevations of waypoints", "a waypoint has no elevation")
  ]
}

const waypointOf = ({ properties }: Part, position: Position): DraftWaypoint => ({
  coord: coordOf(position),
  type: textOf(properties["type"]),
  name: textOf(properties["name"]),
  timestamp: textOf(properties["timestamp"])
})

/** Names come from the only route's feature, features without a geometry, then the root. */
const aboutOf = (root: JsonObject, features: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> => [
  ...(features.length === 1 ? features : []),
  ...listOf(root["features"]).map(objectOf).filter((feature) => feature["geometry"] === null).map((feature) =>
    objectOf(feature["properties"])
  ),
  root
]

const parseJson = (text: string) => {
  const excess = excessOf(Buffer.from(text), FILE_LIMITS)
  return excess !== undefined
    ? Effect.fail(new InvalidInput({ issues: [excess] }))
    : Effect.try({
      try: (): unknown => JSON.parse(text),
      catch: (cause) => InvalidInput.at("", `Malformed JSON: ${cause instanceof Error ? cause.message : ""}`)
    })
}

const saidOf = (about: ReadonlyArray<JsonObject>) => ({
  names: about.map((object) => textOf(object["name"])),
  descriptions: about.map((object) => textOf(object["description"])),
  tags: about.flatMap((object) => listOf(object["tags"]).slice(0, MAX_WORDS)).filter((tag) => typeof tag === "string"),
  activity: about.map((object) => textOf(object["activity"])).find((activity) => activity !== undefined)
})

const trackOf = (properties: JsonObject, segments: DraftTrack["segments"]): DraftTrack => ({
  ...saidOf([properties]),
  waypoints: [],
  segments,
  seconds: undefined
})

const tracksOf = (parts: ReadonlyArray<Part>, positions: ReadonlyArray<Position>): ReadonlyArray<DraftTrack> => {
  const next = takerOf(positions)
  return [...Map.groupBy(parts, ({ properties }) => properties)].map(([properties, lines]) =>
    trackOf(properties, nextGroups(next, lines.flatMap(linesOf).map(({ length }) => length)))
  )
}

/** Reads RFC 7946: lines are tracks, points are waypoints of all tracks. */
export const readGeoJson = Effect.fnUntraced(function*(text: string): Effect.fn.Return<DraftFile, InvalidInput> {
  const root = yield* parseJson(text)
  const parts = partsOf(root, {}, 0)
  const lineParts = parts.filter(isLine)
  const points = parts.filter(isPoint)
  const positions = yield* allPositions(lineParts.flatMap(linesOf).flat(), readPosition, {
    what: "positions",
    path: "line",
    max: MAX_READ_POSITIONS
  })
  const coords = yield* allPositions(points, ({ coordinates }) => readPosition(coordinates), {
    what: "waypoints",
    path: "points",
    max: MAX_WAYPOINTS
  })
  const file: DraftFile = {
    ...saidOf(aboutOf(objectOf(root), [...new Set(lineParts.map(({ properties }) => properties))])),
    waypoints: points.flatMap((part, index) => coords[index] === undefined ? [] : [waypointOf(part, coords[index])]),
    tracks: tracksOf(lineParts, positions),
    dropped: droppedOf(parts)
  }
  return file
})

const positionText = (position: Position) => `[${position.map(decimal).join(",")}]`

const feature = (properties: unknown) => `{"type":"Feature","properties":${JSON.stringify(properties)},"geometry":`

/** A line needs two positions (RFC 7946, 3.1.4): one is a point, none a feature without a geometry (3.2). */
function* lineOf(geometry: ReadonlyArray<Position>): Generator<string> {
  const [first] = geometry
  if (first === undefined) {
    yield "null"
  } else if (geometry.length === 1) {
    yield `{"type":"Point","coordinates":${positionText(first)}}`
  } else {
    yield `{"type":"LineString","coordinates":[${positionText(first)}`
    for (const position of geometry.slice(1)) yield `,\n${positionText(position)}`
    yield "]}"
  }
}

/** Writes RFC 7946: one feature for the line and the route's properties, then one for each waypoint. */
export function* writeGeoJson(route: WrittenRoute): Generator<string> {
  const { activity, createdAt, description, geometry, name, tags, waypoints } = route
  yield "{\"type\":\"FeatureCollection\",\"features\":[\n"
  yield feature({ role: "geometry", name, description, tags, activity, createdAt })
  yield* lineOf(geometry)
  yield "}"
  for (const { coord, name, timestamp, type } of waypoints) {
    yield `,\n${feature({ role: "waypoint", name, type, timestamp })}`
    yield `{"type":"Point","coordinates":${positionText(coord)}}}`
  }
  yield "\n]}\n"
}
