import { Effect } from "effect"
import type { Fault } from "../fault.ts"
import { disturbing } from "../segment.ts"
import type { Weather } from "../tcpProxy.ts"

const HOLD = { short: 2000, full: 30_000 }

const ROUNDS = { short: 1, full: 3 }

const weather = (key: string, title: string, weather: Weather, hold = HOLD): Fault => ({
  key,
  title,
  isInShortForm: true,
  run: disturbing({
    inject: ({ network }) => network.become(weather),
    heal: ({ network }) => network.become("forward"),
    hold,
    rounds: ROUNDS
  })
})

export const swallowed = weather("swallow", "packets to PostgreSQL are swallowed", "swallow")

export const refused = weather("refuse", "connections to PostgreSQL are refused", "refuse")

export const delayed = weather("delay-200ms", "packets delayed by 200 ms", 200, { short: 1000, full: 10_000 })

export const delayedLong = weather("delay-2s", "packets delayed by 2 s", 2000, { short: 2500, full: 10_000 })

export const reset: Fault = {
  key: "reset",
  title: "all connections to PostgreSQL reset",
  isInShortForm: true,
  run: disturbing({
    inject: ({ network }) => network.reset,
    heal: () => Effect.void,
    hold: { short: 0, full: 0 },
    rounds: { short: 2, full: 20 }
  })
}
