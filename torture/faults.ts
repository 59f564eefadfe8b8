import type { Fault } from "./fault.ts"
import { abortedCalls } from "./faults/abortedCalls.ts"
import { asynchronous } from "./faults/asynchronous.ts"
import { delays, disturbances } from "./faults/disturbances.ts"
import { failovers } from "./faults/failover.ts"
import { mails } from "./faults/mails.ts"
import { randomOperations } from "./faults/randomOperations.ts"
import { rollingRestarts } from "./faults/rollingRestarts.ts"
import { versions } from "./faults/versions.ts"

/** The faults of the short form, in the order in which they are run: those that it has no time for come last. */
export const SHORT_FAULTS: ReadonlyArray<Fault> = [
  abortedCalls,
  randomOperations,
  ...disturbances,
  rollingRestarts(2),
  mails,
  ...delays
]

export const FAULTS: ReadonlyArray<Fault> = [
  ...SHORT_FAULTS,
  rollingRestarts(3),
  versions,
  asynchronous,
  ...failovers
]
