import { Effect } from "effect"
import { front } from "../../test/support/Front.ts"
import { accounts } from "../accounts.ts"
import { asking } from "../ask.ts"
import { type Fault, outcomeOf, type Run } from "../fault.ts"
import { audit } from "../ledger.ts"
import { load } from "../load.ts"
import { formOf } from "../options.ts"
import { postgres } from "../postgres.ts"
import { makeRecorder } from "../recorder.ts"
import { type Service, started } from "../service.ts"

const PER_SECOND = { short: 60, full: 100 }

/** Rolling restarts of all processes, one after the other. */
const RESTARTS = { short: 1, full: 25 }

const until = (condition: Effect.Effect<boolean>): Effect.Effect<void> =>
  Effect.flatMap(
    condition,
    (is) => is ? Effect.void : Effect.andThen(Effect.sleep("50 millis"), Effect.suspend(() => until(condition)))
  )

/** The next is restarted only when the front has found this one again. */
const restarted = Effect.fnUntraced(function*(one: Service, areFound: Effect.Effect<boolean>) {
  yield* one.signal("SIGTERM")
  const { code } = yield* one.ended
  yield* one.spawn
  const isReady = yield* one.ready
  yield* until(areFound)
  return code === 0 && isReady
})

const rolling = Effect.fnUntraced(function*(run: Run, count: number) {
  const form = formOf(run.options)
  const began = performance.now()
  const database = yield* postgres({ directory: `${run.directory}/rolling-${count}`, keeper: run.keeper })
  const { all } = yield* started(run.keeper, database.url(), count)
  const { origin, readyCount } = yield* front(all.map(({ origin }) => origin))
  const client = asking(origin)
  yield* Effect.addFinalizer(() => Effect.sync(client.close))
  const people = yield* accounts(database.url(), client, `rolling-${count}`, 4)
  const recorder = makeRecorder()
  const clients = yield* load({
    asking: client,
    accounts: people,
    ledger: run.ledger,
    recorder,
    prefix: () => `${run.prefix}-${count}`,
    perSecond: PER_SECOND[form]
  })
  yield* Effect.sleep("2 seconds")
  recorder.begin()
  const areFound = Effect.map(readyCount, (found) => found === count)
  const wanted = run.options.rounds ?? RESTARTS[form]
  const rounds = { count: 0 }
  while (rounds.count < wanted && (rounds.count === 0 || performance.now() - began < run.budget / 2)) {
    const ends = yield* Effect.forEach(all, (one) => restarted(one, areFound))
    recorder.report("a process did not end with code 0 or did not start again", ends.filter((is) => !is).length)
    rounds.count += 1
  }
  yield* clients.end
  recorder.report("a request was refused or got no response", recorder.refused())
  const { lost, twice } = yield* audit(run.ledger, `${run.prefix}-${count}`, database.url())
  return { rounds: rounds.count * count, lost, twice, recorder }
}, Effect.scoped)

export const rollingRestarts: Fault = {
  key: "rolling-restarts",
  title: "rolling restarts behind a front",
  isInShortForm: true,
  run: Effect.fnUntraced(function*(run) {
    const all = yield* Effect.forEach(run.options.isShort ? [2] : [2, 3], (count) => rolling(run, count))
    const sum = (of: (one: (typeof all)[number]) => number) => all.reduce((sum, one) => sum + of(one), 0)
    const recorder = makeRecorder()
    for (const [text, count] of all.flatMap(({ recorder }) => [...recorder.wrong])) recorder.report(text, count)
    for (const [text, count] of all.flatMap(({ recorder }) => [...recorder.late])) recorder.reportSlowness(text, count)
    return outcomeOf(recorder, {
      rounds: sum(({ rounds }) => rounds),
      requests: sum(({ recorder }) => recorder.requests()),
      lost: sum(({ lost }) => lost),
      twice: sum(({ twice }) => twice),
      longestOutage: Math.max(...all.map(({ recorder }) => recorder.longestOutage())),
      figures: all.map(({ recorder }) => recorder.replies())
    })
  })
}
