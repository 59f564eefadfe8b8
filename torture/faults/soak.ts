import { Effect, Fiber } from "effect"
import { readdir } from "node:fs/promises"
import { residentMemory } from "../../bench/processes.ts"
import { median } from "../../bench/statistics.ts"
import { type Fault, outcomeOf } from "../fault.ts"
import { countOf, isGood, type Kinds, loaded, PEAK } from "../loaderWork.ts"
import { makeRecorder } from "../recorder.ts"
import { type World, world } from "../world.ts"

const EVERY = "10 seconds"

/** Figures are judged after a quarter of an hour, or an eighth of a shorter run. */
const WARM_AFTER = 15 * 60_000
const WARM_SHARE = 1 / 8

const MINUTES = 120

/** The load is sent in slices, since the process that sends it keeps what it has seen. */
const SLICE = 60

interface Sample {
  readonly at: number
  readonly figures: ReadonlyMap<string, number>
}

/** What is sampled, and by how much the last third may exceed the first beside a fifth of it. */
const TOLERATED = new Map([
  ["resident memory in MiB", 32],
  ["file descriptors", 10],
  ["wait for a connection of the pool in ms", 20],
  ["event-loop lag (p99) in ms", 20]
])

const SHARE = 1.2

const valueOf = (metrics: string, name: string) => {
  const line = metrics.split("\n").find((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
  return Number(line?.split(" ").at(-1) ?? 0)
}

const sampled = Effect.fnUntraced(function*({ service }: World) {
  const pid = service.pid()
  const metrics = yield* Effect.promise(() =>
    fetch(`${service.origin}/metrics`).then((response) => response.text(), () => "")
  )
  const values = [
    yield* residentMemory(pid),
    (yield* Effect.promise(() => readdir(`/proc/${pid}/fd`))).length,
    valueOf(metrics, "database_pool_wait_seconds") * 1000,
    valueOf(metrics, "nodejs_eventloop_lag_p99_seconds") * 1000
  ]
  const sample: Sample = {
    at: performance.now(),
    figures: new Map([...TOLERATED.keys()].map((name, n) => [name, values[n] ?? 0]))
  }
  return sample
})

const thirdsOf = (samples: ReadonlyArray<Sample>, name: string) => {
  const values = samples.map(({ figures }) => figures.get(name) ?? 0)
  const third = Math.max(1, Math.floor(values.length / 3))
  return { first: median(values.slice(0, third)), last: median(values.slice(-third)) }
}

export const soak: Fault = {
  key: "soak",
  title: "hours of half the peak load",
  isInShortForm: false,
  isOnRequest: true,
  run: Effect.fnUntraced(function*(run) {
    const own = yield* world(`${run.directory}/soak`, run.keeper)
    const recorder = makeRecorder()
    yield* loaded(run.keeper, own, PEAK, 5)
    const peak = countOf((yield* loaded(run.keeper, own, PEAK, 10)).filter(isGood)) / 10
    const began = performance.now()
    const length = (run.options.minutes ?? MINUTES) * 60_000
    const samples: Array<Sample> = []
    const sampling = yield* Effect.forkChild(
      sampled(own).pipe(
        Effect.tap((sample) => Effect.sync(() => samples.push(sample))),
        Effect.andThen(Effect.sleep(EVERY)),
        Effect.forever
      )
    )
    const seen: Array<Kinds[number]> = []
    while (performance.now() - began < length) {
      const left = (length - (performance.now() - began)) / 1000
      seen.push(...yield* loaded(run.keeper, own, { perSecond: peak / 2 }, Math.max(1, Math.min(SLICE, left))))
    }
    yield* Fiber.interrupt(sampling)
    const warm = began + Math.min(WARM_AFTER, length * WARM_SHARE)
    const steady = samples.filter(({ at }) => at >= warm)
    const figures = [...TOLERATED].map(([name, tolerated]) => {
      const { first, last } = thirdsOf(steady, name)
      if (last > first * SHARE + tolerated) recorder.report(`${name} grew from ${first} to ${last}`)
      return `${name}: first third ${first.toFixed(1)}, last third ${last.toFixed(1)}`
    })
    seen.filter((one) => !isGood(one)).forEach(({ count, kind }) => recorder.report(kind, count))
    return outcomeOf(recorder, {
      requests: countOf(seen),
      figures: [`${(peak / 2).toFixed(0)} requests a second, ${samples.length} samples`, ...figures]
    })
  })
}
