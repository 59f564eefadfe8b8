import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect } from "effect"
import { boxAround, fill, type Filled, GATHERER } from "./fill.ts"
import type { Call } from "./load.ts"
import { type Figures, measured, postmaster, warmUp } from "./measure.ts"
import { newRoute } from "./people.ts"
import { argument, service } from "./processes.ts"
import { openTable } from "./report.ts"
import { database, JSON_TYPE, lastCursor, signedIn } from "./seed.ts"

// `npm run bench:growth -- --sizes 10000,100000 --seconds 4 --write`: one database that grows, of 1,000 accounts, and more callers
// at its last size. `--write` puts the tables into `docs/performance.md`.
const SIZES = argument("sizes", "10000,100000,1000000").split(",").map(Number)
const CALLERS = argument("callers", "1,4,16,64").split(",").map(Number)
const SECONDS = Number(argument("seconds", "1.5"))
const SIGNED_IN = 100

type Rows = ReadonlyArray<readonly [name: string, calls: ReadonlyArray<Call>]>

const rowsOf = Effect.fnUntraced(function*(origin: string, { centres, publicIds }: Filled, routes: number) {
  const numbers = Array.from({ length: SIGNED_IN }, (_, n) => GATHERER + 1 + n)
  const sessions = yield* Effect.forEach(numbers, (n) => signedIn(origin, `user-${n}@example.com`), { concurrency: 2 })
  const copies = yield* Effect.forEach(
    sessions,
    (headers) => Effect.map(lastCursor(origin, headers), (cursor) => ({ headers, cursor: encodeURIComponent(cursor) }))
  )
  const gatherer = yield* signedIn(origin, `user-${GATHERER}@example.com`)
  const api = `${origin}/api/v1`
  const own = (path: string) => sessions.map((headers): Call => ({ url: `${api}/${path}`, headers }))
  const largest = (query: string): ReadonlyArray<Call> => [
    { url: `${api}/routes?geometry=none&limit=100&${query}`, headers: gatherer }
  ]
  const open = (queries: ReadonlyArray<string>): ReadonlyArray<Call> =>
    queries.map((query) => ({ url: `${api}/routes/public?geometry=none&limit=100&${query}` }))
  const body = JSON.stringify(newRoute("Stored", 100, "private"))
  const rows: Rows = [
    ["own list of 10", own("routes?geometry=none&limit=10")],
    ["own search `q`", own("routes?geometry=none&limit=10&q=river")],
    ["`GET /users/me`", own("users/me")],
    [
      "`GET /sync` with nothing new",
      copies.map(({ cursor, headers }) => ({ url: `${api}/sync?cursor=${cursor}`, headers }))
    ],
    ["one public route", publicIds.map((id) => ({ url: `${api}/routes/${id}` }))],
    ["public list, a city's box", open(centres.map((centre) => `gate=public&bbox=${boxAround(centre)}`))],
    ["the same, indexable", open(centres.map((centre) => `bbox=${boxAround(centre)}`))],
    ["public list, the world", open(["gate=public"])],
    ["public search, `q` in a few", open(["vil", "san", "new", "port"].map((word) => `gate=public&q=${word}`))],
    [
      "store a route of 100 positions",
      sessions.map((session) => ({
        url: `${api}/routes`,
        method: "POST" as const,
        headers: { ...session, ...JSON_TYPE },
        body
      }))
    ],
    ["list of an account with one in a hundred of all", largest("")],
    ["the same, `q` in a third", largest("q=river")],
    ["the same, `q` in each, by relevance", largest("q=around&sort=relevance")],
    ["the same, its last page", largest(`offset=${Math.floor(routes * 0.0095)}`)]
  ]
  return rows
})

const shown = ({ cost, database, p99 }: Figures) =>
  `${p99.toFixed(1)} ms, ${cost.toFixed(0)} + ${database.toFixed(0)} us`

/** The rows of a table whose columns come one after the other: it is written again with each. */
const columns = Effect.fnUntraced(function*<R>(
  section: string,
  names: ReadonlyArray<string>,
  columnOf: (n: number) => Effect.Effect<ReadonlyMap<string, string>, never, R>
) {
  const done: Array<ReadonlyMap<string, string>> = []
  for (const n of names.keys()) {
    done.push(yield* columnOf(n))
    const table = yield* openTable(section, ["request", ...names.slice(0, n + 1)])
    for (const name of done[0]?.keys() ?? []) {
      yield* table.row([name, ...done.map((column) => column.get(name) ?? "")])
    }
    yield* Console.log("")
  }
})

const growth = Effect.gen(function*() {
  const url = yield* database
  const server = yield* service(url)
  const postgres = yield* postmaster(url)
  const columnOf = Effect.fnUntraced(function*(rows: Rows, callers: number) {
    const column = new Map<string, string>()
    for (const [name, calls] of rows) {
      const load = Effect.andThen(
        warmUp(measured(server, postgres, calls, callers, SECONDS / 4)),
        measured(server, postgres, calls, callers, SECONDS)
      )
      column.set(
        name,
        yield* Effect.match(load, { onFailure: ({ message }) => message.split(";")[0] ?? message, onSuccess: shown })
      )
    }
    return column
  })
  const all = Math.max(...SIZES)
  let filled: Filled = { centres: [], publicIds: [] }
  yield* columns("growth", SIZES.map((size) => `${size.toLocaleString("en")} routes`), (n) =>
    Effect.gen(function*() {
      const size = SIZES[n] ?? 0
      const started = performance.now()
      filled = yield* fill(url, size, all)
      yield* Console.log(`filled to ${size} routes in ${((performance.now() - started) / 1000).toFixed(0)} s`)
      return yield* columnOf(yield* rowsOf(server.origin, filled, size), 1)
    }))
  yield* columns("callers", CALLERS.map((callers) => `${callers} callers`), (n) =>
    // Signed in again, and with new cursors: the column before stored routes.
    Effect.flatMap(rowsOf(server.origin, filled, all), (rows) => columnOf(rows, CALLERS[n] ?? 1)))
}).pipe(Effect.scoped)

NodeRuntime.runMain(growth)
