import { Effect } from "effect"
import type { HeavyWork } from "../heavy/HeavyWork.ts"
import type { Costing } from "./EngineOptions.ts"
import { readBy } from "./EngineResponses.ts"
import type { RoutingEngine } from "./RoutingEngine.ts"
import { readWays, type Ways } from "./TripJobs.ts"

/** What the engine does not tell soon is not waited for: the route itself is there. */
const PATIENCE = "1 second"

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
  heavy: HeavyWork["Service"],
  shapes: ReadonlyArray<string>,
  costing: Costing
): Effect.Effect<Ways> =>
  Effect.forEach(
    shapes,
    (shape) => engine.call("trace_attributes", walkRequest(shape, costing), readBy(heavy, readWays)),
    { concurrency: 2 }
  ).pipe(
    Effect.timeout(PATIENCE),
    Effect.orElseSucceed((): ReadonlyArray<Ways> => []),
    Effect.map((ways) => ({
      hasUnpaved: ways.some(({ hasUnpaved }) => hasUnpaved),
      hasHighway: ways.some(({ hasHighway }) => hasHighway)
    }))
  )
