import { Duration, Effect, type Scope } from "effect"
import { Overloaded } from "../../schema/DomainErrors.ts"
import { byteSize } from "../settings/SettingTypes.ts"

const RETRY_AFTER = Duration.seconds(30)

const full = Effect.suspend(() =>
  Effect.fail(
    Overloaded.retryAfter("uploads", RETRY_AFTER)
  )
)

export type CountBytes = (bytes: number) => Effect.Effect<void, Overloaded>

export const importDiskBudget = byteSize("IMPORT_DISK_BUDGET", "2 GiB")

/** Disk space that all uploads of this process share, counted after decoding. */
export const importDisk = Effect.gen(function*() {
  const budget = yield* importDiskBudget
  const all = { bytes: 0 }

  const share: Effect.Effect<CountBytes, never, Scope.Scope> = Effect.gen(function*() {
    const own = { bytes: 0 }
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        all.bytes -= own.bytes
      })
    )
    return (bytes: number) =>
      Effect.suspend(() => {
        if (all.bytes + bytes > budget) return full
        all.bytes += bytes
        own.bytes += bytes
        return Effect.void
      })
  })
  return { share }
})
