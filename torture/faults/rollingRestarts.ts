import { Effect } from "effect"
import { front } from "../../test/support/Front.ts"
import { until } from "../../test/support/Waiting.ts"
import { accounts } from "../accounts.ts"
import { asking } from "../ask.ts"
import { type Fault, rounds } from "../fault.ts"
import { postgres } from "../postgres.ts"
import { loaded } from "../segment.ts"
import { started } from "../service.ts"

const PER_SECOND = { short: 60, full: 100 }

/** A rolling restart restarts all processes, one after the other. */
const RESTARTS = { short: 1, full: 25 }

export const rollingRestarts = (count: number): Fault => ({
  key: `rolling-restarts-${count}`,
  title: `rolling restarts of ${count} behind a front`,
  run: Effect.fnUntraced(function*(run) {
    const { directory, form, keeper, recorder } = run
    const url = (yield* postgres(`${directory}/rolling-${count}`, keeper)).url()
    const all = yield* started(keeper, url, count)
    const { origin, readyCount } = yield* front(all.map(({ origin }) => origin))
    const ask = yield* asking(origin)
    const people = yield* accounts(url, origin, `rolling-${count}`, 4)
    const { end, outcome } = yield* loaded(run, { accounts: people, ask }, PER_SECOND[form])
    const restarts = yield* rounds(run, RESTARTS, () =>
      Effect.gen(function*() {
        for (const one of all) {
          yield* one.signal("SIGTERM")
          const code = yield* one.ended
          yield* one.spawn
          const isReady = yield* one.ready
          if (code !== 0 || !isReady) recorder.report("a process did not end with code 0 or did not start again")
          // The next is restarted only when the front has found this one again.
          yield* until(Effect.map(readyCount, (found) => found === count))
        }
      }))
    yield* end
    recorder.report("a request was refused or got no response", recorder.refused())
    return { rounds: restarts, ...yield* outcome(url) }
  })
})
