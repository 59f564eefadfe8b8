import { Array as Arr, Option, Predicate, Result, Schema } from "effect"
import { isLatitude, isLongitude, type Position } from "../../schema/Geometry.ts"
import type { ValidationIssue } from "../../schema/Issues.ts"
import { Maneuver, MAX_INSTRUCTION, MAX_MANEUVERS } from "../../schema/Maneuver.ts"
import { MAX_DISTANCE, upTo } from "../../schema/Measures.ts"
import {
  type MatchedPoint,
  MAX_TRACE,
  MIN_TRACE,
  type SurfaceShares,
  type TraceAnswer,
  TraceEdge,
  type TracePoint,
  TraceRequest,
  TraceRoom
} from "../../schema/Routing.ts"
import { HeavyJob } from "../admission/HeavyJob.ts"
import { decodeBounded, longBodyJob } from "../bodies/BoundedJson.ts"
import { MAX_ELEVATION } from "../geometry/Elevation.ts"
import { type Coordinates, coordinatesOf, isOnEarth, metresAlong } from "../geometry/Geodesy.ts"
import { type MeasuredPolyline, measurePositions, positionsOf, readSegments } from "../geometry/MeasuredPolyline.ts"
import { decodePolyline, encodePolyline, positionCount } from "../geometry/Polyline.ts"

const parse = Option.liftThrowable((text: string): unknown => JSON.parse(text))

const ELEVATIONS = "elevations"

/** The engine takes 750,000 (`service_limits.skadi.max_shape`); fewer keep a call short. */
const POSITIONS_A_CALL = 20_000

/** North of it an elevation can end Valhalla 3.9.1, and near both poles its search for a road takes seconds. */
const POLAR_LATITUDE = 89

export const isPolar = (lat: number): boolean => Math.abs(lat) >= POLAR_LATITUDE

/** A polyline has six decimals. */
const LAST_LATITUDE = POLAR_LATITUDE - 1e-6

const isBare = (position: Position) => position.length === 2

/** The positions lack an elevation, and are at most those of one call. */
export interface BarePositions {
  readonly polyline: string
  readonly count: number
}

export const readBare = new HeavyJob<string, ReadonlyArray<BarePositions>>(import.meta.url, {
  name: "read positions without elevation",
  share: ELEVATIONS,
  run: (json) => {
    const bare = positionsOf(json).filter(isBare)
    const calls = Math.ceil(bare.length / POSITIONS_A_CALL)
    return Array.from({ length: calls }, (_, call) => {
      const positions = bare.slice(call * POSITIONS_A_CALL, (call + 1) * POSITIONS_A_CALL)
      const { lats, lngs } = coordinatesOf(positions)
      const read = lats.map((lat) => Math.min(lat, LAST_LATITUDE))
      return { polyline: encodePolyline({ lats: read, lngs }), count: positions.length }
    })
  }
})

const Heights = Schema.Struct({
  height: Schema.Array(Schema.NullOr(Schema.Finite)).check(Schema.isMaxLength(POSITIONS_A_CALL))
})

const decodeHeights = Schema.decodeUnknownOption(Schema.fromJsonString(Heights))

/** Returns NaN for a position without an elevation; undefined for an unusable response. */
export const readHeights = new HeavyJob<string, Float64Array | undefined>(import.meta.url, {
  name: "read elevations",
  share: ELEVATIONS,
  run: (text) =>
    Option.getOrUndefined(
      Option.map(decodeHeights(text), ({ height }) => Float64Array.from(height, (metres) => metres ?? Number.NaN))
    )
})

export interface FilledLine {
  readonly line: MeasuredPolyline
  readonly filled: number
  readonly missing: number
}

interface Bare {
  readonly json: string
  readonly segments: string | null | undefined
  /** The elevations are those of the positions without one, in their order. */
  readonly heights: Float64Array
}

