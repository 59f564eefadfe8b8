import { Effect, Schema } from "effect"
import type { Costing } from "./EngineOptions.ts"
import type { RoutingEngine } from "./RoutingEngine.ts"

/** What a route that is there goes over. */
export interface Ways {
  readonly hasUnpaved: boolean
  readonly hasHighway: boolean
}

/** What the engine does not tell soon is not waited for: the route itself is there. */
const PATIENCE = "1 second"

const HIGHWAYS = new Set(["motorway", "trunk"])

const Walked = Schema.Struct({
  edges: Schema.Array(Schema.Struct({
    unpaved: Schema.optionalKey(Schema.Boolean),
    road_class: Schema.optionalKey(Schema.String)
  }))
})

const decodeWalked = Schema.decodeUnknownEffect(Walked)

/** Valhalla's `edge_walk`: the line is the engine's own, so it need not look for roads near it. */
const walkRequest = (shape: string, costing: Costing) =>
  JSON.stringify({
    encoded_polyline: shape,
    ...costing,
    shape_match: "edge_walk",
    filters: { attributes: ["edge.unpaved", "edge.road_class"], action: "include" }
  })

/** The ways under lines that the engine gave for this costing; as if there were none where it does not tell. */
export const waysUnder = (
  engine: RoutingEngine["Service"],
  shapes: ReadonlyArray<string>,
  costing: Costing
): Effect.Effect<Ways> =>
  Effect.forEach(
    shapes,
    (shape) => Effect.flatMap(engine.call("trace_attributes", walkRequest(shape, costing)), decodeWalked),
    { concurrency: 2 }
  ).pipe(
    Effect.timeout(PATIENCE),
    Effect.map((walks) => walks.flatMap(({ edges }) => edges)),
    Effect.orElseSucceed(() => []),
    Effect.map((edges) => ({
      hasUnpaved: edges.some(({ unpaved }) => unpaved === true),
      hasHighway: edges.some(({ road_class = "" }) => HIGHWAYS.has(road_class))
    }))
  )
