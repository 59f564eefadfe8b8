import { GCProfiler, type GCProfilerResult, getHeapStatistics } from "node:v8"
import { isMainThread } from "node:worker_threads"
import { FIGURES, type Figures, FIGURES_SIGNAL } from "./MonitoredProcess.ts"

const INTERVAL_MILLIS = 5

const KIB = 1024

const MIB = KIB * KIB

const millisOf = ({ system, user }: NodeJS.CpuUsage) => (system + user) / 1000

type Heap = GCProfilerResult["statistics"][number]["afterGC"]

const oldObjects = ({ heapSpaceStatistics }: Heap) =>
  heapSpaceStatistics.find(({ spaceName }) => spaceName === "old_space")?.spaceUsedSize ?? 0

/** Returns MiB that became old, by the collections of young objects. */
const agedIn = ({ statistics }: GCProfilerResult) =>
  statistics.filter(({ gcType }) => gcType === "Scavenge").reduce(
    (sum, { afterGC, beforeGC }) => sum + (oldObjects(afterGC) - oldObjects(beforeGC)) / MIB,
    0
  )

const profiler = () => {
  const collections = new GCProfiler()
  collections.start()
  return collections
}

const begun = () => ({
  thread: process.threadCpuUsage(),
  all: process.cpuUsage(),
  stall: 0,
  heap: 0,
  collections: profiler()
})

/** Watches the main thread of the process that loads it, and writes its figures on a signal. */
const monitor = () => {
  const state = begun()
  const look = () => {
    state.stall = Math.max(state.stall, millisOf(process.threadCpuUsage(state.thread)))
    state.heap = Math.max(state.heap, getHeapStatistics().total_heap_size / MIB)
    state.thread = process.threadCpuUsage()
  }
  setInterval(look, INTERVAL_MILLIS).unref()
  process.on(FIGURES_SIGNAL, () => {
    look()
    const figures: Figures = {
      processor: millisOf(process.cpuUsage(state.all)),
      stall: state.stall,
      heap: state.heap,
      aged: agedIn(state.collections.stop()),
      memory: process.resourceUsage().maxRSS / KIB
    }
    process.stdout.write(`${FIGURES}${JSON.stringify(figures)}\n`)
    Object.assign(state, begun())
  })
}

if (isMainThread) monitor()
