import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { rm } from "node:fs/promises"
import { caughtUp, cluster, directoryOf, type Member, promote, query } from "../../test/support/Cluster.ts"
import { databaseProxy } from "../../test/support/DatabaseProxy.ts"
import { untilNone } from "../../test/support/Waiting.ts"
import { accounts } from "../accounts.ts"
import { creation, routeNamed } from "../ask.ts"
import { changesAfter, copyOf } from "../copies.ts"
import { type Fault, rounds } from "../fault.ts"
import { insistent } from "../recorder.ts"
import { serving } from "../service.ts"

const ROUNDS = { short: 2, full: 200 }

/** Standbys are promoted, in turn one that has all, and one that lacks what a client has read, whose cursor is void. */
export const asynchronous: Fault = {
  key: "asynchronous",
  title: "promotions of a standby that has all, or is behind",
  run: Effect.fnUntraced(function*(run) {
    const { recorder } = run
    const { primary, standby } = yield* cluster
    const { proxy, url } = yield* databaseProxy(primary.url)
    const { ask, origin } = yield* serving(run.keeper, { DATABASE_URL: url })
    const [account] = yield* accounts(url, origin, "asynchronous", 1)
    if (account === undefined) return {}
    const stored = (name: string) =>
      insistent(ask, recorder)({ ...creation("routes", randomUUID(), routeNamed(name)), token: account.token }, [201])
    const lastCursor = Effect.suspend(() => copyOf(ask, recorder, account).cursor)

    const state: { leader: Member; kept: number; void: number } = { leader: primary, kept: 0, void: 0 }
    const judged = Effect.fnUntraced(function*(cursor: string, wanted: number, what: string) {
      const { status } = yield* changesAfter(ask, recorder, account, cursor)
      if (status !== wanted) recorder.report(`a cursor ${what}: ${status}`)
      return status === wanted ? 1 : 0
    })

    const count = yield* rounds(
      run,
      ROUNDS,
      Effect.fnUntraced(function*(n: number) {
        const { leader } = state
        const isBehind = n % 2 === 1
        yield* stored("Kept")
        const kept = yield* lastCursor
        const next = yield* standby(leader, `standby-${n}`)
        yield* caughtUp(leader, next)
        if (isBehind) {
          yield* query(next.url, "ALTER SYSTEM SET primary_conninfo = ''")
          yield* query(next.url, "SELECT pg_reload_conf()")
          yield* untilNone(query(leader.url, "SELECT FROM pg_stat_replication"))
        }
        yield* stored(isBehind ? "Lost" : "Kept")
        const last = yield* lastCursor
        if (!isBehind) yield* caughtUp(leader, next)
        const directory = yield* directoryOf(leader)
        yield* leader.stop
        yield* promote(next)
        proxy.lead(next.port)
        proxy.cut()
        state.leader = next
        yield* Effect.promise(() => rm(directory, { recursive: true, force: true }))
        // The cursor is judged before and after as many changes as were lost.
        for (const _ of [1, 2]) {
          if (isBehind) state.void += yield* judged(last, 410, "of what was lost")
          else state.kept += yield* judged(last, 200, "where nothing was lost")
          yield* stored("Kept")
        }
        yield* judged(kept, 200, "from before what was lost")
        yield* copyOf(ask, recorder, account).compare(next.url)
      })
    )
    return {
      rounds: count,
      figures: [
        `${Math.ceil(count / 2)} promotions of a standby that has all: ${state.kept / 2} cursors go on`,
        `${Math.floor(count / 2)} of one that is behind: ${state.void / 2} cursors are void`
      ]
    }
  })
}
