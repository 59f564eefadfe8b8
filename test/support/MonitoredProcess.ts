import { Effect, Schema } from "effect"
import { until } from "./Waiting.ts"

export const FIGURES_SIGNAL = "SIGUSR2"

/** With which a line of figures begins. */
export const FIGURES = "figures "

/** What a process has taken since it was asked before. */
const Figures = Schema.Struct({
  /** Milliseconds of processor time, of all threads. */
  processor: Schema.Finite,
  /** The most of it that the main thread took at a stretch: between two runs of a timer of 5 milliseconds. */
  stall: Schema.Finite,
  /** The largest heap of the main thread, in MiB. */
  heap: Schema.Finite,
  /** What became old among the objects of the main thread, in MiB: garbage collected only with the whole heap. */
  aged: Schema.Finite,
  /** The largest resident memory, in MiB, since the process started. */
  memory: Schema.Finite
})

export type Figures = typeof Figures.Type

const decodeFigures = Schema.decodeSync(Schema.fromJsonString(Figures))

/** The options of Node by which a process has a heap of so many MiB and measures itself. */
export const monitoredWith = (heapMiB: number) => ({
  NODE_OPTIONS: `--max-old-space-size=${heapMiB} --import=${new URL("./ProcessMonitor.ts", import.meta.url).href}`
})

interface Monitored {
  readonly pid: number
  readonly output: () => string
}

const figuresIn = ({ output }: Monitored) =>
  output().split("\n").slice(0, -1).filter((line) => line.startsWith(FIGURES))

/** The figures of a process that runs with `monitoredWith`. A defect where it has ended. */
export const figuresOf = Effect.fnUntraced(function*(monitored: Monitored) {
  const known = figuresIn(monitored).length
  yield* Effect.sync(() => process.kill(monitored.pid, FIGURES_SIGNAL))
  yield* until(Effect.sync(() => figuresIn(monitored).length > known)).pipe(Effect.timeout("10 seconds"), Effect.orDie)
  return decodeFigures(figuresIn(monitored).at(-1)?.slice(FIGURES.length) ?? "")
})
