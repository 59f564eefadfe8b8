import { Duration, Effect, Schedule, type Scope } from "effect"
import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { mkdir, symlink } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { Client } from "pg"
import { fill } from "../../bench/fill.ts"
import { front } from "../../test/support/Front.ts"
import { accounts, sessionOf } from "../accounts.ts"
import { type Ask, type Asking, asking } from "../ask.ts"
import { type Fault, outcomeOf } from "../fault.ts"
import { audit } from "../ledger.ts"
import { load } from "../load.ts"
import { formOf } from "../options.ts"
import { postgres, queryAt } from "../postgres.ts"
import { makeRecorder, type Recorder } from "../recorder.ts"
import { type Service, service } from "../service.ts"
import { Skipped } from "../skipped.ts"
import { sweeps } from "./together.ts"

/** The version before. */
const BEFORE = "5f9cb5a1"

const ROOT = join(import.meta.dirname, "../..")

const ROUTES = { short: 10_000, full: 1_000_000 }

const REPORT = { short: Duration.seconds(5), full: Duration.seconds(30) }

const PER_SECOND = { short: 40, full: 60 }

const LONGEST_OUTAGE = 1000

/** This part of a line of a log is printed. */
const LONGEST_LINE = 200

const run = promisify(execFile)

const versionBefore = (directory: string) =>
  Effect.tryPromise({
    try: async () => {
      const root = join(directory, "before")
      await mkdir(root)
      const archive = join(directory, "before.tar")
      await run("git", ["archive", "--output", archive, BEFORE], { cwd: ROOT })
      await run("tar", ["-xf", archive, "-C", root])
      await symlink(join(ROOT, "node_modules"), join(root, "node_modules"))
      return root
    },
    catch: () => new Skipped(`there is no clone with the commit ${BEFORE}, the version before`)
  })

/**
 * The routes of a large installation. Triggers are off: words, changes and counts of its accounts, which nobody asks for,
 * would take most of the time.
 */
const filled = Effect.fnUntraced(function*(url: string, count: number) {
  const address = new URL(url)
  address.searchParams.set("options", "-c session_replication_role=replica")
  yield* fill(address.href, count, count)
  // No route of the trash is due, or sweeps would purge thousands at once.
  yield* queryAt(address.href, "UPDATE routes SET deleted_at = now() WHERE deleted_at IS NOT NULL")
})

/** Undone, so that this version has a migration that locks the table of routes against writers. */
const UNDONE = `
  DROP TRIGGER json_on_write ON routes;
  DROP TRIGGER json_on_write ON route_views;
  DROP FUNCTION require_json;
  UPDATE effect_sql_migrations SET migration_id = 42, name = 'baseline'`

const undone = (url: string) =>
  Effect.forEach(UNDONE.split(";"), (statement) => queryAt(url, statement), { discard: true })

/** A transaction that reads all routes and may write some, until the scope closes. */
const report: (url: string) => Effect.Effect<void, never, Scope.Scope> = Effect.fnUntraced(function*(url) {
  yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client(url)
      await client.connect()
      await client.query("BEGIN")
      await client.query("SELECT count(*) FROM routes, users WHERE routes.user_id = users.id")
      await client.query("LOCK TABLE routes IN ROW EXCLUSIVE MODE")
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )
})

/** The first response but a 503, which a process gives under the load. */
const insisted = ({ ask }: Asking, call: Ask) =>
  Effect.promise(() => ask(call)).pipe(
    Effect.repeat({ schedule: Schedule.spaced("1 second"), until: ({ status }) => status !== 503, times: 30 })
  )

const statusAt = ({ ask }: Asking, path: string, token?: string) =>
  Effect.map(Effect.promise(() => ask({ path, token })), ({ status }) => status)

const routeBody = JSON.stringify({ name: "Beside", waypoints: [{ coord: [9.5, 47.1] }] })

/** A call with a key at one version, repeated at the other. */
const repeated = Effect.fnUntraced(function*(first: Asking, other: Asking, token: string, recorder: Recorder) {
  const call = {
    method: "POST",
    path: "/api/v1/routes",
    token,
    headers: { "idempotency-key": randomUUID() },
    body: routeBody
  }
  const one = yield* insisted(first, call)
  const again = yield* insisted(other, call)
  if (one.status !== 201 || again.status !== 201 || one.text !== again.text) {
    recorder.report(`a call repeated at the other version: ${one.status}, then ${again.status}`)
  }
})

/** A session of one version, used at the other. */
const shared = Effect.fnUntraced(function*(first: Asking, other: Asking, email: string, recorder: Recorder) {
  const { accessToken } = yield* sessionOf(first, email)
  const { status } = yield* insisted(other, { path: "/api/v1/users/me", token: accessToken })
  if (status !== 200) recorder.report(`a session of the other version: ${status}`)
})

const linkIn = (process: Service, email: string) => {
  const line = process.tail().split("\n").find((line) => line.includes(email) && line.includes("token="))
  return /token=([\w-]+)/.exec(line ?? "")?.[1]
}

