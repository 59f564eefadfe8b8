import { Effect, Schedule } from "effect"
import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { mkdir, symlink } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { Client } from "pg"
import { fill } from "../../bench/fill.ts"
import { front } from "../../test/support/Front.ts"
import { until } from "../../test/support/Waiting.ts"
import { type Account, accounts, sessionOf } from "../accounts.ts"
import { type Ask, asking, type Call, creation, routeNamed } from "../ask.ts"
import type { Fault } from "../fault.ts"
import { audit } from "../ledger.ts"
import { load } from "../load.ts"
import { countAt, postgres, queryAt } from "../postgres.ts"
import type { Recorder } from "../recorder.ts"
import { type Service, service } from "../service.ts"
import { Skipped } from "../skipped.ts"

/** This commit is the version before. */
const BEFORE = "5f9cb5a1"

const ROOT = join(import.meta.dirname, "../..")

const ROUTES = { short: 10_000, full: 1_000_000 }

const REPORT = { short: 5000, full: 30_000 }

const PER_SECOND = { short: 40, full: 60 }

const LONGEST_OUTAGE = 1000

/** This part of a line of a log is printed. */
const LONGEST_LINE = 200

const execute = promisify(execFile)

const versionBefore = (directory: string) =>
  Effect.tryPromise({
    try: async () => {
      const root = join(directory, "before")
      await mkdir(root)
      const archive = join(directory, "before.tar")
      await execute("git", ["archive", "--output", archive, BEFORE], { cwd: ROOT })
      await execute("tar", ["-xf", archive, "-C", root])
      await symlink(join(ROOT, "node_modules"), join(root, "node_modules"))
      return root
    },
    catch: () => new Skipped({ reason: `there is no clone with the commit ${BEFORE}, the version before` })
  })

/**
 * Stores the routes of a large installation. Triggers are off: words, changes and counts of its accounts, which nobody
 * requests, would take most of the time.
 */
const filled = Effect.fnUntraced(function*(url: string, count: number) {
  const address = new URL(url)
  address.searchParams.set("options", "-c session_replication_role=replica")
  yield* fill(address.href, count, count)
  // No route of the trash may be due, or sweeps would purge thousands at once.
  yield* queryAt(address.href, "UPDATE routes SET deleted_at = now() WHERE deleted_at IS NOT NULL")
})

/** These statements undo a migration of this version, which locks the table of routes against writers. */
const UNDONE = `
  DROP TRIGGER json_on_write ON routes;
  DROP TRIGGER json_on_write ON route_views;
  DROP FUNCTION require_json;
  UPDATE effect_sql_migrations SET migration_id = 42, name = 'baseline'`

/** Opens a transaction that reads all routes and may write some, until the scope closes. */
const report = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client(url)
      await client.connect()
      await client.query(
        "BEGIN; SELECT count(*) FROM routes, users WHERE routes.user_id = users.id; LOCK TABLE routes IN ROW EXCLUSIVE MODE"
      )
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )

/** Returns the first response but a 503, which a process gives under the load. */
const insisted = (ask: Ask, call: Call) =>
  Effect.repeat(ask(call), {
    schedule: Schedule.spaced("1 second"),
    until: ({ status }) => status !== 503,
    times: 30
  })

const linkIn = ({ tail }: Service, email: string) => {
  const line = tail().split("\n").find((line) => line.includes(email) && line.includes("token="))
  return /token=([\w-]+)/.exec(line ?? "")?.[1]
}

/** Begins at one version, and goes on at the other: a call with a key, a sign-up with its mailed link, a session. */
const carriedOver = Effect.fnUntraced(
  function*(first: Service, { ask: other }: Service, account: Account, recorder: Recorder) {
    const { ask } = first
    const call = { ...creation("routes", randomUUID(), routeNamed("Beside")), token: account.token }
    const one = yield* insisted(ask, call)
    const again = yield* insisted(other, call)
    if (one.status !== 201 || again.status !== 201 || one.text !== again.text) {
      recorder.report(`a call repeated at the other version: ${one.status}, then ${again.status}`)
    }

    const email = `${randomUUID()}@example.com`
    const body = JSON.stringify({ email, password: "a long enough password" })
    yield* insisted(ask, { method: "POST", path: "/api/v1/auth/signup-email", body })
    const token = yield* Effect.sync(() => linkIn(first, email)).pipe(
      Effect.delay("100 millis"),
      Effect.repeat({ until: (token) => token !== undefined, times: 100 })
    )
    const verified = yield* insisted(other, {
      method: "POST",
      path: "/api/v1/auth/verify-email",
      body: JSON.stringify({ token })
    })
    if (verified.status !== 200) recorder.report(`a link of the other version: ${verified.status} ${verified.text}`)

    const session = yield* sessionOf(first.origin, account.email)
    const { status } = yield* insisted(other, { path: "/api/v1/users/me", token: session })
    if (status !== 200) recorder.report(`a session of the other version: ${status}`)
  }
)

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

