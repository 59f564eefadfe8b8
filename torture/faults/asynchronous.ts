import { Effect, Schema } from "effect"
import { rm } from "node:fs/promises"
import { caughtUp, cluster, directoryOf, type Member, promote, query } from "../../test/support/Cluster.ts"
import { databaseProxy } from "../../test/support/DatabaseProxy.ts"
import { untilFound } from "../../test/support/Waiting.ts"
import { accounts } from "../accounts.ts"
import { type Ask, asking } from "../ask.ts"
import { type Fault, outcomeOf } from "../fault.ts"
import { formOf } from "../options.ts"
import { countAt, queryAt } from "../postgres.ts"
import { makeRecorder } from "../recorder.ts"
import { service } from "../service.ts"

const ROUNDS = { short: 2, full: 200 }

const Feed = Schema.fromJsonString(
  Schema.Struct({ changes: Schema.Array(Schema.Unknown), cursor: Schema.String, hasMore: Schema.Boolean })
)

const feedOf = Schema.decodeUnknownSync(Feed)

const COUNT = "SELECT count(*)::int AS count FROM routes WHERE deleted_at IS NULL AND name = 'Kept'"

/** Standbys are promoted, in turn one that has all and one that lacks what a client has read: the cursor of that one is void. */
export const asynchronous: Fault = {
  key: "asynchronous",
  title: "promotions of a standby that has all, or is behind",
  isInShortForm: false,
  run: Effect.fnUntraced(function*(run) {
    const recorder = makeRecorder()
    const { primary, standby } = yield* cluster
    const { proxy, url } = yield* databaseProxy(primary.url)
    const one = yield* service(run.keeper, { DATABASE_URL: url })
    yield* one.spawn
    if (!(yield* one.ready)) return yield* Effect.die(new Error(`The service is not ready:\n${one.tail()}`))
    const { ask, close } = asking(one.origin)
    yield* Effect.addFinalizer(() => Effect.sync(close))
    const [account] = yield* accounts(url, { ask, close }, "asynchronous", 1)
    const call = (wanted: Ask) => Effect.promise(() => ask({ ...wanted, token: account?.token }))
    const insistent = (wanted: Ask, statuses: ReadonlyArray<number>) =>
      untilFound(
        Effect.tap(call(wanted), ({ status }) =>
          Effect.sync(() =>
            recorder.report(`${wanted.path}: ${status}`, status >= 500 && status !== 503 ? 1 : 0)
          )),
        ({ status }) => statuses.includes(status)
      )
    const stored = (name: string) => {
      const body = JSON.stringify({ name, waypoints: [{ coord: [9.5, 47.1] }] })
      return insistent({ method: "POST", path: "/api/v1/routes", body }, [201])
    }
    const sync = (cursor: string) => insistent({ path: `/api/v1/sync?limit=200${cursor}` }, [200, 410])
    const fromStart = Effect.gen(function*() {
      const read = { count: 0, cursor: "", hasMore: true }
      while (read.hasMore) {
        const { changes, cursor, hasMore } = feedOf((yield* sync(read.cursor)).text)
        Object.assign(read, { count: read.count + changes.length, cursor: `&cursor=${cursor}`, hasMore })
      }
      return read
    })

    const state: { leader: Member; kept: number; void: number } = { leader: primary, kept: 0, void: 0 }
    const judged = Effect.fnUntraced(function*(cursor: string, wanted: number, what: string) {
      const { status } = yield* sync(cursor)
      if (status !== wanted) recorder.report(`a cursor ${what}: ${status}`)
      return status === wanted ? 1 : 0
    })

    const round = Effect.fnUntraced(function*(n: number) {
      const { leader } = state
      const isBehind = n % 2 === 1
      yield* stored("Kept")
      const { cursor: kept } = yield* fromStart
      const next = yield* standby(leader, `standby-${n}`)
      yield* caughtUp(leader, next)
      if (isBehind) {
        yield* query(next.url, "ALTER SYSTEM SET primary_conninfo = ''")
        yield* query(next.url, "SELECT pg_reload_conf()")
        yield* untilFound(query(leader.url, "SELECT FROM pg_stat_replication"), (rows) => rows.length === 0)
      }
      yield* stored(isBehind ? "Lost" : "Kept")
      const { cursor: last } = yield* fromStart
      if (!isBehind) yield* caughtUp(leader, next)
      const directory = yield* directoryOf(leader)
      yield* leader.stop
      yield* promote(next)
      proxy.lead(next.port)
      proxy.cut()
      state.leader = next
      yield* Effect.promise(() => rm(directory, { recursive: true, force: true }))
      // Before and after as many changes as were lost.
      for (const _ of [1, 2]) {
        if (isBehind) state.void += yield* judged(last, 410, "of what was lost")
        else state.kept += yield* judged(last, 200, "where nothing was lost")
        yield* stored("Kept")
      }
      yield* judged(kept, 200, "from before what was lost")
      const { count } = yield* fromStart
      recorder.report(
        "a copy differs from its account",
        Math.abs(count - countAt(yield* queryAt(next.url, COUNT)))
      )
    })

    const began = performance.now()
    const wanted = run.options.rounds ?? ROUNDS[formOf(run.options)]
    const rounds = { count: 0 }
    while (rounds.count < wanted && (rounds.count === 0 || performance.now() - began < run.budget)) {
      yield* round(rounds.count++)
    }
    return outcomeOf(recorder, {
      rounds: rounds.count,
      figures: [
        `${Math.ceil(rounds.count / 2)} promotions of a standby that has all: ${state.kept / 2} cursors go on`,
        `${Math.floor(rounds.count / 2)} of one that is behind: ${state.void / 2} cursors are void`
      ]
    })
  })
}
