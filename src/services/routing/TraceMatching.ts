import polyline from "@mapbox/polyline"
import { Context, Effect, Layer, Schema } from "effect"
import {
  BadGateway,
  type GatewayTimeout,
  type NotFound,
  type Unavailable,
  ValidationFailed
} from "../../schema/Errors.ts"
import type { Position } from "../../schema/Geometry.ts"
import { MatchedPoint, type TraceAnswer, TraceEdge, type TracePoint, type TraceRequest } from "../../schema/Routing.ts"
import { lengthOf } from "../routes/Geodesy.ts"
import { costingOf } from "./EngineOptions.ts"
import { RoutingEngine } from "./RoutingEngine.ts"

/** The engine's own limits are 16,000 points and 200 km; a little is left for how it measures. */
const MAX_PIECE_POINTS = 16_000
const MAX_PIECE_METRES = 190_000

/** A trace of as many points needs four; what needs more goes around the world. */
const MAX_PIECES = 12

const MAX_TRACE = 50_000

const POLYLINE_PRECISION = 6

const UNKNOWN_SURFACE = "unknown"

type Failure = ValidationFailed | NotFound | BadGateway | Unavailable | GatewayTimeout

/** Recorded traces on the road network. */
export class TraceMatching extends Context.Service<TraceMatching, {
  /** Aligns a trace, in pieces where it is longer than the engine takes; the pieces are joined. */
  readonly match: (request: TraceRequest) => Effect.Effect<TraceAnswer, Failure>
}>()("route-planning-service/TraceMatching") {
  static readonly layer = Layer.effect(
    TraceMatching,
    Effect.gen(function*() {
      const engine = yield* RoutingEngine

      const matchPiece = Effect.fnUntraced(function*(piece: ReadonlyArray<TracePoint>, request: TraceRequest) {
        const body = yield* engine.call("trace_attributes", engineRequest(piece, request))
        return yield* Effect.mapError(decodeMatch(body), () => garbage)
      })

      return TraceMatching.of({
        match: Effect.fn("TraceMatching.match")(function*(request) {
          const points = yield* pointsOf(request)
          const pieces = piecesOf(points)
          if (pieces.length > MAX_PIECES) return yield* tooFar
          const matches = yield* Effect.forEach(pieces, (piece) => matchPiece(piece, request), { concurrency: 2 })
          return toAnswer(matches, metresOf(points))
        })
      })
    })
  )
}

const garbage = new BadGateway({ message: "The routing engine gave an answer that cannot be used" })

const tooFar = new ValidationFailed({
  message: "The trace is too long",
  details: { reason: "too_far", issues: [{ path: "shape", message: "Expected a trace of at most 2,000 km" }] }
})

const engineRequest = (shape: ReadonlyArray<TracePoint>, { activity, preferences = {} }: TraceRequest) =>
  JSON.stringify({
    shape,
    ...costingOf(activity, preferences, undefined),
    shape_match: "map_snap",
    units: "kilometers",
    filters: { attributes: ATTRIBUTES, action: "include" }
  })

const ATTRIBUTES = [
  "edge.surface",
  "edge.length",
  "edge.names",
  "edge.road_class",
  "edge.use",
  "edge.unpaved",
  "edge.way_id",
  "edge.speed",
  "edge.begin_shape_index",
  "edge.end_shape_index",
  "shape",
  "matched.point",
  "matched.type",
  "matched.edge_index",
  "matched.distance_from_trace_point"
]

const Match = Schema.Struct({
  shape: Schema.String,
  edges: Schema.Array(TraceEdge),
  matched_points: Schema.optionalKey(Schema.Array(MatchedPoint))
})
type Match = typeof Match.Type

const decodeMatch = Schema.decodeUnknownEffect(Match)

const isOnEarth = ([lat, lon]: readonly [number, number]) => Math.abs(lat) <= 90 && Math.abs(lon) <= 180

