import { Effect, type Scope } from "effect"
import { outcomeOf, type Run } from "./fault.ts"
import { audit } from "./ledger.ts"
import { load } from "./load.ts"
import { formOf } from "./options.ts"
import { makeRecorder, type Recorder } from "./recorder.ts"
import type { World } from "./world.ts"

/** What is done to the world while clients call it. */
export interface Disturbance {
  readonly inject: (world: World, round: number) => Effect.Effect<void, never, Scope.Scope>
  readonly heal: (world: World, round: number) => Effect.Effect<void>
  /** Milliseconds between the two. */
  readonly hold: { readonly short: number; readonly full: number }
  readonly rounds: { readonly short: number; readonly full: number }
  /** Within how many milliseconds of the end requests must succeed again; judged in the full form. */
  readonly recoversWithin?: number
}

/** Of a database that is back, in milliseconds. */
export const RECOVERS_WITHIN = 1000

/** Requests a second, which a slow machine takes beside a fault. */
const PER_SECOND = 80

/** The service compiles its code at first use: the rate before the fault is that of the first good second. */
const WARM = { atLeast: 1500, atMost: 15_000, share: 0.9 }

/** The longest wait for the recovery. */
const WAITED_FOR = { short: 30_000, full: 60_000 }

export const awaited = (time: () => number | undefined, since: number, limit: number): Effect.Effect<number> =>
  Effect.suspend(() => {
    const found = time()
    if (found !== undefined) return Effect.succeed(found)
    if (performance.now() - since > limit) return Effect.succeed(Infinity)
    return Effect.andThen(Effect.sleep("200 millis"), awaited(time, since, limit))
  })

export const warmed = (recorder: Recorder, began: number, wanted: number): Effect.Effect<number> =>
  Effect.suspend(() => {
    const now = performance.now()
    const rate = recorder.rateIn(now - 1100, now - 100)
    const isOver = now - began > WARM.atMost || (now - began > WARM.atLeast && rate >= wanted * WARM.share)
    if (isOver) return Effect.succeed(rate)
    return Effect.andThen(Effect.sleep("100 millis"), warmed(recorder, began, wanted))
  })

/** Runs rounds of a disturbance under load, then compares the ledger with the database. */
const segment = Effect.fnUntraced(function*(run: Run, world: World, disturbance: Disturbance) {
  const form = formOf(run.options)
  const began = performance.now()
  const recorder = makeRecorder()
  const { accounts, asking } = world
  const clients = yield* load({
    asking,
    accounts,
    ledger: run.ledger,
    recorder,
    prefix: run.prefix,
    perSecond: PER_SECOND
  })
  const rate = yield* warmed(recorder, began, PER_SECOND)
  recorder.begin()
  recorder.reportSlowness("half of the load or more got no response before the fault", rate < PER_SECOND / 2 ? 1 : 0)

  const cleared: Array<number> = []

  const round = Effect.fnUntraced(function*(n: number) {
    yield* disturbance.inject(world, n)
    yield* Effect.sleep(disturbance.hold[form])
    yield* disturbance.heal(world, n)
    const since = performance.now()
    const recovery = yield* awaited(() => recorder.recovery(since, rate), since, WAITED_FOR[form])
    cleared.push(yield* awaited(() => recorder.clear(since, rate), since, WAITED_FOR[form]))
    return recovery
  }, Effect.scoped)

  const wanted = run.options.rounds ?? disturbance.rounds[form]
  const recoveries: Array<number> = []
  while (recoveries.length < wanted && (recoveries.length === 0 || performance.now() - began < run.budget)) {
    // A write that two outages meet would wait for both.
    if (disturbance.hold[form] > 0) yield* clients.settled
    recoveries.push(yield* round(recoveries.length))
  }
  yield* clients.end
  recorder.reportSlowness(
    "not recovered while it was waited for",
    recoveries.filter((time) => time === Infinity).length
  )
  const { recoversWithin = Infinity } = disturbance
  const late = recoveries.filter((time) => time !== Infinity && time > recoversWithin).length
  recorder.reportSlowness(`recovered only after more than ${recoversWithin} ms`, late)
  const { acknowledged, lost, twice, unheardOf } = yield* audit(run.ledger, run.prefix, world.postgres.url())
  recorder.report("a row that no client has created", unheardOf)
  return outcomeOf(recorder, {
    rounds: recoveries.length,
    requests: recorder.requests(),
    lost,
    twice,
    longestOutage: recorder.longestOutage(),
    recovery: Math.max(...recoveries),
    figures: [
      `${acknowledged} writes acknowledged; ${
        rate.toFixed(0)
      } successes a second before; no call failed any more after ${
        (Math.max(...cleared) / 1000).toFixed(2)
      } s at most; ${recorder.replies()}`
    ]
  })
}, Effect.scoped)

/** The same in the shared world of the faults of the database. */
export const disturbing = (disturbance: Disturbance) => (run: Run) =>
  Effect.flatMap(run.world, (world) => segment(run, world, disturbance))