/** Both versions sweep at once: each account is erased by one of them. */
const sweeps = Effect.fnUntraced(function*(url: string, all: ReadonlyArray<Service>, recorder: Recorder) {
  yield* queryAt(url, DUE_ACCOUNTS)
  const left = Effect.map(queryAt(url, LEFT), countAt)
  yield* Effect.timeoutOption(until(Effect.map(left, (count) => count === 0)), "30 seconds")
  recorder.report("an account that is due is not erased", yield* left)
  yield* Effect.sleep("500 millis")
  const erased = (yield* Effect.forEach(all, erasedBy)).reduce((sum, count) => sum + count, 0)
  recorder.report(`${DUE} accounts were due, ${erased} were counted as erased`, Math.abs(DUE - erased))
})

/** The version before runs beside this one, which migrates its database while a report is open. */
export const versions: Fault = {
  key: "versions",
  title: "migration beside the version before",
  run: Effect.fnUntraced(function*(run) {
    const { directory, form, keeper, prefix, recorder } = run
    const root = yield* versionBefore(directory)
    const url = (yield* postgres(join(directory, "versions"), keeper)).url()
    const settings = { DATABASE_URL: url, LOG_FORMAT: "json", ERASURE_SWEEP_INTERVAL: "1 second" }
    const before = yield* service(keeper, settings, root)
    const after = yield* service(keeper, settings)
    const both = [before, after]
    yield* before.spawn
    if (!(yield* before.ready)) recorder.report("the version before is not ready")
    const { origin } = yield* front(both.map(({ origin }) => origin))
    yield* filled(url, ROUTES[form])
    const people = yield* accounts(url, before.origin, "versions", 4)
    const [account] = people
    if (account === undefined) return {}
    yield* queryAt(url, UNDONE)
    const clients = { accounts: people, ask: yield* asking(origin) }
    const { end } = yield* load(run, clients, { prefix: () => prefix, perSecond: PER_SECOND[form] })
    yield* Effect.sleep("2 seconds")
    recorder.begin()
    const began = performance.now()
    const statusAt = (path: string) => Effect.map(after.ask({ path }), ({ status }) => status)
    yield* Effect.scoped(Effect.gen(function*() {
      yield* report(url)
      yield* after.spawn
      yield* statusAt("/health/live").pipe(
        Effect.delay("100 millis"),
        Effect.repeat({ until: (status) => status === 200, times: 300 })
      )
      yield* Effect.sleep(REPORT[form])
      const [live, isReady] = [yield* statusAt("/health/live"), yield* statusAt("/health/ready")]
      if (live !== 200) recorder.report(`/health/live while it migrates: ${live}`)
      if (isReady !== 503) recorder.report(`/health/ready while it migrates: ${isReady}`)
    }))
    if (!(yield* after.ready)) {
      return yield* Effect.die(new Error(`This version is not ready:\n${after.tail()}\n${recorder.replies()}`))
    }
    const ready = performance.now() - began
    yield* carriedOver(before, after, account, recorder)
    yield* carriedOver(after, before, account, recorder)
    yield* end
    yield* sweeps(url, both, recorder)
    for (const line of both.flatMap(({ tail }) => tail().split("\n"))) {
      if (line.includes("\"level\":\"ERROR\"")) {
        recorder.report(`an error in the log of a process: ${line.slice(0, LONGEST_LINE)}`)
      }
    }
    const codes = yield* Effect.forEach(both, (one) => Effect.andThen(one.signal("SIGTERM"), one.ended))
    recorder.report("a process did not end with code 0", codes.filter((code) => code !== 0).length)
    const longestOutage = recorder.longestOutage()
    if (longestOutage > LONGEST_OUTAGE) recorder.reportSlowness("no call succeeded for more than a second")
    const waits = after.tail().split("migration waits for a lock").length - 1
    if (waits === 0) recorder.report("the log does not name who holds the lock")
    const [row] = yield* queryAt(url, "SELECT count(*)::int AS routes FROM routes")
    return {
      ...yield* audit(run, prefix, url),
      longestOutage,
      figures: [
        `${JSON.stringify(row)}, ${waits} waits for a lock logged, ready after ${(ready / 1000).toFixed(1)} s`,
        recorder.replies()
      ]
    }
  })
}
