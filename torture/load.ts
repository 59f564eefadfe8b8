import { Effect, Option, Schema } from "effect"
import { setTimeout as pause } from "node:timers/promises"
import type { Account } from "./accounts.ts"
import type { Asking, Reply } from "./ask.ts"
import type { Ledger } from "./ledger.ts"
import type { Recorder } from "./recorder.ts"

/** Clients that arrive at a rate, whether or not those before have got a response. */
interface Load {
  /** Waits for the responses to all calls that have arrived so far. */
  readonly settled: Effect.Effect<void>
  /** No more arrive; waits until those that are there have got a response or reached their timeout. */
  readonly end: Effect.Effect<void>
}

interface Arrivals {
  readonly asking: Asking
  readonly accounts: ReadonlyArray<Account>
  readonly ledger: Ledger
  readonly recorder: Recorder
  /** Begins the names of what is written from now on. */
  readonly prefix: () => string
  readonly perSecond: number
  /** Routes of a batch beside each ten calls. */
  readonly batch?: number
}

/** A second call waits for the first for 5 seconds, and a crash frees the key: a longer wait is a locked key. */
const HELD_AFTER = 6000

/** A client repeats a write for so long. */
const PERSISTENCE = 60_000

/** For writes that have no response when the load ends: the longest pause, and a call. */
const LAST_CALL = 20_000

/** Milliseconds between two calls. */
const PAUSE = { shortest: 100, longest: 10_000 }

const Kept = Schema.Struct({ id: Schema.Int, name: Schema.String })

type Kept = typeof Kept.Type

const Stored = Schema.fromJsonString(
  Schema.Union([Kept, Schema.Struct({ results: Schema.Array(Schema.Struct({ route: Kept })) })])
)

const decoded = Schema.decodeUnknownOption(Stored)

/** The routes or the collection in a response; none in one of another shape. */
const storedIn = (text: string): ReadonlyArray<Kept> =>
  Option.match(decoded(text), {
    onNone: () => [],
    onSome: (stored) => "results" in stored ? stored.results.map(({ route }) => route) : [stored]
  })

/** As the response says, and a random time up to a limit that doubles. */
const pauseAfter = ({ headers, status }: Reply, attempt: number) => {
  if (status === 409) return PAUSE.shortest
  const told = Number(headers["retry-after"] ?? 0) * 1000
  const limit = Math.min(PAUSE.shortest * 2 ** attempt, PAUSE.longest)
  return Math.max(told, PAUSE.shortest) + Math.random() * limit
}

const routeNamed = (name: string) => ({
  name,
  waypoints: [{ coord: [9.5, 47.1] }],
  geometry: Array.from({ length: 20 }, (_, n) => [9.5 + n / 1000, 47.1 + (n % 3) / 1000])
})

/** A call stores all of these or nothing. */
interface Write {
  readonly path: "routes" | "collections" | "routes/batch"
  readonly names: readonly [string, ...ReadonlyArray<string>]
}

const bodyOf = ({ names, path }: Write) => {
  const [name] = names
  if (path === "collections") return { name }
  if (path === "routes") return routeNamed(name)
  return { atomic: true, operations: names.map((name) => ({ op: "create", route: routeNamed(name) })) }
}

