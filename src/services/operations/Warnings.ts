import { Context, Effect, Layer } from "effect"

/** A bound on those that clients can cause. */
const MAX_WARNINGS = 50

/** Warnings tell the host of the service what to change. Each is logged once, and listed for administrators. */
export class Warnings extends Context.Service<Warnings, {
  readonly add: (warning: string) => Effect.Effect<void>
  readonly all: Effect.Effect<ReadonlyArray<string>>
}>()("route-planning-service/Warnings") {
  static readonly layer = Layer.sync(Warnings, () => {
    const known = new Set<string>()
    return Warnings.of({
      add: (warning) =>
        Effect.suspend(() => {
          if (known.has(warning) || known.size === MAX_WARNINGS) return Effect.void
          known.add(warning)
          return Effect.logWarning(warning)
        }),
      all: Effect.sync(() => [...known])
    })
  })
}
