import { Effect, Schema } from "effect"
import { setTimeout as pause } from "node:timers/promises"
import type { Account } from "./accounts.ts"
import type { Ask, Asking, Reply } from "./ask.ts"
import { queryAt } from "./postgres.ts"
import { messageOf, type Recorder } from "./recorder.ts"

const Page = Schema.fromJsonString(Schema.Struct({
  changes: Schema.Array(
    Schema.Struct({ type: Schema.String, id: Schema.Int, change: Schema.String })
  ),
  cursor: Schema.String,
  hasMore: Schema.Boolean
}))

const Stored = Schema.fromJsonString(Schema.Struct({ id: Schema.Int }))

const Rows = Schema.Array(Schema.Struct({ key: Schema.String }))

const LIVE = `
  SELECT 'route ' || id AS key FROM routes WHERE user_id = $1 AND deleted_at IS NULL
  UNION ALL SELECT 'collection ' || id FROM collections WHERE user_id = $1 AND deleted_at IS NULL`

const RETRY = 250

/** Repeats a call until its status is one of those wanted. A 5xx but 503 is reported, and a 503 without `Retry-After`. */
const insistent = ({ ask }: Asking, recorder: Recorder) => async (call: Ask, wanted: ReadonlyArray<number>) => {
  for (;;) {
    const reply = await ask(call)
    if (wanted.includes(reply.status)) return reply
    const [what = ""] = call.path.split("?")
    if (reply.status >= 500 && reply.status !== 503) recorder.report(`${what}: ${reply.status}`)
    recorder.reportUntimed(reply, what)
    await pause(Math.max(RETRY, Number(reply.headers["retry-after"] ?? 0) * 1000))
  }
}

const isGone = ({ status }: Reply) => status === 410

/** A copy of an account, by `GET /sync`. */
const copyOf = (asking: Asking, recorder: Recorder, { token }: Account) => {
  const call = insistent(asking, recorder)
  const copy = new Set<string>()
  const state: { cursor: string | undefined } = { cursor: undefined }
  /** Returns whether there may be more. */
  const pull = async (wait: number): Promise<boolean> => {
    const cursor = state.cursor === undefined ? "" : `&cursor=${state.cursor}`
    const reply = await call({ path: `/api/v1/sync?geometry=none&limit=100&wait=${wait}${cursor}`, token }, [200, 410])
    if (isGone(reply)) {
      recorder.report("a cursor was void")
      state.cursor = undefined
      copy.clear()
      return true
    }
    const { changes, cursor: next, hasMore } = Schema.decodeSync(Page)(reply.text)
    for (const { change, id, type } of changes) {
      if (change === "deleted") copy.delete(`${type} ${id}`)
      else copy.add(`${type} ${id}`)
    }
    state.cursor = next
    return hasMore || changes.length > 0
  }
  return { copy, pull }
}

const LONGEST_WAIT = 5

/** Clients beside the load: copies of each account, deletions, and a stranger who lists what is public. */
export const followers = Effect.fnUntraced(
  function*(asking: Asking, accounts: ReadonlyArray<Account>, recorder: Recorder, prefix: () => string) {
    const state = { isOver: false, unread: 0, lists: 0 }
    const whileOn = async (work: (n: number) => Promise<unknown>, every = 0) => {
      for (let n = 0; !state.isOver; n++) await Promise.all([work(n), pause(every)])
    }
    const copies = accounts.map((account) => ({ account, ...copyOf(asking, recorder, account) }))
    const call = insistent(asking, recorder)
    const deleted: Array<number> = []
    const remove = async (n: number) => {
      const token = accounts[n % accounts.length]?.token
      const name = `${prefix()}-deleted-${n}`
      const body = JSON.stringify({ name, waypoints: [{ coord: [9.5, 47.1] }] })
      const headers = { "idempotency-key": name }
      const { text } = await call({ method: "POST", path: "/api/v1/routes", token, headers, body }, [201])
      const { id } = Schema.decodeSync(Stored)(text)
      // A repeated deletion finds nothing.
      await call({ method: "DELETE", path: `/api/v1/routes/${id}`, token }, [204, 404])
      deleted.push(id)
    }
    const list = async () => {
      state.lists += 1
      const reply = await asking.ask({ path: "/api/v1/routes/public?limit=3&gate=public" })
      if (reply.status === 200 && reply.text !== "[]") return
      state.unread += 1
      recorder.report(`a list of a stranger: ${reply.status} ${messageOf(reply)}`)
    }
    const running = Promise.all([
      ...copies.map(({ pull }) => whileOn(() => pull(LONGEST_WAIT))),
      whileOn(remove, RETRY),
      whileOn(list, RETRY)
    ])
    yield* Effect.addFinalizer(() => Effect.sync(() => void (state.isOver = true)))

    /** Ends them, compares what they have with the database at an address, and returns what they did. */
    const end = Effect.fnUntraced(function*(url: string) {
      state.isOver = true
      yield* Effect.promise(() => running)
      for (const { account, copy, pull } of copies) {
        while (yield* Effect.promise(() => pull(0)));
        const live = new Set(
          Schema.decodeUnknownSync(Rows)(yield* queryAt(url, LIVE, [account.id])).map(({ key }) => key)
        )
        const differing = [...live].filter((key) => !copy.has(key)).length +
          [...copy].filter((key) => !live.has(key)).length
        recorder.report("a copy differs from its account", differing)
      }
      const undone = yield* queryAt(url, "SELECT id FROM routes WHERE id = ANY($1) AND deleted_at IS NULL", [deleted])
      recorder.report("a deletion was undone", undone.length)
      return `${deleted.length} deletions`
    })
    return { counts: () => ({ ...state }), end }
  }
)
