import { Clock, Layer } from "effect"

/**
 * The time of the machine, for waits on other processes, and for pools that end what is idle: a test clock that stands still
 * would wait forever, and one that moves by 30 days would wake such a pool some 50,000 times and leave it empty.
 */
export const machineClock = Layer.sync(Clock.Clock, Clock.Clock.defaultValue)
