import { Context, Duration, Effect, Layer, type Scope } from "effect"
import { Overloaded } from "../DomainErrors.ts"
import { settings } from "../settings/Registry.ts"

const RETRY_AFTER = Duration.seconds(30)

const full = Effect.suspend(() =>
  Effect.fail(
    Overloaded.retryAfter("uploads", RETRY_AFTER)
  )
)

export type CountBytes = (bytes: number) => Effect.Effect<void, Overloaded>

/** Disk space that all uploads of this process share. */
export class ImportDisk extends Context.Service<ImportDisk, {
  /** Counts the bytes of an upload until the scope closes. `Overloaded` above `IMPORT_DISK_BUDGET`. */
  readonly share: Effect.Effect<CountBytes, never, Scope.Scope>
}>()("route-planning-service/ImportDisk") {
  static readonly layer = Layer.effect(
    ImportDisk,
    Effect.map(settings.IMPORT_DISK_BUDGET, (budget) => {
      const all = { bytes: 0 }
      return ImportDisk.of({
        share: Effect.gen(function*() {
          const own = { bytes: 0 }
          yield* Effect.addFinalizer(() =>
            Effect.sync(() => {
              all.bytes -= own.bytes
            })
          )
          return (bytes) =>
            Effect.suspend(() => {
              if (all.bytes + bytes > budget) return full
              all.bytes += bytes
              own.bytes += bytes
              return Effect.void
            })
        })
      })
    })
  )
}
