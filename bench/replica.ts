import { NodeRuntime } from "@effect/platform-node"
import { Effect } from "effect"
import { cluster } from "../test/support/Cluster.ts"
import { boxAround, fill, type Filled } from "./fill.ts"
import type { Call } from "./load.ts"
import { measured, postmaster } from "./measure.ts"
import { argument, childrenTimes, service } from "./processes.ts"
import { openTable } from "./report.ts"
import { sum } from "./statistics.ts"

// `npm run bench:replica -- --routes 100000 --seconds 10 --write`: which part of PostgreSQL's processor time for what strangers list
// a replica takes from the primary. `--write` puts the table into `docs/performance.md`.
const ROUTES = Number(argument("routes", "100000"))
const SECONDS = Number(argument("seconds", "10"))
const CALLERS = 2

/** For 14 lists of a box there are 8 of the world, 4 searches, 4 lists of a person and 25 reads of one route. */
const rowsOf = ({ centres, publicIds }: Filled) => (origin: string) => {
  const api = `${origin}/api/v1/routes`
  const open = (query: string) => ({ url: `${api}/public?limit=20&geometry=none&${query}` })
  const boxes = centres.map((centre) => open(`bbox=${boxAround(centre)}`))
  const world = [open("gate=public")]
  const searches = ["vil", "san", "new", "port"].map((word) => open(`gate=public&q=${word}`))
  const people = Array.from({ length: 50 }, (_, n) => ({ url: `${api}/by-user/${n + 2}?limit=20&geometry=none` }))
  const one = publicIds.map((id) => ({ url: `${api}/${id}` }))
  const parts: ReadonlyArray<readonly [ReadonlyArray<Call>, number]> = [
    [boxes, 14],
    [world, 8],
    [searches, 4],
    [people, 4],
    [one, 25]
  ]
  const discovery = Array.from(
    { length: 20 },
    (_, round) =>
      parts.flatMap(([calls, count]) =>
        Array.from({ length: count }, (_, n) => calls[(round * count + n) % calls.length]).filter((call) =>
          call !== undefined
        )
      )
  ).flat()
  return [
    ["a city's box", boxes],
    ["the world", world],
    ["search `q`", searches],
    ["routes of a person", people],
    ["one public route", one],
    ["all of them", discovery]
  ] as const
}

const QUIET = 100

const total = Effect.fnUntraced(function*(postgres: number) {
  return sum([...(yield* childrenTimes(postgres)).values()])
})

/** Sweeps number the changes of the new routes first: waits for two seconds in which PostgreSQL does next to nothing. */
const quiet = (postgres: number): Effect.Effect<void> =>
  Effect.gen(function*() {
    const before = yield* total(postgres)
    yield* Effect.sleep("2 seconds")
    if ((yield* total(postgres)) - before > QUIET) yield* Effect.suspend(() => quiet(postgres))
  })

const replica = Effect.gen(function*() {
  const { primary, standby } = yield* cluster
  yield* Effect.scoped(service(primary.url))
  const filled = yield* fill(primary.url, ROUTES, ROUTES)
  const copy = yield* standby(primary, "copy")
  const alone = yield* service(primary.url)
  const helped = yield* service(primary.url, { DATABASE_READ_URL: copy.url })
  const [atPrimary, atCopy] = [yield* postmaster(primary.url), yield* postmaster(copy.url)]
  yield* quiet(atPrimary)
  const rows = rowsOf(filled)
  const table = yield* openTable("replica", ["request", "primary alone", "primary", "replica", "moved"])
  for (const [n, [name, calls]] of rows(alone.origin).entries()) {
    const shared = rows(helped.origin)[n]?.[1] ?? []
    yield* measured(alone, atPrimary, calls, CALLERS, SECONDS / 4)
    yield* measured(helped, atPrimary, shared, CALLERS, SECONDS / 4)
    const before = yield* measured(alone, atPrimary, calls, CALLERS, SECONDS)
    const began = performance.now()
    const taken = yield* total(atCopy)
    const after = yield* measured(helped, atPrimary, shared, CALLERS, SECONDS)
    const requests = after.rate * (performance.now() - began) / 1000
    const copied = (yield* total(atCopy)) - taken
    yield* table.row([
      name,
      `${before.database.toFixed(0)} us`,
      `${after.database.toFixed(0)} us`,
      `${(1000 * copied / requests).toFixed(0)} us`,
      `${(100 - 100 * after.database / before.database).toFixed(0)} %`
    ])
  }
}).pipe(Effect.scoped)

NodeRuntime.runMain(replica)
