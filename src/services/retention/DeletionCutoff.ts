import { Clock, Duration, Effect } from "effect"
import { GRACE_PERIOD } from "../../schema/Limits.ts"
import type { Trashed } from "../../schema/Resource.ts"

/** What was deleted until this instant is erased and cannot be restored. */
export const deletionCutoffAt = (now: number) => new Date(now - Duration.toMillis(GRACE_PERIOD))

/** By the clock of this process; erasure uses the shared time. */
export const deletionCutoff = Effect.map(Clock.currentTimeMillis, deletionCutoffAt)

export const erasureDueAt = (deletedAt: Date) => new Date(deletedAt.getTime() + Duration.toMillis(GRACE_PERIOD))

export const trashedAt = (deletedAt: Date): Trashed => ({
  deletedAt: deletedAt.toISOString(),
  purgedAt: erasureDueAt(deletedAt).toISOString()
})
