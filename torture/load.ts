import { Effect, Fiber, FiberSet } from "effect"
import type { Account } from "./accounts.ts"
import { creation, type Reply, routeNamed } from "./ask.ts"
import type { Run } from "./fault.ts"
import type { Clients } from "./world.ts"
import { storedIn, type Write, writing } from "./writes.ts"

interface Arrivals {
  /** The names of all that is written from now on begin with this prefix. */
  readonly prefix: () => string
  readonly perSecond: number
  /** Beside each ten calls, a batch stores this many routes. */
  readonly batch?: number
}

/** A client repeats a write for this many milliseconds. */
const PERSISTENCE = 60_000

/** Writes without a response when the load ends have the time for the longest pause and a call, in milliseconds. */
const LAST_CALL = 20_000

/** The pause between two calls is in milliseconds. */
const PAUSE = { shortest: 100, longest: 10_000 }

/** Returns the pause that the response asks for, and a random time up to a limit that doubles. */
const pauseAfter = ({ headers, status }: Reply, attempt: number) => {
  if (status === 409) return PAUSE.shortest
  const told = Number(headers["retry-after"] ?? 0) * 1000
  const limit = Math.min(PAUSE.shortest * 2 ** (attempt - 1), PAUSE.longest)
  return Math.max(told, PAUSE.shortest) + Math.random() * limit
}

const geometry = Array.from({ length: 20 }, (_, n) => [9.5 + n / 1000, 47.1 + (n % 3) / 1000])

const route = (name: string): Write => ({
  endpoint: "routes",
  names: [name],
  call: creation("routes", name, routeNamed(name, { geometry }))
})

const collection = (name: string): Write => ({
  endpoint: "collections",
  names: [name],
  call: creation("collections", name, { name })
})

const batchOf = (length: number) => (name: string): Write => {
  const names = Array.from({ length }, (_, n) => `${name}-${n}`)
  const operations = names.map((name) => ({ op: "create", route: routeNamed(name, { geometry }) }))
  return {
    endpoint: "routes",
    names,
    call: { ...creation("routes", name, { atomic: true, operations }), path: "/api/v1/routes/batch" }
  }
}

/**
 * Clients arrive at a rate, even if earlier ones have no response yet. Of ten calls three read a route, three lists and
 * the account, three write a route and one a collection; one more may store a batch.
 */
export const load = Effect.fnUntraced(function*(
  { ledger, recorder }: Pick<Run, "ledger" | "recorder">,
  { accounts, ask }: Clients,
  { batch = 0, perSecond, prefix }: Arrivals
) {
  const kept = new Map<number, { readonly id: number; readonly name: string }>()
  const write = writing({ ask, ledger, recorder, persistence: PERSISTENCE, pauseAfter })
  const store = (writeOf: (name: string) => Write) => (account: Account, name: string) =>
    Effect.map(write(account, writeOf(name)), (stored) => {
      if (stored !== undefined && writeOf !== collection) kept.set(account.id, stored)
    })
  const look = (path: string) => ({ token }: Account) => recorder.watch(ask({ path, token }), `GET ${path}`)
  const read = Effect.fnUntraced(function*({ id, token }: Account) {
    const last = kept.get(id)
    if (last === undefined) return
    const reply = yield* recorder.watch(ask({ path: `/api/v1/routes/${last.id}`, token }), "GET /routes/{id}")
    if (reply.status === 200 && storedIn(reply)[0]?.name !== last.name) recorder.report("a read of another route")
  })
  const calls = [
    read,
    store(route),
    look("/api/v1/users/me"),
    read,
    store(route),
    look("/api/v1/routes?limit=3&geometry=none"),
    read,
    store(route),
    look("/api/v1/routes/public?limit=3"),
    store(collection),
    ...(batch === 0 ? [] : [store(batchOf(batch))])
  ]
  const pending = yield* FiberSet.make<unknown, never>()
  const arrive = Effect.fnUntraced(function*(n: number) {
    // Each account makes calls of each kind. Two calls in a row have two accounts, so their writes do not wait.
    const account = accounts[(n + Math.floor(n / calls.length)) % accounts.length]
    const call = calls[n % calls.length]
    if (account !== undefined && call !== undefined) yield* FiberSet.run(pending, call(account, `${prefix()}-${n}`))
  })
  recorder.begin()
  const began = performance.now()
  const arriving = yield* Effect.gen(function*() {
    for (let n = 0;; n++) {
      yield* Effect.sleep(Math.max(0, began + n * 1000 / perSecond - performance.now()))
      yield* arrive(n)
    }
  }).pipe(Effect.forkScoped)
  return {
    /** Waits for the responses to all calls that have arrived so far. */
    settled: Effect.suspend(() => Fiber.awaitAll([...pending])),
    /** Stops arrivals. Waits until the remaining clients have got a response or reached their timeout. */
    end: Fiber.interrupt(arriving).pipe(
      Effect.andThen(Effect.raceFirst(FiberSet.join(pending), FiberSet.awaitEmpty(pending))),
      Effect.timeoutOrElse({
        duration: LAST_CALL,
        orElse: () =>
          Effect.andThen(
            FiberSet.size(pending),
            (left) =>
              Effect.sync(() => recorder.reportSlowness("a write got no response within 20 s of the last fault", left))
          )
      })
    )
  }
})
