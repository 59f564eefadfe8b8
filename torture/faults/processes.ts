import { Effect, Option } from "effect"
import type { Fault } from "../fault.ts"
import { postgres } from "../postgres.ts"
import { service, serving } from "../service.ts"

/** A process has to end within this many milliseconds. */
const WITHIN = 10_000

const REQUESTS = 5

/** SIGTERM comes while PostgreSQL hangs and requests wait for it. */
export const hungStop: Fault = {
  key: "hung-stop",
  title: "a stop while PostgreSQL hangs",
  run: Effect.fnUntraced(function*({ keeper, recorder, world }) {
    const { accounts: [account], postgres } = yield* world
    const one = yield* serving(keeper, { DATABASE_URL: postgres.url(), SHUTDOWN_DRAIN_DELAY: "500 millis" })
    yield* Effect.acquireRelease(postgres.stop, () => postgres.resume)
    const call = one.ask({ path: "/api/v1/users/me", token: account?.token })
    yield* Effect.forEach(Array.from({ length: REQUESTS }), () => Effect.forkScoped(call))
    yield* Effect.sleep("300 millis")
    const began = performance.now()
    yield* one.signal("SIGTERM")
    const code = yield* Effect.timeoutOption(one.ended, "30 seconds")
    const took = performance.now() - began
    if (took > WITHIN) recorder.reportSlowness("the stop took more than 10 s")
    if (Option.getOrUndefined(code) !== 0) recorder.report("the process did not end with code 0")
    return { requests: REQUESTS, figures: [`ended after ${(took / 1000).toFixed(1)} s`] }
  })
}

const LATE = { short: 5000, full: 20_000 }

/** The database comes up some seconds after the service. */
export const lateDatabase: Fault = {
  key: "late-database",
  title: "the service starts before PostgreSQL",
  run: Effect.fnUntraced(function*({ directory, form, keeper, recorder }) {
    const database = yield* postgres(`${directory}/late`, keeper)
    yield* database.kill
    const one = yield* service(keeper, { DATABASE_URL: database.url() })
    yield* one.spawn
    yield* Effect.sleep(LATE[form])
    const began = performance.now()
    yield* database.start
    const isReady = yield* one.ready
    if (!isReady) recorder.report("the service is not ready once PostgreSQL is")
    return { recovery: isReady ? performance.now() - began : Infinity }
  })
}
