import { NodeRuntime } from "@effect/platform-node"
import { Effect } from "effect"
import { cluster } from "../test/support/Cluster.ts"
import { until } from "../test/support/Waiting.ts"
import { fill, type Filled, strangersCalls } from "./fill.ts"
import type { Call } from "./load.ts"
import { measured } from "./measure.ts"
import { argument, costOf, type Server } from "./processes.ts"
import { openTable } from "./report.ts"
import { postmaster, service } from "./seed.ts"

// `npm run bench:replica -- --routes 100000 --seconds 10 --write` measures which part of the processor time of strangers'
// lists a replica takes from the primary's PostgreSQL. `--write` puts the table into `docs/performance.md`.
const ROUTES = Number(argument("routes", "100000"))
const SECONDS = Number(argument("seconds", "10"))
const CALLERS = 2

/** Returns the calls of one round, which take turns. */
const inTurn = (calls: ReadonlyArray<Call>, count: number, round: number) =>
  Array.from({ length: count }, (_, n) => calls[(round * count + n) % calls.length]).filter((call) =>
    call !== undefined
  )

/** For 14 lists of a box there are 8 of the world, 4 searches, 4 lists of a person and 25 reads of one route. */
const rowsOf = (origin: string, filled: Filled): Readonly<Record<string, ReadonlyArray<Call>>> => {
  const { boxes, routes, searches, world } = strangersCalls(origin, filled, 20)
  const people = Array.from({ length: 50 }, (_, n) => ({
    url: `${origin}/api/v1/routes/by-user/${n + 2}?limit=20&geometry=none`
  }))
  const parts = [[boxes, 14], [world, 8], [searches, 4], [people, 4], [routes, 25]] as const
  return {
    "a city's box": boxes,
    "the world": world,
    "search `q`": searches,
    "routes of a person": people,
    "one public route": routes,
    "all of them": Array.from({ length: 20 }, (_, round) => round).flatMap((round) =>
      parts.flatMap(([calls, count]) => inTurn(calls, count, round))
    )
  }
}

const QUIET = 100

/** Waits for two seconds in which PostgreSQL is idle: sweeps number the changes of the new routes first. */
const quiet = (server: Server) =>
  until(Effect.map(costOf(server, Effect.sleep("2 seconds")), ({ database }) => database <= QUIET))

const replica = Effect.gen(function*() {
  const { primary, standby } = yield* cluster
  yield* Effect.scoped(service(primary.url))
  const filled = yield* fill(primary.url, ROUTES, ROUTES)
  const copy = yield* standby(primary, "copy")
  const alone = yield* service(primary.url)
  const atCopy = yield* postmaster(copy.url)
  const helped = yield* service(primary.url, { DATABASE_READ_URL: copy.url })
  yield* quiet(alone)
  const table = yield* openTable("replica", ["request", "primary alone", "primary", "replica", "moved"])
  const shares = rowsOf(helped.origin, filled)
  for (const [name, calls] of Object.entries(rowsOf(alone.origin, filled))) {
    const shared = shares[name] ?? []
    yield* measured(alone, calls, CALLERS, SECONDS / 4)
    yield* measured(helped, shared, CALLERS, SECONDS / 4)
    const before = yield* measured(alone, calls, CALLERS, SECONDS)
    const load = measured(helped, shared, CALLERS, SECONDS)
    const { database, result: after, seconds } = yield* costOf({ ...helped, postgres: atCopy }, load)
    yield* table.row([
      name,
      `${before.database.toFixed(0)} us`,
      `${after.database.toFixed(0)} us`,
      `${(1000 * database / (after.rate * seconds)).toFixed(0)} us`,
      `${(100 - 100 * after.database / before.database).toFixed(0)} %`
    ])
  }
}).pipe(Effect.scoped)

NodeRuntime.runMain(replica)
