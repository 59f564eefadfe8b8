import { Effect, Schema } from "effect"
import { accounts, sessionOf } from "../accounts.ts"
import { asking } from "../ask.ts"
import { type Fault, outcomeOf } from "../fault.ts"
import { countAt, postgres, queryAt } from "../postgres.ts"
import { makeRecorder, type Recorder } from "../recorder.ts"
import { type Service, started } from "../service.ts"

const PROCESSES = 5

/** Accounts that are due all at once. */
const DUE = 200

const DUE_ACCOUNTS = `
  INSERT INTO users (email, email_key, email_verified_at, name, handle, created_at, updated_at, deletion_requested_at)
  SELECT 'due-' || n, 'due-' || n, now(), 'Due', 'due-' || n, now(), now(), now() - interval '31 days'
  FROM generate_series(1, ${DUE}) n`

const LEFT = "SELECT count(*)::int AS count FROM users WHERE deletion_requested_at IS NOT NULL"

const ERASED = /^sweep_rows_total\{[^}]*sweep="accounts"[^}]*\} (\d+)/m

const erasedBy = ({ origin }: Service) =>
  Effect.promise(() => fetch(`${origin}/metrics`).then((response) => response.text())).pipe(
    Effect.map((text) => Number(ERASED.exec(text)?.[1] ?? 0))
  )

/** Processes sweep at once: each account is erased by one of them. */
export const sweeps = Effect.fnUntraced(function*(url: string, all: ReadonlyArray<Service>, recorder: Recorder) {
  yield* queryAt(url, DUE_ACCOUNTS)
  const left = Effect.map(queryAt(url, LEFT), countAt)
  const untilNone: Effect.Effect<number> = Effect.flatMap(
    left,
    (count) =>
      count === 0 ? Effect.succeed(0) : Effect.andThen(Effect.sleep("200 millis"), Effect.suspend(() => untilNone))
  )
  yield* Effect.timeoutOption(untilNone, "30 seconds")
  recorder.report("an account that is due is not erased", yield* left)
  yield* Effect.sleep("500 millis")
  const erased = (yield* Effect.forEach(all, erasedBy)).reduce((sum, count) => sum + count, 0)
  recorder.report(`${DUE} accounts were due, ${erased} were counted as erased`, Math.abs(DUE - erased))
})

const Sessions = Schema.fromJsonString(Schema.Array(Schema.Struct({ id: Schema.String, current: Schema.Boolean })))

/** A session that one process ends is refused by each of the others at their next request. */
const revocation = Effect.fnUntraced(function*(url: string, all: ReadonlyArray<Service>, recorder: Recorder) {
  const clients = all.map(({ origin }) => asking(origin))
  yield* Effect.addFinalizer(() => Effect.sync(() => clients.forEach(({ close }) => close())))
  const [first] = clients
  if (first === undefined) return
  const [person] = yield* accounts(url, first, "revoked", 1)
  if (person === undefined) return
  const { accessToken } = yield* sessionOf(first, person.email)
  const me = { path: "/api/v1/users/me", token: accessToken }
  const before = yield* Effect.promise(() => Promise.all(clients.map(({ ask }) => ask(me))))
  recorder.report(
    "a session of one process is not taken by another",
    before.filter(({ status }) => status !== 200).length
  )
  const { text } = yield* Effect.promise(() => first.ask({ path: "/api/v1/me/sessions", token: accessToken }))
  const current = Schema.decodeSync(Sessions)(text).find(({ current }) => current)
  yield* Effect.promise(() =>
    first.ask({ method: "DELETE", path: `/api/v1/me/sessions/${current?.id}`, token: accessToken })
  )
  const after = yield* Effect.promise(() => Promise.all(clients.map(({ ask }) => ask(me))))
  recorder.report("a revoked session is taken", after.filter(({ status }) => status !== 401).length)
})

const problems = (tail: string) => tail.split("\n").filter((line) => /"level":"(ERROR|FATAL)"/.test(line))

export const together: Fault = {
  key: "together",
  title: "five processes start at once, sweep, revoke",
  isInShortForm: false,
  run: Effect.fnUntraced(function*(run) {
    const recorder = makeRecorder()
    const database = yield* postgres({ directory: `${run.directory}/together`, keeper: run.keeper })
    const began = performance.now()
    const { all, areReady } = yield* started(run.keeper, database.url(), PROCESSES, {
      DATABASE_POOL_SIZE: "6",
      ERASURE_SWEEP_INTERVAL: "100 millis"
    })
    const took = performance.now() - began
    if (!areReady) recorder.report("one of the processes that started at once is not ready")
    all.flatMap(({ tail }) => problems(tail())).forEach((line) => recorder.report(`at the start: ${line}`))
    yield* sweeps(database.url(), all, recorder)
    yield* revocation(database.url(), all, recorder)
    return outcomeOf(recorder, {
      requests: 2 * PROCESSES,
      figures: [`${PROCESSES} processes ready ${(took / 1000).toFixed(1)} s after they started on an empty database`]
    })
  })
}
