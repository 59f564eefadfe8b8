import { Effect, Schema } from "effect"
import type { Account } from "./accounts.ts"
import { type Ask, decoded } from "./ask.ts"
import { queryAt } from "./postgres.ts"
import { insistent, type Recorder } from "./recorder.ts"

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

/** Reads the changes after a cursor. The service may wait some seconds for the first of them. */
export const changesAfter = (ask: Ask, recorder: Recorder, { token }: Account, cursor: string, wait = 0) => {
  const after = cursor === "" ? "" : `&cursor=${cursor}`
  const path = `/api/v1/sync?geometry=none&limit=100&wait=${wait}${after}`
  return insistent(ask, recorder)({ path, token }, [200, 410])
}

/** Keeps a copy of an account by `GET /sync`. */
export const copyOf = (ask: Ask, recorder: Recorder, account: Account) => {
  const copy = new Set<string>()
  const state = { cursor: "" }
  /** Returns true if there may be more. */
  const pull = Effect.fnUntraced(function*(wait: number) {
    const reply = yield* changesAfter(ask, recorder, account, state.cursor, wait)
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
    state.cursor = cursor
    return hasMore || changes.length > 0
  })
  const complete = Effect.repeat(pull(0), { while: (hasMore) => hasMore })
  /** Completes the copy, and compares it with the database at an address. */
  const compare = Effect.fnUntraced(function*(url: string) {
    yield* complete
    const rows = Schema.decodeUnknownSync(Rows)(yield* queryAt(url, LIVE, [account.id]))
    const live = new Set(rows.map(({ key }) => key))
    const differing = [...live, ...copy].filter((key) => live.has(key) !== copy.has(key))
    recorder.report("a copy differs from its account", differing.length)
  })
  return { pull, compare, cursor: Effect.map(complete, () => state.cursor) }
}
