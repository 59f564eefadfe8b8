import { Duration } from "effect"

/** When a credential was last used is only displayed: one write a minute is precise enough. */
export const SEEN_PRECISION = Duration.minutes(1)
