import { Context, Duration, Effect, Layer } from "effect"
import { MAX_TRACE_METRES } from "../../schema/Limits.ts"
import type { TraceRequest } from "../../schema/Routing.ts"
import { HeavyWork } from "../admission/HeavyWork.ts"
import { InvalidInput, NoPath, TraceTooLong, UpstreamSlow } from "../DomainErrors.ts"
import { positionCount } from "../geometry/Polyline.ts"
import { ENGINE, type EngineFailure, readBy, RoutingEngine, unusable } from "./Engine.ts"
import { costingOf } from "./Routing.ts"
import {
  BROKEN_POLYLINE,
  checkMatch,
  joinMatches,
  type MeasuredTrace,
  measureShortTrace,
  type PieceMatch
} from "./TraceJobs.ts"

const TIMEOUT = Duration.seconds(28)

/** The work for a point of a polyline, which has as little as two bytes. */
const POINT_BYTES = 16

export class TraceMatching extends Context.Service<TraceMatching, {
  /**
   * Matches a trace in pieces within the engine's limits and joins them: a `TraceAnswer` as JSON in UTF-8, so that no
   * point of a long trace is an object here. `NoPath` if no part follows a road; otherwise parts without a road are
   * omitted.
   */
  readonly match: (request: TraceRequest, trace: MeasuredTrace | undefined) => Effect.Effect<Uint8Array, EngineFailure>
}>()("route-planning-service/TraceMatching") {
  static readonly layer = Layer.effect(
    TraceMatching,
    Effect.gen(function*() {
      const engine = yield* RoutingEngine
      const heavy = yield* HeavyWork

      const measured = Effect.fnUntraced(function*(request: TraceRequest) {
        const bytes = POINT_BYTES * positionCount(request.encodedPolyline ?? "")
        const trace = yield* heavy.run(measureShortTrace, request, bytes)
        return trace ?? (yield* new InvalidInput({ issues: [BROKEN_POLYLINE] }))
      })

      // The response is checked within the call, so that a fault counts as one of the engine. Without a free thread the
      // join checks it.
      const checked = (text: string) =>
        readBy(heavy, checkMatch)(text).pipe(Effect.catchTag("Overloaded", () => Effect.void), Effect.as(text))

      const matchPiece = Effect.fnUntraced(function*(piece: string, request: TraceRequest) {
        const match = engine.call("trace_attributes", engineRequest(piece, request), checked)
        return yield* Effect.map(match, (match): PieceMatch => ({ match })).pipe(
          Effect.catchTag("NoPath", () => Effect.succeed<PieceMatch>({ unmatched: piece }))
        )
      })

      return TraceMatching.of({
        match: Effect.fnUntraced(
          function*(request, given) {
            const trace = given ?? (yield* measured(request))
            if (trace.metres > MAX_TRACE_METRES) {
              return yield* new TraceTooLong({ member: trace.member, metres: MAX_TRACE_METRES })
            }
            const pieces = yield* Effect.forEach(trace.pieces, (piece) => matchPiece(piece, request), {
              concurrency: 2
            })
            if (pieces.every((piece) => "unmatched" in piece)) return yield* new NoPath({ of: "trace" })
            const joined = yield* heavy.run(joinMatches, { pieces, metres: trace.metres }, charactersOf(pieces))
            return joined ?? (yield* unusable())
          },
          Effect.timeoutOrElse({ duration: TIMEOUT, orElse: () => Effect.fail(new UpstreamSlow({ name: ENGINE })) })
        )
      })
    })
  )
}

const charactersOf = (pieces: ReadonlyArray<PieceMatch>) =>
  pieces.reduce((sum, piece) => sum + ("match" in piece ? piece.match : piece.unmatched).length, 0)

const engineRequest = (shape: string, { activity, preferences = {} }: TraceRequest) => {
  const rest = JSON.stringify({
    ...costingOf(activity, preferences, undefined),
    shape_match: "map_snap",
    units: "kilometers",
    filters: { attributes: ATTRIBUTES, action: "include" }
  })
  return `{"shape":${shape},${rest.slice(1)}`
}

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
