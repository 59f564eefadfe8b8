import { Effect, type Scope } from "effect"
import { Unavailable } from "../../schema/Errors.ts"
import { byteSize } from "../settings/SettingTypes.ts"

const RETRY_AFTER_SECONDS = 30

const full = Effect.suspend(() =>
  Effect.fail(
    new Unavailable({
      message: "Other archives take all the room for uploads: try again later",
      details: { retryAfterSeconds: RETRY_AFTER_SECONDS }
    })
  )
)

/** Counts bytes before they are written to the disk. `Unavailable` when there is no room for them. */
export type CountBytes = (bytes: number) => Effect.Effect<void, Unavailable>

/** `IMPORT_DISK_BUDGET`. */
export const importDiskBudget = byteSize("IMPORT_DISK_BUDGET", "2 GiB")

/**
 * The room on the disk that all uploads of this process share (`IMPORT_DISK_BUDGET`), by what has arrived, and was
 * decoded, of them.
 */
export const importDisk = Effect.gen(function*() {
  const budget = yield* importDiskBudget
  const all = { bytes: 0 }

  /** For one upload; what it counted is free again when the scope closes. */
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
