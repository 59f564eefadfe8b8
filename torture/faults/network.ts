import type { ProxyMode } from "../../test/support/TcpProxy.ts"
import type { Fault } from "../fault.ts"
import { disturbing, RECOVERS_WITHIN } from "../segment.ts"

const HOLD = { short: 2000, full: 30_000 }

const ROUNDS = { short: 1, full: 3 }

const faultOf = (key: string, title: string, mode: ProxyMode, hold = HOLD): Fault => ({
  key,
  title,
  isInShortForm: true,
  run: disturbing({
    inject: ({ network }) => network.become(mode),
    heal: ({ network }) => network.become("pass"),
    hold,
    rounds: ROUNDS,
    recoversWithin: RECOVERS_WITHIN
  })
})

export const swallowed = faultOf("swallow", "packets to PostgreSQL are swallowed", "hang")

export const stalled = faultOf("stall", "packets to PostgreSQL arrive late, all at once", "stall")

export const refused = faultOf("refuse", "connections to PostgreSQL are refused", "refuse")

export const delayed = faultOf("delay-200ms", "packets delayed by 200 ms", 200, { short: 1000, full: 10_000 })

export const delayedLong = faultOf("delay-2s", "packets delayed by 2 s", 2000, { short: 2500, full: 10_000 })

export const reset: Fault = {
  key: "reset",
  title: "all connections to PostgreSQL reset",
  isInShortForm: true,
  run: disturbing({
    inject: ({ network }) => network.become("reset"),
    heal: ({ network }) => network.become("pass"),
    hold: { short: 0, full: 0 },
    rounds: { short: 2, full: 20 },
    recoversWithin: RECOVERS_WITHIN
  })
}
