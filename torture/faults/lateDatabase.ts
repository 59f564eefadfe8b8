import { Effect } from "effect"
import type { Fault, Outcome } from "../fault.ts"
import { postgres } from "../postgres.ts"
import { makeRecorder } from "../recorder.ts"
import { service } from "../service.ts"

const LATE = { short: 5000, full: 20_000 }

/** The database comes up some seconds after the service. */
export const lateDatabase: Fault = {
  key: "late-database",
  title: "the service starts before PostgreSQL",
  isInShortForm: true,
  run: Effect.fnUntraced(function*(run) {
    const recorder = makeRecorder()
    const database = yield* postgres({ directory: `${run.directory}/late`, keeper: run.keeper })
    yield* database.kill
    const one = yield* service(run.keeper, { DATABASE_URL: database.url() })
    yield* one.spawn
    yield* Effect.sleep(LATE[run.options.isShort ? "short" : "full"])
    const began = performance.now()
    yield* database.start
    const isReady = yield* one.ready
    if (!isReady) recorder.complain("the service is not ready once PostgreSQL is")
    const outcome: Outcome = {
      rounds: 1,
      requests: 0,
      lost: 0,
      twice: 0,
      wrong: recorder.wrong,
      recovery: isReady ? performance.now() - began : Infinity
    }
    return outcome
  })
}
