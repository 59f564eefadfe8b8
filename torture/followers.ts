import { Effect, Fiber, Schema } from "effect"
import type { Account } from "./accounts.ts"
import { creation, decoded, idOf, routeNamed } from "./ask.ts"
import { queryAt } from "./postgres.ts"
import { insistent, messageOf, type Recorder } from "./recorder.ts"
import type { Clients } from "./world.ts"

const pageIn = decoded(Schema.Struct({
  changes: Schema.Array(
    Schema.Struct({ type: Schema.String, id: Schema.Int, change: Schema.String })
  ),
  cursor: Schema.String,
  hasMore: Schema.Boolean
}))

const Rows = Schema.Array(Schema.Struct({ key: Schema.String }))

const LIVE = `
  SELECT 'route ' || id AS key FROM routes WHERE user_id = $1 AND deleted_at IS NULL
  UNION ALL SELECT 'collection ' || id FROM collections WHERE user_id = $1 AND deleted_at IS NULL`

/** A copy of an account, by `GET /sync`. */
const copyOf = (clients: Clients, recorder: Recorder, account: Account) => {
  const call = insistent(clients.ask, recorder)
  const copy = new Set<string>()
  const state = { cursor: "" }
  /** Returns true if there may be more. */
  const pull = Effect.fnUntraced(function*(wait: number) {
    const path = `/api/v1/sync?geometry=none&limit=100&wait=${wait}${state.cursor}`
    const reply = yield* call({ path, token: account.token }, [200, 410])
    if (reply.status === 410) {
      recorder.report("a cursor was void")
      state.cursor = ""
      copy.clear()
      return true
    }
    const { changes, cursor, hasMore } = pageIn(reply)
    for (const { change, id, type } of changes) {
      if (change === "deleted") copy.delete(`${type} ${id}`)
      else copy.add(`${type} ${id}`)
    }
    state.cursor = `&cursor=${cursor}`
    return hasMore || changes.length > 0
  })
  return { account, copy, pull }
}

const LONGEST_WAIT = 5

/** Milliseconds from one deletion or list to the next. */
const EVERY = 250

const paced = (work: Effect.Effect<void>) => Effect.all([work, Effect.sleep(EVERY)], { concurrency: 2, discard: true })

/** Clients beside the load: copies of each account, deletions, and a stranger who lists what is public. */
export const followers = Effect.fnUntraced(function*(clients: Clients, recorder: Recorder, prefix: () => string) {
  const { accounts, ask } = clients
  const state = { isOver: false, unread: 0, lists: 0 }
  const call = insistent(ask, recorder)
  const copies = accounts.map((account) => copyOf(clients, recorder, account))
  const deleted: Array<number> = []
  const remove = Effect.gen(function*() {
    const token = accounts[deleted.length % accounts.length]?.token
    const name = `${prefix()}-deleted-${deleted.length}`
    const id = idOf(yield* call({ ...creation("routes", name, routeNamed(name)), token }, [201]))
    // A repeated deletion finds nothing.
    yield* call({ method: "DELETE", path: `/api/v1/routes/${id}`, token }, [204, 404])
    deleted.push(id)
  })
  const list = Effect.gen(function*() {
    state.lists += 1
    const reply = yield* ask({ path: "/api/v1/routes/public?limit=3&gate=public" })
    if (reply.status === 200 && reply.text !== "[]") return
    state.unread += 1
    recorder.report(`a list of a stranger: ${reply.status} ${messageOf(reply)}`)
  })
  const running = yield* Effect.forkScoped(Effect.forEach(
    [...copies.map(({ pull }) => pull(LONGEST_WAIT)), paced(remove), paced(list)],
    (work: Effect.Effect<unknown>) => Effect.repeat(work, { until: () => state.isOver }),
    { concurrency: "unbounded" }
  ))

  /** Ends them, compares what they have with the database at an address, and returns what they did. */
  const end = Effect.fnUntraced(function*(url: string) {
    state.isOver = true
    yield* Fiber.join(running)
    for (const { account, copy, pull } of copies) {
      yield* Effect.repeat(pull(0), { while: (hasMore) => hasMore })
      const live = new Set(
        Schema.decodeUnknownSync(Rows)(yield* queryAt(url, LIVE, [account.id])).map(({ key }) => key)
      )
      const differing = [...live, ...copy].filter((key) => live.has(key) !== copy.has(key))
      recorder.report("a copy differs from its account", differing.length)
    }
    const undone = yield* queryAt(url, "SELECT id FROM routes WHERE id = ANY($1) AND deleted_at IS NULL", [deleted])
    recorder.report("a deletion was undone", undone.length)
    return `${deleted.length} deletions`
  })
  return { counts: () => ({ ...state }), end }
})
