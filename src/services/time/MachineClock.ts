import { Clock, Layer } from "effect"

/** For waits on processes and for pools: a test clock would stop them, or wake a pool 50,000 times a month. */
export const machineClock = Layer.sync(Clock.Clock, Clock.Clock.defaultValue)
