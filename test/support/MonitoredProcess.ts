import { Effect, Schema } from "effect"
import { until } from "./Waiting.ts"

export const FIGURES_SIGNAL = "SIGUSR2"

/** A line of figures begins with this. */
export const FIGURES = "figures "

/** They count from the last request for figures. */
const Figures = Schema.Struct({
  /** All threads took this processor time, in milliseconds. */
  processor: Schema.Finite,
  /** The main thread was busy for at most this time between two runs of a timer of 5 ms, in milliseconds. */
  stall: Schema.Finite,
  /** The heap of the main thread was at most this large, in MiB. */
  heap: Schema.Finite,
  /** Objects of the main thread became old, in MiB: they are collected only with the whole heap. */
  aged: Schema.Finite,
  /** The resident memory was at most this large since the process started, in MiB. */
  memory: Schema.Finite
})

export type Figures = typeof Figures.Type

const decodeFigures = Schema.decodeSync(Schema.fromJsonString(Figures))

/** Returns the options of Node by which a process has a heap of this many MiB and measures itself. */
export const monitoredWith = (heapMiB: number) => ({
  NODE_OPTIONS: `--max-old-space-size=${heapMiB} --import=${new URL("./ProcessMonitor.ts", import.meta.url).href}`
})

interface Monitored {
  readonly pid: number
  readonly output: () => string
}

const figuresIn = ({ output }: Monitored) =>
  output().split("\n").slice(0, -1).filter((line) => line.startsWith(FIGURES))

/** Returns the figures of a process that runs with `monitoredWith`. Dies if the process has ended. */
export const figuresOf = Effect.fnUntraced(function*(monitored: Monitored) {
  const known = figuresIn(monitored).length
  yield* Effect.sync(() => process.kill(monitored.pid, FIGURES_SIGNAL))
  yield* until(Effect.sync(() => figuresIn(monitored).length > known)).pipe(Effect.timeout("10 seconds"), Effect.orDie)
  return decodeFigures(figuresIn(monitored).at(-1)?.slice(FIGURES.length) ?? "")
})
