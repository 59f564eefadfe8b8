import type { Fault } from "./fault.ts"
import { abortedCalls } from "./faults/abortedCalls.ts"
import { backup } from "./faults/backup.ts"
import { clocks } from "./faults/clocks.ts"
import { exhausted, terminated } from "./faults/connections.ts"
import { fullDisk } from "./faults/fullDisk.ts"
import { hungStop } from "./faults/hungStop.ts"
import { killDatabase } from "./faults/killDatabase.ts"
import { killService } from "./faults/killService.ts"
import { lateDatabase } from "./faults/lateDatabase.ts"
import { locked } from "./faults/locks.ts"
import { neighbours } from "./faults/neighbours.ts"
import { delayed, delayedLong, refused, reset, stalled, swallowed } from "./faults/network.ts"
import { overload } from "./faults/overload.ts"
import { randomOperations } from "./faults/randomOperations.ts"
import { resetLinks } from "./faults/resetLinks.ts"
import { rollingRestarts } from "./faults/rollingRestarts.ts"
import { soak } from "./faults/soak.ts"
import { stopDatabase } from "./faults/stopDatabase.ts"
import { together } from "./faults/together.ts"

/** All of them, in the order in which they are run: what a short run has no time for comes last. */
export const FAULTS: ReadonlyArray<Fault> = [
  killService,
  killDatabase,
  abortedCalls,
  randomOperations,
  stopDatabase,
  swallowed,
  refused,
  reset,
  exhausted,
  terminated,
  locked,
  rollingRestarts,
  neighbours,
  overload,
  hungStop,
  resetLinks,
  lateDatabase,
  stalled,
  delayed,
  delayedLong,
  together,
  clocks,
  backup,
  fullDisk,
  soak
]
