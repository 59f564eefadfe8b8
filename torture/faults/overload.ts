import { Effect, Fiber } from "effect"
import { setTimeout as pause } from "node:timers/promises"
import { forgetPeak, peakMemory } from "../../bench/processes.ts"
import { type Fault, outcomeOf } from "../fault.ts"
import { countOf, isGood, type Kinds, loaded, PEAK } from "../loaderWork.ts"
import { formOf } from "../options.ts"
import { makeRecorder } from "../recorder.ts"
import type { World } from "../world.ts"

const SECONDS = { short: 3, full: 20 }

const TIMES = 3

/** Of the peak that is still served. */
const SHARE = 0.8

const REFUSED_WITHIN = 50

const HEALTH_WITHIN = 1000

const MEMORY = 1024

const REFUSALS = new Set(["429", "503"])

/** Reads the health each 100 ms and keeps the longest time that it took. */
const watching = (world: World, path: string, seen: { longest: number; failed: number }) =>
  Effect.promise(async (signal) => {
    while (!signal.aborted) {
      const { began, ended, status } = await world.asking.ask({ path, timeout: 10_000 })
      seen.longest = Math.max(seen.longest, ended - began)
      if (status !== 200) seen.failed += 1
      await pause(100)
    }
  })

const goodOf = (kinds: Kinds) => countOf(kinds.filter(isGood))

const printed = (kinds: Kinds) =>
  kinds.map(({ count, kind, p50, p99 }) => `${kind}: ${count} (p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms)`)
    .join(", ")

export const overload: Fault = {
  key: "overload",
  title: "three times the peak load",
  isInShortForm: true,
  run: Effect.fnUntraced(function*(run) {
    const world = yield* run.world
    const seconds = SECONDS[formOf(run.options)]
    const recorder = makeRecorder()
    const judge = (isMissed: boolean, text: string) => recorder.reportSlowness(text, isMissed ? 1 : 0)
    const pid = world.service.pid()
    yield* loaded(run.keeper, world, PEAK, 2)
    const before = yield* loaded(run.keeper, world, PEAK, seconds)
    const peak = goodOf(before) / seconds
    yield* forgetPeak(pid)

    const live = { longest: 0, failed: 0 }
    const ready = { longest: 0, failed: 0 }
    const probes = yield* Effect.forEach(
      [watching(world, "/health/live", live), watching(world, "/health/ready", ready)],
      (probe) => Effect.forkChild(probe)
    )
    const during = yield* loaded(run.keeper, world, { perSecond: peak * TIMES, warmUp: peak }, seconds)
    yield* Effect.sleep("1 second")
    const after = yield* loaded(run.keeper, world, PEAK, 2)
    yield* Effect.forEach(probes, (probe) => Fiber.interrupt(probe))

    const memory = yield* peakMemory(pid)
    const served = goodOf(during) / seconds
    const refusals = during.filter(({ kind }) => REFUSALS.has(kind))
    const slowest = Math.max(0, ...refusals.map(({ p99 }) => p99))
    judge(served < peak * SHARE, "fewer than 80 % of the peak were served")
    judge(slowest > REFUSED_WITHIN, "refusals took more than 50 ms (p99)")
    judge(Math.max(live.longest, ready.longest) > HEALTH_WITHIN, "the health took more than 1 s")
    judge(memory > MEMORY, "more than 1 GiB of memory")
    recorder.report("the health was not 200", live.failed + ready.failed)
    during.filter((one) => !isGood(one) && !REFUSALS.has(one.kind)).forEach(({ count, kind }) =>
      recorder.report(kind, count)
    )
    after.filter((one) => !isGood(one)).forEach(({ count, kind }) =>
      recorder.reportSlowness(`${kind} a second after the load`, count)
    )
    return outcomeOf(recorder, {
      requests: countOf(before) + countOf(during) + countOf(after),
      figures: [
        `peak ${peak.toFixed(0)} a second; at ${TIMES} times that ${served.toFixed(0)} a second served: ${
          printed(during)
        }`,
        `longest /health/live ${live.longest.toFixed(0)} ms, /health/ready ${
          ready.longest.toFixed(0)
        } ms; peak of resident memory ${memory.toFixed(0)} MiB`,
        `a second after: ${(goodOf(after) / 2).toFixed(0)} a second`
      ]
    })
  })
}
