import { Effect } from "effect"
import { type Fault, outcomeOf } from "../fault.ts"
import { formOf } from "../options.ts"
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
    yield* Effect.sleep(LATE[formOf(run.options)])
    const began = performance.now()
    yield* database.start
    const isReady = yield* one.ready
    if (!isReady) recorder.report("the service is not ready once PostgreSQL is")
    return outcomeOf(recorder, {
      recovery: isReady ? performance.now() - began : Infinity
    })
  })
}
