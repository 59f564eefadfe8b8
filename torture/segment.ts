import { Effect, type Scope } from "effect"
import { outcomeOf, type Run } from "./fault.ts"
import { audit } from "./ledger.ts"
import { load } from "./load.ts"
import { formOf } from "./options.ts"
import { makeRecorder, type Recorder } from "./recorder.ts"
import type { World } from "./world.ts"

/** A segment does this to the world while clients call it. */
export interface Disturbance {
  readonly inject: (world: World, round: number) => Effect.Effect<void, never, Scope.Scope>
  readonly heal: (world: World, round: number) => Effect.Effect<void>
  /** Milliseconds between the two. */
  readonly hold: { readonly short: number; readonly full: number }
  readonly rounds: { readonly short: number; readonly full: number }
  /** Within how many milliseconds of the end requests must succeed again; judged in the full form. */
  readonly recoversWithin?: number
}

/** Requests succeed again within so many milliseconds once a database is back. */
export const RECOVERS_WITHIN = 1000

/** Requests a second, which a slow machine takes beside a fault. */
const PER_SECOND = 80

/** The service compiles its code at first use: the rate before the fault is that of the first good second. */
const WARM = { atLeast: 1500, atMost: 15_000, share: 0.9 }

/** The longest wait for the recovery. */
const WAITED_FOR = { short: 30_000, full: 60_000 }

const awaited = (time: () => number | undefined, since: number, limit: number): Effect.Effect<number> =>
  Effect.suspend(() => {
    const found = time()
    if (found !== undefined) return Effect.succeed(found)
    if (performance.now() - since > limit) return Effect.succeed(Infinity)
    return Effect.andThen(Effect.sleep("200 millis"), awaited(time, since, limit))
  })

const warmed = (recorder: Recorder, began: number, wanted: number): Effect.Effect<number> =>
  Effect.suspend(() => {
    const now = performance.now()
    const rate = recorder.rateIn(now - 1100, now - 100)
    const isOver = now - began > WARM.atMost || (now - began > WARM.atLeast && rate >= wanted * WARM.share)
    if (isOver) return Effect.succeed(rate)
    return Effect.andThen(Effect.sleep("100 millis"), warmed(recorder, began, wanted))
  })

/** Clients at a rate that the service has reached, the rounds of a fault, and what became of what the clients wrote. */
export const loaded = Effect.fnUntraced(function*(
  run: Run,
  { accounts, asking }: Pick<World, "accounts" | "asking">,
  perSecond: number,
  { batch = 0, prefix = () => run.prefix } = {}
) {
  const began = performance.now()
  const recorder = makeRecorder()
  const clients = yield* load({ asking, accounts, ledger: run.ledger, recorder, prefix, perSecond, batch })
  const rate = yield* warmed(recorder, began, perSecond)
  recorder.begin()
  const recoveries: Array<number> = []
  const state = { rounds: 0 }
  const waitedFor = WAITED_FOR[formOf(run.options)]
  return {
    clients,
    rate,
    recorder,
    recoveries,
    /** One round at least, and as many as wanted while there is time. */
    rounds: Effect.fnUntraced(function*<E, R>(wanted: number, round: (n: number) => Effect.Effect<void, E, R>) {
      do yield* round(state.rounds++)
      while (state.rounds < wanted && performance.now() - began < run.budget)
    }),
    /** Waits until as many calls succeed as before the fault, and returns for how long. */
    recovered: Effect.fnUntraced(function*(since: number) {
      const time = yield* awaited(() => recorder.recovery(since, rate), since, waitedFor)
      recoveries.push(time)
      return time
    }),
    cleared: (since: number) => awaited(() => recorder.clear(since, rate), since, waitedFor),
    /** Ends the clients, and compares the ledger with the database at an address. */
    outcome: Effect.fnUntraced(function*(url: string, figures: ReadonlyArray<string> = []) {
      yield* clients.end
      const { acknowledged, lost, twice, unheardOf } = yield* audit(run.ledger, run.prefix, url)
      recorder.report("a row that no client has created", unheardOf)
      return outcomeOf(recorder, {
        rounds: state.rounds,
        requests: recorder.requests(),
        lost,
        twice,
        longestOutage: recorder.longestOutage(),
        recovery: recoveries.length === 0 ? undefined : Math.max(...recoveries),
        figures: [`${acknowledged} writes acknowledged; ${recorder.replies()}`, ...figures]
      })
    })
  }
})

/** Runs rounds of a disturbance under load. */
const segment = Effect.fnUntraced(function*(run: Run, world: World, disturbance: Disturbance) {
  const form = formOf(run.options)
  const { cleared, clients, outcome, rate, recorder, recovered, recoveries, rounds } = yield* loaded(
    run,
    world,
    PER_SECOND
  )
  recorder.reportSlowness("half of the load or more got no response before the fault", rate < PER_SECOND / 2 ? 1 : 0)
  const clear: Array<number> = []
  const round = Effect.fnUntraced(function*(n: number) {
    // A write that two outages meet would wait for both.
    if (disturbance.hold[form] > 0) yield* clients.settled
    yield* disturbance.inject(world, n)
    yield* Effect.sleep(disturbance.hold[form])
    yield* disturbance.heal(world, n)
    const since = performance.now()
    yield* recovered(since)
    clear.push(yield* cleared(since))
  }, Effect.scoped)
  yield* rounds(run.options.rounds ?? disturbance.rounds[form], round)
  const { recoversWithin = Infinity } = disturbance
  const count = (is: (time: number) => boolean) => recoveries.filter(is).length
  recorder.reportSlowness("not recovered while it was waited for", count((time) => time === Infinity))
  recorder.reportSlowness(
    `recovered only after more than ${recoversWithin} ms`,
    count((time) => time !== Infinity && time > recoversWithin)
  )
  const longest = (Math.max(...clear) / 1000).toFixed(2)
  return yield* outcome(world.postgres.url(), [
    `${rate.toFixed(0)} successes a second before; no call failed any more after ${longest} s at most`
  ])
}, Effect.scoped)

/** Runs a segment in the shared world of the faults of the database. */
export const disturbing = (disturbance: Disturbance) => (run: Run) =>
  Effect.flatMap(run.world, (world) => segment(run, world, disturbance))
