import type { Fault } from "../fault.ts"
import { disturbing } from "../segment.ts"

export const killDatabase: Fault = {
  key: "kill-database",
  title: "kill -9 of PostgreSQL",
  isInShortForm: true,
  run: disturbing({
    inject: ({ postgres }) => postgres.kill,
    heal: ({ postgres }) => postgres.start,
    hold: { short: 0, full: 500 },
    rounds: { short: 1, full: 20 }
  })
}
