import { performance } from "node:perf_hooks"

/** Milliseconds of each iteration of the event loop in which new requests start their work. */
const SLICE = 5

export interface RequestStarts {
  /** Whether a request would start at once. */
  readonly isFree: () => boolean
  readonly add: (start: () => void) => void
}

/**
 * Starts requests at once, or, where those of this iteration of the event loop have used its slice, in order in the next
 * ones. So a burst delays neither the refusal of what comes after it nor the requests that already run.
 */
export const makeRequestStarts = (countWaiting: (change: 1 | -1) => void): RequestStarts => {
  const waiting: Array<() => void> = []
  const slice = { used: 0, willEnd: false }

  const run = (start: () => void) => {
    const began = performance.now()
    start()
    slice.used += performance.now() - began
  }

  const endAfterIteration = () => {
    if (slice.willEnd) return
    slice.willEnd = true
    setImmediate(nextSlice)
  }

  const nextSlice = () => {
    slice.willEnd = false
    slice.used = 0
    while (slice.used < SLICE) {
      const start = waiting.shift()
      if (start === undefined) return
      countWaiting(-1)
      run(start)
    }
    endAfterIteration()
  }

  const isFree = () => waiting.length === 0 && slice.used < SLICE

  return {
    isFree,
    add: (start) => {
      endAfterIteration()
      if (isFree()) return run(start)
      countWaiting(1)
      waiting.push(start)
    }
  }
}
