import polyline from "@mapbox/polyline"
import { Array as Arr, Context, Duration, Effect, Layer, Option, Schema } from "effect"
import { GatewayTimeout, ValidationFailed } from "../../schema/Errors.ts"
import type { Position } from "../../schema/Geometry.ts"
import {
  isOnEarth,
  MatchedPoint,
  POLYLINE_PRECISION,
  type TraceAnswer,
  TraceEdge,
  type TraceRequest
} from "../../schema/Routing.ts"
import { MAX_TRACE, type TracePoint } from "../../schema/TracePoints.ts"
import { lengthOf } from "../routes/Geodesy.ts"
import { costingOf } from "./EngineOptions.ts"
import { type EngineFailure, isNotFound, NO_PATH, noRoadsFollowed, unusable } from "./EngineRefusals.ts"
import { RoutingEngine } from "./RoutingEngine.ts"

/** The engine's own limits are 16,000 points and 200 km; a little is left for how it measures. */
const MAX_PIECE_POINTS = 16_000
const MAX_PIECE_METRES = 190_000

/** Farther than anybody goes in one trace, and not more pieces than the engine gets through in time. */
const MAX_METRES = 2_000_000

/** Less than its endpoint waits for an answer. */
const PATIENCE = Duration.seconds(28)

const UNKNOWN_SURFACE = "unknown"

/** Recorded traces on the road network. */
export class TraceMatching extends Context.Service<TraceMatching, {
  /**
   * Aligns a trace, in pieces where it is longer than the engine takes; the pieces are joined. A part that follows no
   * road is left out of the answer's line, `NotFound` is for a trace of which no part does.
   */
  readonly match: (request: TraceRequest) => Effect.Effect<TraceAnswer, EngineFailure>
}>()("route-planning-service/TraceMatching") {
  static readonly layer = Layer.effect(
    TraceMatching,
    Effect.gen(function*() {
      const engine = yield* RoutingEngine

      const matchPiece = Effect.fnUntraced(
        function*(piece: ReadonlyArray<TracePoint>, request: TraceRequest) {
          const body = yield* engine.call("trace_attributes", engineRequest(piece, request))
          return yield* Effect.mapError(decodeMatch(body), () => unusable)
        },
        Effect.asSome,
        Effect.catchIf(isNotFound(NO_PATH), () => Effect.succeedNone)
      )

      return TraceMatching.of({
        match: Effect.fn("TraceMatching.match")(
          function*(request) {
            const points = yield* pointsOf(request)
            const along = distancesAlong(points)
            const metres = along.at(-1) ?? 0
            if (metres > MAX_METRES) return yield* tooFar(request)
            const pieces = piecesOf(points, along)
            const matches = yield* Effect.forEach(pieces, (piece) => matchPiece(piece, request), { concurrency: 2 })
            if (matches.every(Option.isNone)) return yield* noRoadsFollowed
            return toAnswer(Arr.zipWith(pieces, matches, matchOf), metres)
          },
          Effect.timeoutOrElse({ duration: PATIENCE, orElse: () => Effect.fail(tooSlow) })
        )
      })
    })
  )
}

const tooSlow = new GatewayTimeout({ message: "The routing engine did not answer in time" })

const tooFar = ({ shape }: TraceRequest) =>
  new ValidationFailed({
    message: "The trace is too long",
    details: {
      reason: "too_far",
      issues: [{
        path: shape === undefined ? "encodedPolyline" : "shape",
        message: `Expected a trace of at most ${MAX_METRES / 1000} km`
      }]
    }
  })

type Piece = ReadonlyArray<TracePoint>

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

/** Of a piece that follows no road the points are where they were. */
const matchOf = (piece: Piece, match: Option.Option<Match>): Match =>
  Option.getOrElse(match, () => ({
    shape: "",
    edges: [],
    matched_points: piece.map(({ lat, lon }) => ({ lat, lon, type: "unmatched" }))
  }))

/** The points of a polyline, counted before they are decoded: two numbers each, of which a letter below "_" is the last. */
const pointCount = (encoded: string): number => {
  let numbers = 0
  for (let index = 0; index < encoded.length; index++) {
    if (encoded.charCodeAt(index) < 0x5f) numbers++
  }
  return numbers / 2
}

const pointsOf = Effect.fnUntraced(function*({ encodedPolyline, shape }: TraceRequest) {
  if (shape !== undefined) return shape
  const encoded = encodedPolyline ?? ""
  const line = pointCount(encoded) > MAX_TRACE ? [] : polyline.decode(encoded, POLYLINE_PRECISION)
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
const piecesOf = (points: ReadonlyArray<TracePoint>, along: ReadonlyArray<number>): ReadonlyArray<Piece> => {
  const starts = [0]
  along.forEach((metres, index) => {
    const start = starts.at(-1) ?? 0
    const isOver = index - start >= MAX_PIECE_POINTS || metres - (along[start] ?? 0) > MAX_PIECE_METRES
    if (isOver && index > start + 1) starts.push(index - 1)
  })
  return starts.map((start, n) => points.slice(start, (starts[n + 1] ?? points.length) + 1))
}

interface Joined {
  readonly line: ReadonlyArray<[number, number]>
  readonly edges: ReadonlyArray<TraceEdge>
  readonly points: ReadonlyArray<MatchedPoint>
}

const shiftEdge = (edge: TraceEdge, by: number): TraceEdge => ({
  ...edge,
  begin_shape_index: edge.begin_shape_index + by,
  end_shape_index: edge.end_shape_index + by
})

const shiftPoint = (point: MatchedPoint, by: number): MatchedPoint =>
  point.edge_index === undefined ? point : { ...point, edge_index: point.edge_index + by }

const isSame = ([lat, lon]: [number, number], other: [number, number]) => lat === other[0] && lon === other[1]

/** Where two pieces meet there is one point: it is the last of the first. Linear in the points of all pieces. */
const join = (matches: ReadonlyArray<Match>): Joined => {
  const line: Array<[number, number]> = []
  const edges: Array<TraceEdge> = []
  const points: Array<MatchedPoint> = []
  for (const { edges: more, matched_points = [], shape } of matches) {
    const positions = polyline.decode(shape, POLYLINE_PRECISION)
    const [first, last] = [positions[0], line.at(-1)]
    const isJoint = first !== undefined && last !== undefined && isSame(first, last)
    const shapeOffset = isJoint ? line.length - 1 : line.length
    const edgeOffset = edges.length
    for (const point of points.length === 0 ? matched_points : matched_points.slice(1)) {
      points.push(shiftPoint(point, edgeOffset))
    }
    for (const edge of more) edges.push(shiftEdge(edge, shapeOffset))
    for (const position of isJoint ? positions.slice(1) : positions) line.push(position)
  }
  return { line, edges, points }
}

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
  const { edges, line, points } = join(matches)
  const matched = edges.reduce((sum, { length }) => sum + length, 0) * 1000
  return {
    coverage: metres === 0 ? 0 : round(Math.min(1, matched / metres), 4),
    shape: polyline.encode([...line], POLYLINE_PRECISION),
    edges,
    matched_points: points,
    surfaces: surfacesOf(edges)
  }
}
