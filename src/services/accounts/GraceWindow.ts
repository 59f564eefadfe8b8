import { Clock, Duration, Effect } from "effect"

/** How long a deletion can be taken back: of an account as of a route. */
export const GRACE_PERIOD = Duration.days(30)

/** What was deleted at this instant or before is over; what was deleted after it can be taken back. */
export const graceBegan = Effect.map(Clock.currentTimeMillis, (now) => new Date(now - Duration.toMillis(GRACE_PERIOD)))

/** From when on what was deleted at an instant is over. */
export const erasureDueAt = (deletedAt: Date) => new Date(deletedAt.getTime() + Duration.toMillis(GRACE_PERIOD))
