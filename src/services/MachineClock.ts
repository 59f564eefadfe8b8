import { Clock, Layer } from "effect"

/**
 * The time of the machine, for pools that end what is idle: a test clock that moves by 30 days would wake such a pool some
 * 50,000 times, and leave it empty.
 */
export const machineClock = Layer.sync(Clock.Clock, Clock.Clock.defaultValue)
