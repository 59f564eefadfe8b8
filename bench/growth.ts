import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect } from "effect"
import { fill, type Filled, GATHERER, strangersCalls } from "./fill.ts"
import type { Call } from "./load.ts"
import { measured, warmUp } from "./measure.ts"
import { newRoute } from "./people.ts"
import { argument } from "./processes.ts"
import { openTable } from "./report.ts"
import { database, JSON_TYPE, lastCursor, service, signedIn } from "./seed.ts"

// `npm run bench:growth -- --sizes 10000,100000 --seconds 4 --write` measures a growing database of 1,000 accounts, and
// more callers at its last size. `--write` puts the tables into `docs/performance.md`.
const SIZES = argument("sizes", "10000,100000,1000000").split(",").map(Number)
const CALLERS = argument("callers", "1,4,16,64").split(",").map(Number)
const SECONDS = Number(argument("seconds", "1.5"))
const SIGNED_IN = 100

/** Each row has its requests by its name. */
type Rows = Readonly<Record<string, ReadonlyArray<Call>>>

const rowsOf = Effect.fnUntraced(function*(origin: string, filled: Filled, routes: number) {
  const sessionOf = (n: number) => signedIn(origin, `user-${n}@example.com`)
  const sessions = yield* Effect.forEach(
    Array.from({ length: SIGNED_IN }, (_, n) => GATHERER + 1 + n),
    sessionOf,
    { concurrency: 2 }
  )
  const cursors = yield* Effect.forEach(sessions, (headers) => lastCursor(origin, headers))
  const gatherer = yield* sessionOf(GATHERER)
  const api = `${origin}/api/v1`
  const own = (pathOf: (n: number) => string) =>
    sessions.map((headers, n): Call => ({ url: `${api}/${pathOf(n)}`, headers }))
  const largest = (query: string): ReadonlyArray<Call> => [
    { url: `${api}/routes?geometry=none&limit=100&${query}`, headers: gatherer }
  ]
  const strangers = strangersCalls(origin, filled, 100)
  const body = JSON.stringify(newRoute("Stored", 100, "private"))
  const rows: Rows = {
    "own list of 10": own(() => "routes?geometry=none&limit=10"),
    "own search `q`": own(() => "routes?geometry=none&limit=10&q=river"),
    "`GET /users/me`": own(() => "users/me"),
    "`GET /sync` with nothing new": own((n) => `sync?cursor=${cursors[n]}`),
    "one public route": strangers.routes,
    "public list, a city's box": strangers.boxes.map(({ url }) => ({ url: `${url}&gate=public` })),
    "the same, indexable": strangers.boxes,
    "public list, the world": strangers.world,
    "public search, `q` in a few": strangers.searches,
    "store a route of 100 positions": sessions.map((session) => ({
      url: `${api}/routes`,
      method: "POST",
      headers: { ...session, ...JSON_TYPE },
      body
    })),
    "list of an account with one in a hundred of all": largest(""),
    "the same, `q` in a third": largest("q=river"),
    "the same, `q` in each, by relevance": largest("q=around&sort=relevance"),
    "the same, its last page": largest(`offset=${Math.floor(routes * 0.0095)}`)
  }
  return rows
})

/** Writes a table column by column, one for each number of `unit`; the rows are written again with each column. */
const columns = Effect.fnUntraced(function*<R>(
  section: string,
  unit: string,
  numbers: ReadonlyArray<number>,
  columnOf: (number: number) => Effect.Effect<ReadonlyMap<string, string>, never, R>
) {
  const names = ["request"]
  const done: Array<ReadonlyMap<string, string>> = []
  for (const number of numbers) {
    names.push(`${number.toLocaleString("en")} ${unit}`)
    done.push(yield* columnOf(number))
    const table = yield* openTable(section, names)
    for (const name of done[0]?.keys() ?? []) {
      yield* table.row([name, ...done.map((column) => column.get(name) ?? "")])
    }
    yield* Console.log("")
  }
})

const growth = Effect.gen(function*() {
  const url = yield* database
  const server = yield* service(url)
  const columnOf = Effect.fnUntraced(function*(rows: Rows, callers: number) {
    const column = new Map<string, string>()
    for (const [name, calls] of Object.entries(rows)) {
      const load = (seconds: number) => measured(server, calls, callers, seconds)
      const cell = Effect.match(Effect.andThen(warmUp(load(SECONDS / 4)), load(SECONDS)), {
        onFailure: ({ message }) => message.split(";")[0] ?? message,
        onSuccess: ({ cost, database, p99 }) => `${p99.toFixed(1)} ms, ${cost.toFixed(0)} + ${database.toFixed(0)} us`
      })
      column.set(name, yield* cell)
    }
    return column
  })
  const all = Math.max(...SIZES)
  let filled: Filled = { boxes: [], publicIds: [] }
  yield* columns("growth", "routes", SIZES, (size) =>
    Effect.gen(function*() {
      const started = performance.now()
      filled = yield* fill(url, size, all)
      yield* Console.log(`filled to ${size} routes in ${((performance.now() - started) / 1000).toFixed(0)} s`)
      return yield* columnOf(yield* rowsOf(server.origin, filled, size), 1)
    }))
  yield* columns("callers", "callers", CALLERS, (callers) =>
    // The column before stored routes, so the accounts sign in again and get new cursors.
    Effect.flatMap(rowsOf(server.origin, filled, all), (rows) => columnOf(rows, callers)))
}).pipe(Effect.scoped)

NodeRuntime.runMain(growth)