export const fillHeights = new HeavyJob<Bare, FilledLine>(import.meta.url, {
  name: "fill elevations",
  share: ELEVATIONS,
  run: ({ heights, json, segments }) => {
    const seen = { bare: 0, filled: 0 }
    const positions = positionsOf(json).map((position): Position => {
      if (!isBare(position)) return position
      const height = heights[seen.bare++] ?? Number.NaN
      // The engine sends -32,768 where it has no elevation.
      if (!(Math.abs(height) <= MAX_ELEVATION)) return position
      seen.filled++
      return [position[0], position[1], height]
    })
    const given = typeof segments === "string" ? readSegments(segments) : segments
    return { line: measurePositions(positions, given), filled: seen.filled, missing: seen.bare - seen.filled }
  }
})

/** The JSON text is the engine's response for a piece, or the points of a piece without roads. */
export type PieceMatch = { readonly match: string } | { readonly unmatched: string }

interface MatchedPieces {
  readonly pieces: ReadonlyArray<PieceMatch>
  readonly metres: number
}

interface Match {
  readonly line: Coordinates
  readonly edges: ReadonlyArray<TraceEdge>
  readonly points: ReadonlyArray<MatchedPoint>
}

/** The schema of a matched point takes 45 ms for 16,000 of them, this 1. */
const isMatchedPoint = (value: unknown): value is MatchedPoint =>
  Predicate.isObject(value)
  && "lat" in value && Number.isFinite(value.lat)
  && "lon" in value && Number.isFinite(value.lon)
  && "type" in value && typeof value.type === "string"
  && (!("edge_index" in value) || Number.isFinite(value.edge_index))
  && (!("distance_from_trace_point" in value) || Number.isFinite(value.distance_from_trace_point))

const isPoints = (value: unknown): value is ReadonlyArray<MatchedPoint> =>
  Array.isArray(value) && value.every(isMatchedPoint)

const decodeEdges = Schema.decodeUnknownOption(Schema.Array(TraceEdge))

const matchOf = (text: string): Match | undefined => {
  const body = Option.getOrUndefined(parse(text))
  if (!Predicate.isObject(body) || !("shape" in body) || typeof body.shape !== "string") return undefined
  const edges = Option.getOrUndefined(decodeEdges("edges" in body ? body.edges : undefined))
  const points = "matched_points" in body ? body.matched_points : []
  const line = decodePolyline(body.shape)
  return edges === undefined || line === undefined || !isPoints(points) ? undefined : { line, edges, points }
}

const isTrace = (value: unknown): value is ReadonlyArray<TracePoint> => Array.isArray(value)

const NO_LINE: Coordinates = { lats: new Float64Array(), lngs: new Float64Array() }

const unmatched = (text: string): Match => {
  const points = Option.getOrUndefined(Option.filter(parse(text), isTrace)) ?? []
  return { line: NO_LINE, edges: [], points: points.map(({ lat, lon }) => ({ lat, lon, type: "unmatched" })) }
}

const shiftEdge = (edge: TraceEdge, by: number): TraceEdge => ({
  ...edge,
  begin_shape_index: edge.begin_shape_index + by,
  end_shape_index: edge.end_shape_index + by
})

const shiftPoint = ({ distance_from_trace_point, edge_index, lat, lon, type }: MatchedPoint, by: number) => ({
  lat,
  lon,
  type,
  ...(edge_index === undefined ? {} : { edge_index: edge_index + by }),
  ...(distance_from_trace_point === undefined ? {} : { distance_from_trace_point })
})

const join = (matches: ReadonlyArray<Match>) => {
  const lats: Array<number> = []
  const lngs: Array<number> = []
  const edges: Array<TraceEdge> = []
  const points: Array<MatchedPoint> = []
  for (const match of matches) {
    const { line } = match
    const isJoint = lats.length > 0 && line.lats[0] === lats.at(-1) && line.lngs[0] === lngs.at(-1)
    const joint = isJoint ? 1 : 0
    const shapeOffset = lats.length - joint
    const edgeOffset = edges.length
    for (const point of points.length === 0 ? match.points : match.points.slice(1)) {
      points.push(shiftPoint(point, edgeOffset))
    }
    for (const edge of match.edges) edges.push(shiftEdge(edge, shapeOffset))
    for (const lat of line.lats.subarray(joint)) lats.push(lat)
    for (const lng of line.lngs.subarray(joint)) lngs.push(lng)
  }
  return { lats, lngs, edges, points }
}

