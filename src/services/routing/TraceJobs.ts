import { Option, Predicate, Result, Schema } from "effect"
import type { ValidationIssue } from "../../schema/Issues.ts"
import {
  type MatchedPoint,
  MAX_TRACE,
  MIN_TRACE,
  type TraceAnswer,
  TraceEdge,
  type TracePoint,
  TraceRequest,
  TraceRoom
} from "../../schema/Routing.ts"
import { HeavyJob } from "../admission/HeavyJob.ts"
import { decodeBounded } from "../bodies/BoundedJson.ts"
import { longBodyJob } from "../bodies/LongBody.ts"
import { type Coordinates, isOnEarth, metresAlong } from "../geometry/Geodesy.ts"
import { decodePolyline, encodePolyline, positionCount } from "../geometry/Polyline.ts"
import { surfaceShares } from "./TripJobs.ts"

/** JSON text: the engine's response for a piece, or the points of a piece without roads. */
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

const parse = Option.liftThrowable((text: string): unknown => JSON.parse(text))

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

interface Joined {
  readonly lats: ReadonlyArray<number>
  readonly lngs: ReadonlyArray<number>
  readonly edges: ReadonlyArray<TraceEdge>
  readonly points: ReadonlyArray<MatchedPoint>
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

const join = (matches: ReadonlyArray<Match>): Joined => {
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

const kilometresOf = (edges: ReadonlyArray<TraceEdge>) => edges.reduce((sum, { length }) => sum + length, 0)

/** A partial match is no error: `coverage` is its share. */
const responseOf = ({ edges, lats, lngs, points }: Joined, metres: number): TraceAnswer | undefined => {
  const total = kilometresOf(edges)
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
  const matches: Array<Match> = []
  for (const piece of pieces) {
    const match = "match" in piece ? matchOf(piece.match) : unmatched(piece.unmatched)
    if (match === undefined) return undefined
    matches.push(match)
  }
  const response = responseOf(join(matches), metres)
  return response && new TextEncoder().encode(JSON.stringify(response))
}

/** The engine allows 16,000 points and 200 km; the rest is a margin for its own measure. */
const MAX_PIECE_POINTS = 16_000
const MAX_PIECE_METRES = 190_000

export interface MeasuredTrace {
  readonly member: "shape" | "encodedPolyline"
  readonly metres: number
  /** JSON arrays within the engine's limits; each begins with the last point of the previous one. */
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
  const starts = [0]
  along.forEach((metres, index) => {
    const start = starts.at(-1) ?? 0
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
  const pieces = piecesOf(points, along).map((piece) => JSON.stringify(piece))
  return { member, metres: along.at(-1) ?? 0, pieces }
}

export const BROKEN_POLYLINE: ValidationIssue = {
  path: "encodedPolyline",
  message: `Expected a polyline with six decimals of 2 to ${MAX_TRACE} points`
}

const measureTrace = ({ encodedPolyline = "", shape }: TraceRequest): MeasuredTrace | undefined => {
  const points = shape ?? decoded(encodedPolyline)
  return points && measured(points, shape === undefined ? "encodedPolyline" : "shape")
}

/** Replaces the points in the text of a body, which needs two of them. */
const TAKEN_OUT = [{ lat: 0, lon: 0 }, { lat: 0, lon: 0 }]

interface TraceParts {
  readonly trace: MeasuredTrace
}

const takePoints = (request: TraceRequest) => {
  const { activity, preferences } = request
  const trace = measureTrace(request)
  if (trace === undefined) return Result.fail([BROKEN_POLYLINE])
  const parts: TraceParts = { trace }
  return Result.succeed({ rest: { activity, preferences, shape: TAKEN_OUT }, parts })
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

const isJson = Option.liftThrowable((text: string) => void JSON.parse(text))

export const checkMatch = new HeavyJob<string, true | undefined>(import.meta.url, {
  name: "check match",
  share: "matches",
  run: (text) => Option.isSome(isJson(text)) || undefined
})
