import { Effect, Option } from "effect"
import { type Fault, outcomeOf } from "../fault.ts"
import { formOf } from "../options.ts"
import { postgres } from "../postgres.ts"
import { makeRecorder } from "../recorder.ts"
import { disturbing, RECOVERS_WITHIN } from "../segment.ts"
import { service } from "../service.ts"

export const killService: Fault = {
  key: "kill-service",
  title: "kill -9 of the service",
  isInShortForm: true,
  run: disturbing({
    inject: ({ service }) => service.kill,
    heal: ({ service }) => service.spawn,
    hold: { short: 0, full: 0 },
    rounds: { short: 2, full: 20 }
  })
}

export const killDatabase: Fault = {
  key: "kill-database",
  title: "kill -9 of PostgreSQL",
  isInShortForm: true,
  run: disturbing({
    inject: ({ postgres }) => postgres.kill,
    heal: ({ postgres }) => postgres.start,
    hold: { short: 0, full: 500 },
    rounds: { short: 1, full: 20 }
  })
}

export const stopDatabase: Fault = {
  key: "stop-database",
  title: "PostgreSQL hangs (SIGSTOP)",
  isInShortForm: true,
  run: disturbing({
    inject: ({ postgres }) => postgres.stop,
    heal: ({ postgres }) => postgres.resume,
    hold: { short: 3000, full: 30_000 },
    rounds: { short: 1, full: 3 },
    recoversWithin: RECOVERS_WITHIN
  })
}

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