const round = (value: number, decimals: number) => Number(value.toFixed(decimals))

/** A partial match is no error: `coverage` is its share. */
const responseOf = (matches: ReadonlyArray<Match>, metres: number): TraceAnswer | undefined => {
  const { edges, lats, lngs, points } = join(matches)
  const total = edges.reduce((sum, { length }) => sum + length, 0)
  const surfaces = surfaceShares(edges)
  // A sum of finite lengths may be infinite, which JSON has as null.
  const figures = [total, ...surfaces.flatMap(({ length, share }) => [length, share])]
  if (!figures.every(Number.isFinite)) return undefined
  return {
    coverage: metres === 0 ? 0 : round(Math.min(1, total * 1000 / metres), 4),
    shape: encodePolyline({ lats, lngs }),
    edges,
    matched_points: points,
    surfaces
  }
}

/** Joins the pieces as JSON in UTF-8; undefined for an unusable response of the engine. */
const joinPieces = ({ metres, pieces }: MatchedPieces): Uint8Array | undefined => {
  const read = pieces.map((piece) => "match" in piece ? matchOf(piece.match) : unmatched(piece.unmatched))
  const matches = read.filter((match) => match !== undefined)
  const response = matches.length < read.length ? undefined : responseOf(matches, metres)
  return response && new TextEncoder().encode(JSON.stringify(response))
}

/** The engine allows 16,000 points and 200 km; the rest is a margin for its own measure. */
const MAX_PIECE_POINTS = 16_000
const MAX_PIECE_METRES = 190_000

export interface MeasuredTrace {
  readonly member: "shape" | "encodedPolyline"
  readonly metres: number
  /**
   * The JSON arrays are within the engine's limits; each begins with the last point of the previous one. There are none
   * for a trace that comes near a pole.
   */
  readonly pieces: ReadonlyArray<string>
}

type Points = ReadonlyArray<TracePoint>

const decoded = (encoded: string): Points | undefined => {
  if (positionCount(encoded) > MAX_TRACE) return undefined
  const line = decodePolyline(encoded)
  if (line === undefined || line.lats.length < MIN_TRACE || !isOnEarth(line)) return undefined
  return Array.from(line.lats, (lat, index) => ({ lat, lon: line.lngs[index] ?? 0 }))
}

const piecesOf = (points: Points, along: Float64Array): ReadonlyArray<Points> => {
  const starts: Arr.NonEmptyArray<number> = [0]
  along.forEach((metres, index) => {
    const start = Arr.lastNonEmpty(starts)
    const isOver = index - start >= MAX_PIECE_POINTS || metres - (along[start] ?? 0) > MAX_PIECE_METRES
    if (isOver && index > start + 1) starts.push(index - 1)
  })
  return starts.map((start, n) => points.slice(start, (starts[n + 1] ?? points.length) + 1))
}

const measured = (points: Points, member: MeasuredTrace["member"]): MeasuredTrace => {
  const along = metresAlong({
    lats: Float64Array.from(points, ({ lat }) => lat),
    lngs: Float64Array.from(points, ({ lon }) => lon)
  })
  const pieces = points.some(({ lat }) => isPolar(lat)) ? [] : piecesOf(points, along)
  return { member, metres: along.at(-1) ?? 0, pieces: pieces.map((piece) => JSON.stringify(piece)) }
}

export const BROKEN_POLYLINE: ValidationIssue = {
  path: "encodedPolyline",
  message: `Expected a polyline with six decimals of 2 to ${MAX_TRACE} points`
}

