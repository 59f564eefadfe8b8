import { Effect, Layer } from "effect"
import { performance } from "node:perf_hooks"

const INTERVAL = "1 second"

/** A process that works for less than this share of an interval is idle: a collection then delays few requests. */
const IDLE_SHARE = 0.1

/**
 * Idle intervals in turn after which a load has ended. A pause should not have it: the collection takes the shapes of objects
 * that the optimised code relies on, and requests make V8 optimise it again.
 */
const IDLE_INTERVALS = 10

/** Growth that is worth a collection, which takes about 0.1 s. */
const WORTHWHILE_BYTES = 64 * 2 ** 20

export interface ProcessMemory {
  /** Share of the time since the last call in which the event loop worked. */
  readonly busyShare: () => number
  readonly residentBytes: () => number
  /** Collects all garbage and returns what is free to the system. */
  readonly release: () => void
}

/**
 * Returns memory to the system when the process is idle after a load. V8 by itself keeps the pages of the largest heap that
 * there was until its heap has grown again: 190 MiB after the requests of `npm run bench:speed`.
 */
export const releaseWhenIdle = ({ busyShare, release, residentBytes }: ProcessMemory): Effect.Effect<never> =>
  Effect.suspend(() => {
    const state = { idleIntervals: 0, leastBytes: residentBytes() }
    const observe = Effect.sync(() => {
      state.idleIntervals = busyShare() < IDLE_SHARE ? state.idleIntervals + 1 : 0
      const bytes = residentBytes()
      state.leastBytes = Math.min(state.leastBytes, bytes)
      if (state.idleIntervals < IDLE_INTERVALS || bytes - state.leastBytes < WORTHWHILE_BYTES) return
      release()
      state.leastBytes = residentBytes()
    })
    return Effect.forever(Effect.andThen(Effect.sleep(INTERVAL), observe))
  })

const busyShare = () => {
  let since = performance.eventLoopUtilization()
  return () => {
    const current = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(current, since)
    since = current
    return utilization
  }
}

/** Nothing where Node was started without `--expose-gc`. */
export const memoryReleaseLayer = Layer.effectDiscard(Effect.suspend(() => {
  const { gc } = globalThis
  if (gc === undefined) return Effect.void
  return Effect.forkScoped(releaseWhenIdle({
    busyShare: busyShare(),
    residentBytes: () => process.memoryUsage.rss(),
    release: () => gc({ type: "major", execution: "sync", flavor: "last-resort" })
  }))
}))
