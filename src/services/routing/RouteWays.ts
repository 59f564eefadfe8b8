import { Effect } from "effect"
import type { HeavyWork } from "../heavy/HeavyWork.ts"
import type { Costing } from "./EngineOptions.ts"
import { readBy } from "./EngineResponses.ts"
import type { RoutingEngine } from "./RoutingEngine.ts"
import { readWays, type Ways } from "./TripJobs.ts"

const TIMEOUT = "1 second"

/** `edge_walk` needs no search: the polyline is the engine's own. */
const walkRequest = (shape: string, costing: Costing) =>
  JSON.stringify({
    encoded_polyline: shape,
    ...costing,
    shape_match: "edge_walk",
    filters: { attributes: ["edge.unpaved", "edge.road_class"], action: "include" }
  })

export const waysAlong = (
  engine: RoutingEngine["Service"],
  heavy: HeavyWork["Service"],
  shapes: ReadonlyArray<string>,
  costing: Costing
): Effect.Effect<Ways> =>
  Effect.forEach(
    shapes,
    (shape) => engine.call("trace_attributes", walkRequest(shape, costing), readBy(heavy, readWays)),
    { concurrency: 2 }
  ).pipe(
    Effect.timeout(TIMEOUT),
    Effect.orElseSucceed((): ReadonlyArray<Ways> => []),
    Effect.map((ways) => ({
      hasUnpaved: ways.some(({ hasUnpaved }) => hasUnpaved),
      hasHighway: ways.some(({ hasHighway }) => hasHighway)
    }))
  )
