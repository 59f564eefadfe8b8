import type { Fault } from "./fault.ts"
import { abortedCalls } from "./faults/abortedCalls.ts"
import { asynchronous } from "./faults/asynchronous.ts"
import { backup } from "./faults/backup.ts"
import { exhausted, terminated } from "./faults/connections.ts"
import { failovers } from "./faults/failover.ts"
import { mails } from "./faults/mails.ts"
import { delayed, delayedLong, refused, reset, stalled, swallowed } from "./faults/network.ts"
import { hungStop, killDatabase, killService, lateDatabase, stopDatabase } from "./faults/processes.ts"
import { randomOperations } from "./faults/randomOperations.ts"
import { rollingRestarts } from "./faults/rollingRestarts.ts"
import { together } from "./faults/together.ts"
import { versions } from "./faults/versions.ts"

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
  ...rollingRestarts,
  mails,
  hungStop,
  lateDatabase,
  stalled,
  delayed,
  delayedLong,
  together,
  versions,
  backup,
  asynchronous,
  ...failovers
]
