import { Effect } from "effect"

const MICROS = 1000

/** Milliseconds of this process's processors, of all its threads, since a measurement. */
const millisSince = (before: NodeJS.CpuUsage) => {
  const { system, user } = process.cpuUsage(before)
  return (system + user) / MICROS
}

/** What an effect gives, and the processor time in milliseconds that this process took meanwhile, for any work. */
export const costOf = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const before = process.cpuUsage()
    const value = yield* effect
    return { value, millis: millisSince(before) }
  })

/** The processor time that `JSON.parse` takes for a text. */
export const parseCostOf = (text: string): number => {
  const before = process.cpuUsage()
  JSON.parse(text)
  return millisSince(before)
}

/**
 * What an effect gives, and the most processor time in milliseconds that this thread took between two turns of its event loop
 * meanwhile: beside a busy neighbour, who makes each turn last longer, it is the same.
 */
export const longestTurnOf = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const turns = { longest: 0, isOver: false }
      const turn = (before: NodeJS.CpuUsage) => {
        const { system, user } = process.threadCpuUsage(before)
        turns.longest = Math.max(turns.longest, (system + user) / MICROS)
        if (!turns.isOver) setImmediate(turn, process.threadCpuUsage())
      }
      setImmediate(turn, process.threadCpuUsage())
      return turns
    }),
    (turns) => Effect.map(effect, (value) => ({ value, longest: turns.longest })),
    (turns) =>
      Effect.sync(() => {
        turns.isOver = true
      })
  )
