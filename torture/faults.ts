import type { Fault } from "./fault.ts"
import { exhausted, terminated } from "./faults/connections.ts"
import { killDatabase } from "./faults/killDatabase.ts"
import { killService } from "./faults/killService.ts"
import { locked } from "./faults/locks.ts"
import { delayed, delayedLong, refused, reset, swallowed } from "./faults/network.ts"
import { stopDatabase } from "./faults/stopDatabase.ts"

/** All of them, in the order in which they are run. */
export const FAULTS: ReadonlyArray<Fault> = [
  killService,
  killDatabase,
  stopDatabase,
  swallowed,
  refused,
  reset,
  delayed,
  delayedLong,
  exhausted,
  terminated,
  locked
]
