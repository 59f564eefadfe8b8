import type { Fault } from "../fault.ts"
import { disturbing } from "../segment.ts"

export const killService: Fault = {
  key: "kill-service",
  title: "kill -9 of the service",
  isInShortForm: true,
  run: disturbing({
    inject: ({ service }) => service.kill,
    heal: ({ service }) => service.spawn,
    hold: { short: 0, full: 0 },
    rounds: { short: 2, full: 20 }
  })
}
