import { Context, Effect, Layer, Ref } from "effect"

/** Whether this process has been told to end, and is to be sent nothing more. */
export class Draining extends Context.Service<Draining, {
  readonly hasBegun: Effect.Effect<boolean>
  readonly begin: Effect.Effect<void>
}>()("route-planning-service/Draining") {
  static readonly layer = Layer.effect(
    Draining,
    Effect.map(
      Ref.make(false),
      (hasBegun) => Draining.of({ hasBegun: Ref.get(hasBegun), begin: Ref.set(hasBegun, true) })
    )
  )
}
