import { Effect, Schema } from "effect"
import { until } from "../../test/support/Waiting.ts"
import { accounts, sessionOf } from "../accounts.ts"
import { decoded } from "../ask.ts"
import type { Fault } from "../fault.ts"
import { countAt, postgres, queryAt } from "../postgres.ts"
import type { Recorder } from "../recorder.ts"
import { type Service, started } from "../service.ts"

const PROCESSES = 5

/** This many accounts are due at once. */
const DUE = 200

const DUE_ACCOUNTS = `
  INSERT INTO users (email, email_key, email_verified_at, name, handle, created_at, updated_at, deletion_requested_at)
  SELECT 'due-' || n, 'due-' || n, now(), 'Due', 'due-' || n, now(), now(), now() - interval '31 days'
  FROM generate_series(1, ${DUE}) n`

const LEFT = "SELECT count(*)::int AS count FROM users WHERE deletion_requested_at IS NOT NULL"

const ERASED = /^sweep_rows_total\{[^}]*sweep="accounts"[^}]*\} (\d+)/m

const erasedBy = ({ ask }: Service) =>
  Effect.map(ask({ path: "/metrics" }), ({ text }) => Number(ERASED.exec(text)?.[1] ?? 0))

/** Several processes sweep at once: each account is erased by one of them. */
export const sweeps = Effect.fnUntraced(function*(url: string, all: ReadonlyArray<Service>, recorder: Recorder) {
  yield* queryAt(url, DUE_ACCOUNTS)
  const left = Effect.map(queryAt(url, LEFT), countAt)
  yield* Effect.timeoutOption(until(Effect.map(left, (count) => count === 0)), "30 seconds")
  recorder.report("an account that is due is not erased", yield* left)
  yield* Effect.sleep("500 millis")
  const erased = (yield* Effect.forEach(all, erasedBy)).reduce((sum, count) => sum + count, 0)
  recorder.report(`${DUE} accounts were due, ${erased} were counted as erased`, Math.abs(DUE - erased))
})

const sessionsIn = decoded(Schema.Array(Schema.Struct({ id: Schema.String, current: Schema.Boolean })))

/** Once one process ends a session, each of the others refuses it at its next request. */
const revocation = Effect.fnUntraced(function*(url: string, all: ReadonlyArray<Service>, recorder: Recorder) {
  const [first] = all
  if (first === undefined) return
  const { ask, origin } = first
  const [person] = yield* accounts(url, origin, "revoked", 1)
  const token = yield* sessionOf(origin, person?.email ?? "")
  const without = Effect.fnUntraced(function*(wanted: number) {
    const path = "/api/v1/users/me"
    const replies = yield* Effect.forEach(all, ({ ask }) => ask({ path, token }), { concurrency: "unbounded" })
    return replies.filter(({ status }) => status !== wanted).length
  })
  recorder.report("a session of one process is not taken by another", yield* without(200))
  const current = sessionsIn(yield* ask({ path: "/api/v1/me/sessions", token })).find(({ current }) => current)
  yield* ask({ method: "DELETE", path: `/api/v1/me/sessions/${current?.id}`, token })
  recorder.report("a revoked session is taken", yield* without(401))
})

export const together: Fault = {
  key: "together",
  title: "five processes start at once, sweep, revoke",
  run: Effect.fnUntraced(function*({ directory, keeper, recorder }) {
    const url = (yield* postgres(`${directory}/together`, keeper)).url()
    const began = performance.now()
    const all = yield* started(keeper, url, PROCESSES, {
      DATABASE_POOL_SIZE: "6",
      ERASURE_SWEEP_INTERVAL: "100 millis"
    })
    const took = performance.now() - began
    const errors = all.flatMap(({ tail }) => tail().split("\n")).filter((line) => /"level":"(ERROR|FATAL)"/.test(line))
    errors.forEach((line) => recorder.report(`at the start: ${line}`))
    yield* sweeps(url, all, recorder)
    yield* revocation(url, all, recorder)
    return {
      requests: 2 * PROCESSES,
      figures: [`${PROCESSES} processes ready ${(took / 1000).toFixed(1)} s after they started on an empty database`]
    }
  })
}
