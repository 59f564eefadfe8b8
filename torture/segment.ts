import { Effect, Schedule, type Scope } from "effect"
import { type Fault, rounds, type Run } from "./fault.ts"
import { audit } from "./ledger.ts"
import { load } from "./load.ts"
import type { Clients, World } from "./world.ts"

type Forms = Readonly<Record<Run["form"], number>>

/** A segment does this to the world while clients call it. */
export interface Disturbance {
  readonly key: string
  readonly title: string
  /** Disturbs the world until the scope closes. */
  readonly disturb: (world: World) => Effect.Effect<unknown, never, Scope.Scope>
  /** The scope is open for this many milliseconds. */
  readonly hold: Forms
  readonly rounds: Forms
  /** Requests must succeed again within this many milliseconds after it; the full form judges it. */
  readonly recoversWithin: number
}

/** A slow machine can serve this many requests a second beside a fault. */
const PER_SECOND = 80

/** The service compiles its code at first use: the rate before the fault is measured in the first good second. */
const WARM = { atLeast: 1500, atMost: 15_000, share: 0.9 }

/** The recovery is waited for at most this many milliseconds. */
const WAITED_FOR = { short: 30_000, full: 60_000 }

/** Runs clients at a rate that the service has reached, and audits what the clients wrote. */
export const loaded = Effect.fnUntraced(function*(
  run: Run,
  clients: Clients,
  perSecond: number,
  { batch = 0, prefix = () => run.prefix } = {}
) {
  const { form, recorder } = run
  const began = performance.now()
  const { end, settled } = yield* load(run, clients, { perSecond, batch, prefix })
  const rate = yield* Effect.sync(() => recorder.rateIn(performance.now() - 1100, performance.now() - 100)).pipe(
    Effect.delay("100 millis"),
    Effect.repeat({
      until: (rate) => {
        const waited = performance.now() - began
        return waited > WARM.atMost || (waited > WARM.atLeast && rate >= perSecond * WARM.share)
      }
    })
  )
  recorder.begin()
  const recoveries: Array<number> = []
  const awaited = (time: (since: number, rate: number) => number | undefined, since: number) =>
    Effect.sync(() => time(since, rate)).pipe(
      Effect.repeat({
        until: (found) => found !== undefined || performance.now() - since > WAITED_FOR[form],
        schedule: Schedule.spaced("200 millis")
      }),
      Effect.map((found = Infinity) => found)
    )
  return {
    end,
    settled,
    rate,
    recoveries,
    /** Waits until as many calls succeed as before the fault, and returns how long that took. */
    recovered: Effect.fnUntraced(function*(since: number) {
      const time = yield* awaited(recorder.recovery, since)
      recoveries.push(time)
      return time
    }),
    cleared: (since: number) => awaited(recorder.clear, since),
    /** Ends the clients, and compares the ledger with the database at an address. */
    outcome: Effect.fnUntraced(function*(url: string, figures: ReadonlyArray<string> = []) {
      yield* end
      const { acknowledged, ...found } = yield* audit(run, run.prefix, url)
      return {
        ...found,
        longestOutage: recorder.longestOutage(),
        recovery: recoveries.length === 0 ? undefined : Math.max(...recoveries),
        figures: [`${acknowledged} writes acknowledged; ${recorder.replies()}`, ...figures]
      }
    })
  }
})

/** Runs rounds of a disturbance under load, in the shared world of the faults of the database. */
export const disturbing = ({ disturb, hold, key, recoversWithin, rounds: usual, title }: Disturbance): Fault => ({
  key,
  title,
  run: Effect.fnUntraced(function*(run) {
    const { form, recorder } = run
    const world = yield* run.world
    const { cleared, outcome, rate, recovered, recoveries, settled } = yield* loaded(run, world, PER_SECOND)
    recorder.reportSlowness("half of the load or more got no response before the fault", rate < PER_SECOND / 2 ? 1 : 0)
    const clear: Array<number> = []
    const count = yield* rounds(run, usual, () =>
      Effect.gen(function*() {
        // A write that two outages meet would wait for both.
        if (hold[form] > 0) yield* settled
        yield* Effect.scoped(Effect.andThen(disturb(world), Effect.sleep(hold[form])))
        const since = performance.now()
        yield* recovered(since)
        clear.push(yield* cleared(since))
      }))
    const slow = (is: (time: number) => boolean) => recoveries.filter(is).length
    recorder.reportSlowness("not recovered while it was waited for", slow((time) => time === Infinity))
    recorder.reportSlowness(
      `recovered only after more than ${recoversWithin} ms`,
      slow((time) => time !== Infinity && time > recoversWithin)
    )
    const longest = (Math.max(...clear) / 1000).toFixed(2)
    const figures = [
      `${rate.toFixed(0)} successes a second before; no call failed any more after ${longest} s at most`
    ]
    return { rounds: count, ...yield* outcome(world.postgres.url(), figures) }
  })
})
