import { Effect } from "effect"
import { type Fault, outcomeOf } from "../fault.ts"
import { countAt, postgres, queryAt } from "../postgres.ts"
import { makeRecorder } from "../recorder.ts"
import { service } from "../service.ts"

const APART = 60_000

/** Moves the clock of a process of Node by so many milliseconds. */
const shifted = (by: number) => {
  const script = `
    const now = Date.now
    globalThis.Date = class extends Date {
      constructor(...args) { args.length === 0 ? super(now() + ${by}) : super(...args) }
      static now() { return now() + ${by} }
    }`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` }
}

/** Two that are due in half a minute. */
const ALMOST_DUE = `
  INSERT INTO users (email, email_key, email_verified_at, name, handle, created_at, updated_at, deletion_requested_at)
  SELECT 'almost-' || n, 'almost-' || n, now(), 'Almost', 'almost-' || n, now(), now(),
    now() - interval '30 days' + interval '30 seconds'
  FROM generate_series(1, 2) n`

const TRASH = `
  INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, provenance, share_token, created_at,
    updated_at, deleted_at)
  SELECT id, 'Trash', 'private', '{}', false, '[{"coord":[9,47]}]', 'routing-engine', md5(handle), now(), now(),
    now() - interval '30 days' + interval '30 seconds'
  FROM users WHERE handle = 'keeper'`

const KEEPER = `
  INSERT INTO users (email, email_key, email_verified_at, name, handle, created_at, updated_at)
  VALUES ('keeper', 'keeper', now(), 'Keeper', 'keeper', now(), now())`

const LEFT = `SELECT count(*)::int AS count FROM users WHERE handle LIKE 'almost-%'`

const ROUTES_LEFT = "SELECT count(*)::int AS count FROM routes WHERE name = 'Trash'"

export const clocks: Fault = {
  key: "clocks",
  title: "clocks of two processes 60 s apart",
  isInShortForm: false,
  run: Effect.fnUntraced(function*(run) {
    const recorder = makeRecorder()
    const database = yield* postgres({ directory: `${run.directory}/clocks`, keeper: run.keeper })
    const settings = {
      DATABASE_URL: database.url(),
      ERASURE_SWEEP_INTERVAL: "200 millis",
      PURGE_SWEEP_INTERVAL: "200 millis"
    }
    const right = yield* service(run.keeper, settings)
    yield* right.spawn
    yield* right.ready
    yield* Effect.forEach([KEEPER, ALMOST_DUE, TRASH], (statement) => queryAt(database.url(), statement))
    const ahead = yield* service(run.keeper, { ...settings, ...shifted(APART) })
    yield* ahead.spawn
    if (!(yield* ahead.ready)) recorder.report("a process whose clock is ahead is not ready")
    yield* Effect.sleep("5 seconds")
    const accounts = countAt(yield* queryAt(database.url(), LEFT))
    const routes = countAt(yield* queryAt(database.url(), ROUTES_LEFT))
    recorder.report("an account was erased half a minute early by a clock that is 60 s ahead", 2 - accounts)
    recorder.report("a deleted route was purged half a minute early by a clock that is 60 s ahead", 1 - routes)
    return outcomeOf(recorder)
  })
}
