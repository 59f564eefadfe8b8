import { Clock, Duration, Effect } from "effect"
import { GRACE_PERIOD } from "../../schema/Limits.ts"

/** What was deleted at this instant or before is over at a time in milliseconds; what was deleted after it can be taken back. */
export const graceBeganAt = (now: number) => new Date(now - Duration.toMillis(GRACE_PERIOD))

/** The same by the clock of this process. What erases goes by the shared time. */
export const graceBegan = Effect.map(Clock.currentTimeMillis, graceBeganAt)

/** From when on what was deleted at an instant is over. */
export const erasureDueAt = (deletedAt: Date) => new Date(deletedAt.getTime() + Duration.toMillis(GRACE_PERIOD))