/** A sign-up at one version, verified at the other by the link that was mailed. */
const linked = Effect.fnUntraced(function*(
  first: { readonly asking: Asking; readonly process: Service },
  other: Asking,
  recorder: Recorder
) {
  const email = `${randomUUID()}@example.com`
  const body = JSON.stringify({ email, password: "a long enough password" })
  yield* insisted(first.asking, { method: "POST", path: "/api/v1/auth/signup-email", body })
  const token = yield* Effect.sync(() => linkIn(first.process, email)).pipe(
    Effect.delay("100 millis"),
    Effect.repeat({ until: (token) => token !== undefined, times: 100 })
  )
  const { status, text } = yield* insisted(other, {
    method: "POST",
    path: "/api/v1/auth/verify-email",
    body: JSON.stringify({ token })
  })
  if (status !== 200) recorder.report(`a link of the other version: ${status} ${text}`)
})

/** The version before goes on beside this one, which migrates its database with a report open. */
export const versions: Fault = {
  key: "versions",
  title: "migration beside the version before",
  isInShortForm: false,
  run: Effect.fnUntraced(function*(torture) {
    const form = formOf(torture.options)
    const root = yield* versionBefore(torture.directory)
    const database = yield* postgres({ directory: join(torture.directory, "versions"), keeper: torture.keeper })
    const settings = { DATABASE_URL: database.url(), LOG_FORMAT: "json", ERASURE_SWEEP_INTERVAL: "1 second" }
    const before = yield* service(torture.keeper, settings, root)
    const after = yield* service(torture.keeper, settings)
    yield* before.spawn
    const recorder = makeRecorder()
    if (!(yield* before.ready)) recorder.report("the version before is not ready")
    const { origin } = yield* front([before, after].map(({ origin }) => origin))
    const [client, old, young] = [asking(origin), asking(before.origin), asking(after.origin)]
    yield* Effect.addFinalizer(() => Effect.sync(() => [client, old, young].forEach(({ close }) => close())))
    yield* filled(database.url(), ROUTES[form])
    const people = yield* accounts(database.url(), old, "versions", 4)
    yield* undone(database.url())
    const clients = yield* load({
      asking: client,
      accounts: people,
      ledger: torture.ledger,
      recorder,
      prefix: () => torture.prefix,
      perSecond: PER_SECOND[form]
    })
    yield* Effect.sleep("2 seconds")
    recorder.begin()
    const began = performance.now()
    yield* Effect.scoped(Effect.gen(function*() {
      yield* report(database.url())
      yield* after.spawn
      yield* statusAt(young, "/health/live").pipe(
        Effect.delay("100 millis"),
        Effect.repeat({ until: (status) => status === 200, times: 300 })
      )
      yield* Effect.sleep(REPORT[form])
      const [live, isReady] = [yield* statusAt(young, "/health/live"), yield* statusAt(young, "/health/ready")]
      if (live !== 200) recorder.report(`/health/live while it migrates: ${live}`)
      if (isReady !== 503) recorder.report(`/health/ready while it migrates: ${isReady}`)
    }))
    if (!(yield* after.ready)) {
      return yield* Effect.die(new Error(`This version is not ready:\n${after.tail()}\n${recorder.replies()}`))
    }
    const ready = performance.now() - began
    const { email = "", token = "" } = people[0] ?? {}
    yield* repeated(old, young, token, recorder)
    yield* repeated(young, old, token, recorder)
    yield* linked({ asking: old, process: before }, young, recorder)
    yield* linked({ asking: young, process: after }, old, recorder)
    yield* shared(old, young, email, recorder)
    yield* shared(young, old, email, recorder)
    yield* clients.end
    yield* sweeps(database.url(), [before, after], recorder)
    for (const line of [before, after].flatMap(({ tail }) => tail().split("\n"))) {
      if (line.includes("\"level\":\"ERROR\"")) {
        recorder.report(`an error in the log of a process: ${line.slice(0, LONGEST_LINE)}`)
      }
    }
    const failed = yield* Effect.forEach(
      [before, after],
      (one) => one.signal("SIGTERM").pipe(Effect.andThen(one.ended))
    )
    recorder.report("a process did not end with code 0", failed.filter(({ code }) => code !== 0).length)
    const outage = recorder.longestOutage()
    if (outage > LONGEST_OUTAGE) recorder.reportSlowness("no call succeeded for more than a second")
    const { lost, twice } = yield* audit(torture.ledger, torture.prefix, database.url())
    const waits = after.tail().split("migration waits for a lock").length - 1
    if (waits === 0) recorder.report("the log does not name who holds the lock")
    const [row] = yield* queryAt(database.url(), "SELECT count(*)::int AS routes FROM routes")
    return outcomeOf(recorder, {
      requests: recorder.requests(),
      lost,
      twice,
      longestOutage: outage,
      figures: [
        `${JSON.stringify(row)}, ${waits} waits for a lock logged, ready after ${(ready / 1000).toFixed(1)} s`,
        recorder.replies()
      ]
    })
  })
}