/** Writes that are repeated, with their keys, until they get a response. */
const writing =
  ({ asking: { ask }, ledger, recorder }: Arrivals, kept: Map<number, Kept>, ended: () => number) =>
  async (account: Account, write: Write) => {
    const { names, path } = write
    const note = (kind: "intent" | "acknowledged", ids: ReadonlyArray<{ readonly id?: number }>) =>
      Promise.all(names.map((name, n) =>
        ledger.append({
          kind,
          name,
          endpoint: path === "collections" ? path : "routes",
          account: account.id,
          ...ids[n]
        })
      ))
    await note("intent", [])
    const began = performance.now()
    const held = { since: Infinity }
    const call = () =>
      ask({
        method: "POST",
        path: `/api/v1/${path}`,
        token: account.token,
        headers: { "idempotency-key": names[0] },
        body: JSON.stringify(bodyOf(write))
      })
    const acknowledge = async ({ text }: Reply) => {
      const stored = storedIn(text)
      if (names.some((name, n) => stored[n]?.name !== name)) return recorder.report("a response of another write")
      await note("acknowledged", stored.map(({ id }) => ({ id })))
      recorder.acknowledged(began, names.length)
      const [first] = stored
      return void (first !== undefined && path !== "collections" && kept.set(account.id, first))
    }
    for (let attempt = 0;; attempt++) {
      const reply = await recorder.watch(call, `POST /${path}`)
      if (reply.status === 201 || reply.status === 200) return acknowledge(reply)
      const now = performance.now()
      held.since = reply.status === 409 ? Math.min(held.since, now) : Infinity
      if (now - held.since > HELD_AFTER) return recorder.reportSlowness("a key is held for more than 6 s (409)")
      if (now - began > PERSISTENCE) return recorder.reportSlowness("a write got no response within 60 s")
      if (now - ended() > LAST_CALL) {
        return recorder.reportSlowness("a write got no response within 20 s of the last fault")
      }
      await pause(pauseAfter(reply, attempt))
    }
  }

const reading = ({ asking: { ask }, recorder }: Arrivals, kept: Map<number, Kept>) => async (account: Account) => {
  const last = kept.get(account.id)
  if (last === undefined) return
  const call = () => ask({ path: `/api/v1/routes/${last.id}`, token: account.token })
  const { status, text } = await recorder.watch(call, "GET /routes/{id}")
  if (status === 200 && storedIn(text)[0]?.name !== last.name) recorder.report("a read of another route")
}

/** Three of ten calls read a route, three lists and the account, three write a route and one a collection; one more may store a batch. */
export const load = Effect.fnUntraced(function*(arrivals: Arrivals) {
  const { accounts, asking: { ask }, batch = 0, perSecond, prefix, recorder } = arrivals
  const kept = new Map<number, Kept>()
  const state = { ended: Infinity }
  const write = writing(arrivals, kept, () => state.ended)
  const read = reading(arrivals, kept)
  const look = (path: string, { token }: Account) => recorder.watch(() => ask({ path, token }), `GET ${path}`)
  const store = (path: "routes" | "collections") => (account: Account, name: string) =>
    write(account, { path, names: [name] })
  const storeBatch = (account: Account, name: string) =>
    write(account, {
      path: "routes/batch",
      names: [name, ...Array.from({ length: batch - 1 }, (_, n) => `${name}-${n}`)]
    })
  const calls = [
    (account: Account) => read(account),
    store("routes"),
    (account: Account) => look("/api/v1/users/me", account),
    (account: Account) => read(account),
    store("routes"),
    (account: Account) => look("/api/v1/routes?limit=3&geometry=none", account),
    (account: Account) => read(account),
    store("routes"),
    (account: Account) => look("/api/v1/routes/public?limit=3", account),
    store("collections"),
    ...(batch === 0 ? [] : [storeBatch])
  ]
  const pending = new Set<Promise<unknown>>()
  const arrive = async () => {
    const began = performance.now()
    for (let n = 0; state.ended === Infinity; n++) {
      const early = began + n * 1000 / perSecond - performance.now()
      if (early > 0) await pause(early)
      // Each account makes calls of each kind; two in a row are of two accounts, whose writes do not wait for each other.
      const account = accounts[(n + Math.floor(n / calls.length)) % accounts.length]
      const call = calls[n % calls.length]
      if (account === undefined || call === undefined) continue
      const answered: Promise<unknown> = call(account, `${prefix()}-${n}`).finally(() => pending.delete(answered))
      pending.add(answered)
    }
  }
  const settled = Effect.promise(async () => void await Promise.all(pending))
  const end = Effect.promise(async () => {
    state.ended = Math.min(state.ended, performance.now())
    await arriving
    while (pending.size > 0) await Promise.all(pending)
  })
  recorder.begin()
  const arriving = arrive()
  yield* Effect.addFinalizer(() => Effect.sync(() => void (state.ended = Math.min(state.ended, 0))))
  const made: Load = { settled, end }
  return made
})
