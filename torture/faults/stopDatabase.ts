import type { Fault } from "../fault.ts"
import { disturbing, RECOVERS_WITHIN } from "../segment.ts"

export const stopDatabase: Fault = {
  key: "stop-database",
  title: "PostgreSQL hangs (SIGSTOP)",
  isInShortForm: true,
  run: disturbing({
    inject: ({ postgres }) => postgres.stop,
    heal: ({ postgres }) => postgres.resume,
    hold: { short: 3000, full: 30_000 },
    rounds: { short: 1, full: 3 },
    recoversWithin: RECOVERS_WITHIN
  })
}
