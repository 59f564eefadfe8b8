import { Effect, Layer } from "effect"
import { RoutingEngine } from "../src/services/routing/Engine.ts"

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
