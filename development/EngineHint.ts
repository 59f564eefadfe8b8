import { Effect, Layer } from "effect"
import { RoutingEngine } from "../src/services/routing/RoutingEngine.ts"

/** Says once at the start whether there is a routing engine, and how to get one where there is none. */
export const engineHintLayer = Layer.effectDiscard(
  Effect.gen(function*() {
    const { status } = yield* RoutingEngine
    const state = yield* status
    yield* Effect.logInfo(
      state.status === "ok"
        ? `The routing engine is Valhalla ${state.version}`
        : "No routing engine is reachable: `npm run engine -- <file.osm.pbf>` starts one from an OpenStreetMap extract"
    )
  }).pipe(Effect.forkScoped)
)
