import { Effect, Option } from "effect"
import { type Fault, outcomeOf } from "../fault.ts"
import { makeRecorder } from "../recorder.ts"
import { service } from "../service.ts"

/** Milliseconds until a process has ended. */
const WITHIN = 10_000

/** SIGTERM while PostgreSQL hangs and requests wait for it. */
export const hungStop: Fault = {
  key: "hung-stop",
  title: "a stop while PostgreSQL hangs",
  isInShortForm: true,
  run: Effect.fnUntraced(function*(run) {
    const recorder = makeRecorder()
    const { accounts: [account], postgres } = yield* run.world
    const one = yield* service(run.keeper, { DATABASE_URL: postgres.url(), SHUTDOWN_DRAIN_DELAY: "500 millis" })
    yield* one.spawn
    yield* one.ready
    yield* postgres.stop
    const headers = { authorization: `Bearer ${account?.token}` }
    Array.from({ length: 5 }, () => fetch(`${one.origin}/api/v1/users/me`, { headers }).catch(() => undefined))
    yield* Effect.sleep("300 millis")
    const began = performance.now()
    yield* one.signal("SIGTERM")
    const ending = yield* Effect.timeoutOption(one.ended, "30 seconds")
    const took = performance.now() - began
    yield* postgres.resume
    if (took > WITHIN) recorder.reportSlowness("the stop took more than 10 s")
    if (Option.isNone(ending) || ending.value.code !== 0) recorder.report("the process did not end with code 0")
    return outcomeOf(recorder, {
      requests: 5,
      figures: [`ended after ${(took / 1000).toFixed(1)} s`]
    })
  })
}