const measureTrace = ({ encodedPolyline = "", shape }: TraceRequest): MeasuredTrace | undefined => {
  const points = shape ?? decoded(encodedPolyline)
  return points && measured(points, shape === undefined ? "encodedPolyline" : "shape")
}

/** The text of a body, which needs two points, has these in place of its own. */
const TAKEN_OUT = Array.from({ length: MIN_TRACE }, () => ({ lat: 0, lon: 0 }))

const takePoints = (request: TraceRequest) => {
  const { activity, preferences } = request
  const trace = measureTrace(request)
  if (trace === undefined) return Result.fail([BROKEN_POLYLINE])
  return Result.succeed({ rest: { activity, preferences, shape: TAKEN_OUT }, parts: { trace } })
}

const decodeTrace = decodeBounded(TraceRequest, TraceRoom)

export const readTrace = longBodyJob(
  import.meta.url,
  "read trace",
  (text) => Result.flatMap(decodeTrace(text), takePoints)
)

/** Reads a short body: its encoded polyline may still have thousands of points. */
export const measureShortTrace = new HeavyJob<TraceRequest, MeasuredTrace | undefined>(import.meta.url, {
  name: "measure trace",
  share: "traces",
  run: measureTrace
})

export const joinMatches = new HeavyJob<MatchedPieces, Uint8Array | undefined>(import.meta.url, {
  name: "join matches",
  share: "traces",
  run: joinPieces
})

export const checkMatch = new HeavyJob<string, true | undefined>(import.meta.url, {
  name: "check match",
  share: "matches",
  run: (text) => Option.isSome(parse(text)) || undefined
})

const TRIPS = "routes of the engine"

const Response = Schema.Struct({
  trip: Schema.Struct({
    legs: Schema.NonEmptyArray(Schema.Struct({
      shape: Schema.String,
      summary: Schema.Struct({ length: Schema.Finite, time: Schema.Finite }),
      maneuvers: Schema.optionalKey(
        Schema.Array(Schema.Struct({ ...Maneuver.fields, instruction: Schema.String })).check(
          Schema.isMaxLength(MAX_MANEUVERS)
        )
      )
    })),
    summary: Schema.Struct({
      has_ferry: Schema.optionalKey(Schema.Boolean),
      has_highway: Schema.optionalKey(Schema.Boolean)
    })
  })
})

type Leg = typeof Response.Type["trip"]["legs"][number] & { readonly line: Coordinates }

const decodeResponse = Schema.decodeUnknownOption(Response)

const pointOf = (line: Coordinates | undefined, index: number) => ({
  lat: line?.lats.at(index) ?? Number.NaN,
  lon: line?.lngs.at(index) ?? Number.NaN
})

/** The engine returns requested locations; the snapped ones are the ends of the legs. */
const snappedOf = (legs: ReadonlyArray<Leg>) =>
  [pointOf(legs[0]?.line, 0), ...legs.map(({ line }) => pointOf(line, -1))]
    .filter(({ lat, lon }) => isLatitude(lat) && isLongitude(lon))
    .map(({ lat, lon }, original_index) => ({ lat, lon, original_index }))

/** Joins the maneuvers of all legs. The engine's indexes are into each leg, these into the joined polyline. */
const maneuversOf = (legs: ReadonlyArray<Leg>): ReadonlyArray<Maneuver> => {
  const joined = { offset: 0 }
  return legs.flatMap(({ line, maneuvers = [] }) => {
    const { offset } = joined
    joined.offset += Math.max(0, line.lats.length - 1)
    return maneuvers.map(({ begin_shape_index, instruction, ...maneuver }) => ({
      ...maneuver,
      instruction: [...instruction.toWellFormed()].slice(0, MAX_INSTRUCTION).join(""),
      begin_shape_index: offset + begin_shape_index
    }))
  })
}

