import { Context, Effect, Layer } from "effect"
import type { Position } from "../schema/Geometry.ts"
import type { Place } from "../schema/Place.ts"

export class Places extends Context.Service<Places, {
  readonly at: (position: Position) => Effect.Effect<Place>
}>()("route-planning-service/Places") {
  static readonly layer = Layer.succeed(Places, { at: () => Effect.succeed({}) })
}