const pointsOf = Effect.fnUntraced(function*({ encodedPolyline, shape }: TraceRequest) {
  if (shape !== undefined) return shape
  const line = polyline.decode(encodedPolyline ?? "", POLYLINE_PRECISION)
  if (line.length < 2 || line.length > MAX_TRACE || !line.every(isOnEarth)) {
    return yield* ValidationFailed.at(
      "encodedPolyline",
      `Expected a polyline with six decimals of 2 to ${MAX_TRACE} points`
    )
  }
  return line.map(([lat, lon]): TracePoint => ({ lat, lon }))
})

const positionOf = ({ lat, lon }: TracePoint): Position => [lon, lat]

const metresOf = (points: ReadonlyArray<TracePoint>) => lengthOf(points.map(positionOf))

/** How far along the trace each point is, in metres. */
const distancesAlong = (points: ReadonlyArray<TracePoint>): ReadonlyArray<number> => {
  const along: Array<number> = []
  points.forEach((point, index) => {
    const previous = points[index - 1]
    along.push(previous === undefined ? 0 : (along[index - 1] ?? 0) + metresOf([previous, point]))
  })
  return along
}

/** Pieces within the engine's limits; each begins where the one before it ended. */
const piecesOf = (points: ReadonlyArray<TracePoint>): ReadonlyArray<ReadonlyArray<TracePoint>> => {
  const along = distancesAlong(points)
  const from = (start: number): ReadonlyArray<ReadonlyArray<TracePoint>> => {
    const end = along.findIndex((metres, index) =>
      index > start + 1
      && (index - start >= MAX_PIECE_POINTS || metres - (along[start] ?? 0) > MAX_PIECE_METRES)
    )
    return end === -1 ? [points.slice(start)] : [points.slice(start, end), ...from(end - 1)]
  }
  return from(0)
}

interface Joined {
  readonly line: ReadonlyArray<[number, number]>
  readonly edges: ReadonlyArray<TraceEdge>
  readonly points: ReadonlyArray<MatchedPoint>
}

const shiftEdge = (by: number) => (edge: TraceEdge): TraceEdge => ({
  ...edge,
  begin_shape_index: edge.begin_shape_index + by,
  end_shape_index: edge.end_shape_index + by
})

const shiftPoint = (by: number) => (point: MatchedPoint): MatchedPoint =>
  point.edge_index === undefined ? point : { ...point, edge_index: point.edge_index + by }

const join = ({ edges, line, points }: Joined, match: Match): Joined => ({
  line: [...line, ...polyline.decode(match.shape, POLYLINE_PRECISION)],
  edges: [...edges, ...match.edges.map(shiftEdge(line.length))],
  points: [...points, ...(match.matched_points ?? []).map(shiftPoint(edges.length))]
})

const round = (value: number, decimals: number) => Number(value.toFixed(decimals))

const surfacesOf = (edges: ReadonlyArray<TraceEdge>) => {
  const lengths = edges.reduce(
    (sums, { length, surface = UNKNOWN_SURFACE }) => sums.set(surface, (sums.get(surface) ?? 0) + length),
    new Map<string, number>()
  )
  const total = [...lengths.values()].reduce((sum, length) => sum + length, 0)
  return [...lengths]
    .map(([surface, length]) => ({
      surface,
      length: round(length, 3),
      share: total === 0 ? 0 : round(length / total, 4)
    }))
    .toSorted((a, b) => b.length - a.length)
}

/** A match may be of a part of the trace and is no error then: how much of it there is, the client has to know. */
const toAnswer = (matches: ReadonlyArray<Match>, metres: number): TraceAnswer => {
  const { edges, line, points } = matches.reduce<Joined>(join, { line: [], edges: [], points: [] })
  const matched = edges.reduce((sum, { length }) => sum + length, 0) * 1000
  return {
    coverage: metres === 0 ? 0 : round(Math.min(1, matched / metres), 4),
    shape: polyline.encode([...line], POLYLINE_PRECISION),
    edges,
    matched_points: points,
    surfaces: surfacesOf(edges)
  }
}