const hasIndexesOf = (legs: ReadonlyArray<Leg>) =>
  legs.every(({ line, maneuvers = [] }) =>
    maneuvers.every(({ begin_shape_index }) => begin_shape_index < line.lats.length)
  )

const tripOf = ({ trip: { legs: given, summary } }: typeof Response.Type) => {
  const legs = given.flatMap((leg): ReadonlyArray<Leg> => {
    const line = decodePolyline(leg.shape)
    return line === undefined ? [] : [{ ...leg, line }]
  })
  const maneuvers = maneuversOf(legs)
  if (legs.length < given.length || maneuvers.length > MAX_MANEUVERS || !hasIndexesOf(legs)) return Option.none()
  return Option.some({
    legs: legs.map(({ shape, summary }) => ({ shape, summary })),
    summary,
    locations: snappedOf(legs),
    maneuvers
  })
}

export type Trip = Option.Option.Value<ReturnType<typeof tripOf>>

export const readTrip = new HeavyJob<string, Trip | undefined>(import.meta.url, {
  name: "read trip",
  share: TRIPS,
  run: (text) => Option.getOrUndefined(Option.flatMap(Option.flatMap(parse(text), decodeResponse), tripOf))
})

const UNKNOWN_SURFACE = "unknown"

/** Sums up the surfaces of parts of a line. The longest comes first. */
export const surfaceShares = (
  parts: ReadonlyArray<{ readonly surface?: string | undefined; readonly length: number }>
): SurfaceShares => {
  const lengths = new Map<string, number>()
  for (const { length, surface = UNKNOWN_SURFACE } of parts) lengths.set(surface, (lengths.get(surface) ?? 0) + length)
  const total = parts.reduce((sum, { length }) => sum + length, 0)
  return [...lengths]
    .map(([surface, length]) => ({
      surface,
      length: round(length, 3),
      share: total === 0 ? 0 : round(length / total, 4)
    }))
    .toSorted((a, b) => b.length - a.length)
}

export interface Ways {
  readonly hasUnpaved: boolean
  readonly hasHighway: boolean
  readonly surfaces: SurfaceShares
}

const HIGHWAYS = new Set(["motorway", "trunk"])

const decodeWalked = Schema.decodeUnknownOption(Schema.Struct({
  edges: Schema.Array(Schema.Struct({
    surface: Schema.optionalKey(Schema.String),
    length: Schema.optionalKey(Schema.Finite.check(upTo(MAX_DISTANCE / 1000))),
    unpaved: Schema.optionalKey(Schema.Boolean),
    road_class: Schema.optionalKey(Schema.String)
  }))
}))

const waysOf = (body: unknown): Ways => {
  const { edges } = Option.getOrElse(decodeWalked(body), () => ({ edges: [] }))
  return {
    hasUnpaved: edges.some(({ unpaved }) => unpaved === true),
    hasHighway: edges.some(({ road_class = "" }) => HIGHWAYS.has(road_class)),
    surfaces: surfaceShares(edges.flatMap(({ length, surface }) => length === undefined ? [] : [{ length, surface }]))
  }
}

export const readWays = new HeavyJob<string, Ways | undefined>(import.meta.url, {
  name: "read ways",
  share: TRIPS,
  run: (text) => Option.getOrUndefined(Option.map(parse(text), waysOf))
})

/** Older engines return null for none. */
const decodeLocated = Schema.decodeUnknownOption(
  Schema.Array(Schema.Struct({ edges: Schema.NullOr(Schema.Array(Schema.Unknown)) }))
)

const roadlessOf = (body: unknown): ReadonlyArray<number> =>
  Option.getOrElse(decodeLocated(body), () => [])
    .flatMap(({ edges }, index) => edges === null || edges.length === 0 ? [index] : [])

export const readRoadless = new HeavyJob<string, ReadonlyArray<number> | undefined>(import.meta.url, {
  name: "read locations",
  share: TRIPS,
  run: (text) => Option.getOrUndefined(Option.map(parse(text), roadlessOf))
})
