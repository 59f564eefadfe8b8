import { Effect } from "effect"
import { front } from "../../test/support/Front.ts"
import { until } from "../../test/support/Waiting.ts"
import { accounts } from "../accounts.ts"
import { asking } from "../ask.ts"
import type { Fault } from "../fault.ts"
import { formOf } from "../options.ts"
import { postgres } from "../postgres.ts"
import { loaded } from "../segment.ts"
import { type Service, started } from "../service.ts"

const PER_SECOND = { short: 60, full: 100 }

/** Rolling restarts of all processes, one after the other. */
const RESTARTS = { short: 1, full: 25 }

/** The next is restarted only when the front has found this one again. */
const restarted = Effect.fnUntraced(function*(one: Service, areFound: Effect.Effect<boolean>) {
  yield* one.signal("SIGTERM")
  const { code } = yield* one.ended
  yield* one.spawn
  const isReady = yield* one.ready
  yield* until(areFound)
  return code === 0 && isReady
})

const rolling = (count: number): Fault => ({
  key: `rolling-restarts-${count}`,
  title: `rolling restarts of ${count} behind a front`,
  isInShortForm: count === 2,
  run: Effect.fnUntraced(function*(run) {
    const form = formOf(run.options)
    const database = yield* postgres({ directory: `${run.directory}/rolling-${count}`, keeper: run.keeper })
    const { all } = yield* started(run.keeper, database.url(), count)
    const { origin, readyCount } = yield* front(all.map(({ origin }) => origin))
    const client = asking(origin)
    yield* Effect.addFinalizer(() => Effect.sync(client.close))
    const people = yield* accounts(database.url(), client, `rolling-${count}`, 4)
    const { clients, outcome, recorder, rounds } = yield* loaded(
      run,
      { accounts: people, asking: client },
      PER_SECOND[form]
    )
    const areFound = Effect.map(readyCount, (found) => found === count)
    yield* rounds(
      run.options.rounds ?? RESTARTS[form],
      () =>
        Effect.forEach(all, (one) => restarted(one, areFound)).pipe(
          Effect.map((ends) =>
            recorder.report("a process did not end with code 0 or did not start again", ends.filter((is) => !is).length)
          )
        )
    )
    yield* clients.end
    recorder.report("a request was refused or got no response", recorder.refused())
    return yield* outcome(database.url())
  })
})

export const rollingRestarts: ReadonlyArray<Fault> = [rolling(2), rolling(3)]
