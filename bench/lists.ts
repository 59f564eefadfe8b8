import { NodeRuntime } from "@effect/platform-node"
import autocannon from "autocannon"
import { Config, Console, Effect, Option, Redacted } from "effect"
import { join } from "node:path"
import { embeddedPostgres } from "../development/EmbeddedDatabase.ts"
import { temporaryDirectory } from "../test/support/TemporaryDirectory.ts"
import { fill, type Filled, fillLong, LONG } from "./fill.ts"
import { printPlans } from "./plans.ts"
import { readyAfter, residentMemory, running, SETTINGS } from "./processes.ts"
import { compareReads } from "./reads.ts"
import { type Call, latencyOf, sizeOf } from "./sequential.ts"
import { signedIn } from "./session.ts"
import { median } from "./statistics.ts"

/** `ROUTES` of the large database; `DATA` keeps both for the next run; `PLANS=1` prints the large one's plans. */
const settings = Config.all({
  routes: Config.Int("ROUTES").pipe(Config.withDefault(1_000_000)),
  data: Config.option(Config.String("DATA")),
  plans: Config.Boolean("PLANS").pipe(Config.withDefault(false))
})

const SMALL = 10_000
const ROUNDS = 5
const LONG_ROUNDS = 7
const MAX_SIGNED_IN = 100

const service = Effect.fnUntraced(function*(url: string) {
  const ours = yield* running("src/main.ts", { ...SETTINGS, DATABASE_URL: url })
  yield* readyAfter(`${ours.origin}/health/ready`, ours.started)
  return ours
})

/** The service on a database of this many routes. It is started once before for its migrations. */
const filledService = Effect.fnUntraced(function*(directory: string, routes: number) {
  const database = { directory: join(directory, `postgres-${routes}`), durable: false }
  const url = Redacted.value(yield* embeddedPostgres(database))
  yield* Effect.scoped(service(url))
  const started = performance.now()
  const filled = yield* fill(url, routes)
  yield* Console.log(`filled ${routes} routes in ${((performance.now() - started) / 1000).toFixed(0)} s`)
  return { url, filled, ...yield* service(url) }
})

const boxAround = ([lng, lat]: readonly [number, number]) =>
  [lng - 0.2, lat - 0.2, lng + 0.2, lat + 0.2].map((degrees) => degrees.toFixed(4)).join(",")

const callsOf = Effect.fnUntraced(function*(origin: string, { centres, publicIds, users }: Filled) {
  // One user in twenty has no verified address and cannot sign in.
  const members = Array.from({ length: users }, (_, n) => n + 1).filter((n) => n % 20 > 0).slice(0, MAX_SIGNED_IN)
  const credentials = yield* Effect.forEach(members, (n) => signedIn(origin, `user-${n}@example.com`))
  const listing = (gate: string): ReadonlyArray<Call> =>
    centres.map((centre) => ({
      url: `${origin}/api/v1/routes/public?gate=${gate}&bbox=${boxAround(centre)}&limit=100`
    }))
  const calls: ReadonlyArray<readonly [name: string, calls: ReadonlyArray<Call>]> = [
    ["own list", credentials.map((headers) => ({ url: `${origin}/api/v1/routes?limit=100&geometry=none`, headers }))],
    ["gate=public, city", listing("public")],
    ["gate=indexable, city", listing("indexable")],
    ["one public route", publicIds.map((id) => ({ url: `${origin}/api/v1/routes/${id}` }))],
    ["gate=public, world", [{ url: `${origin}/api/v1/routes/public?gate=public&limit=100` }]]
  ]
  return calls
})

const compareSizes = Effect.fnUntraced(function*(small: ReadonlyArray<Call>, large: ReadonlyArray<Call>) {
  // Twice, so that neither a service's code nor its database's cache is cold.
  yield* Effect.forEach([small, large, small, large], latencyOf)
  const rounds = yield* Effect.forEach(
    Array.from({ length: ROUNDS }),
    () => Effect.all({ small: latencyOf(small), large: latencyOf(large) })
  )
  const of = (figure: (round: (typeof rounds)[number]) => number) => median(rounds.map(figure)).toFixed(2)
  return {
    "KiB small": (yield* sizeOf(small)).toFixed(0),
    "KiB large": (yield* sizeOf(large)).toFixed(0),
    "p50 small": of(({ small }) => small.p50),
    "p50 large": of(({ large }) => large.p50),
    "p99 small": of(({ small }) => small.p99),
    "p99 large": of(({ large }) => large.p99),
    "p50 ratio": of(({ large, small }) => large.p50 / small.p50),
    "p99 ratio": of(({ large, small }) => large.p99 / small.p99)
  }
})

/** Resident memory after so many responses with a long line each, 20 at a time. */
const memoryAfter = Effect.fnUntraced(function*(pid: number, call: autocannon.Options, amounts: ReadonlyArray<number>) {
  let served = 0
  return yield* Effect.forEach(amounts, (amount) =>
    Effect.gen(function*() {
      yield* Effect.promise(() => autocannon({ ...call, connections: 20, amount: amount - served }))
      served = amount
      return `${amount}: ${(yield* residentMemory(pid)).toFixed(0)} MiB`
    }))
})

const longLists = Effect.fnUntraced(function*(url: string) {
  const user = yield* fillLong(url)
  const ours = yield* service(url)
  const peer = yield* running("bench/listPeer.ts", { DATABASE_URL: url })
  const path = `/api/v1/routes?limit=${LONG.routes}`
  yield* readyAfter(`${peer.origin}${path}&user=${user}`, peer.started)
  const headers = yield* signedIn(ours.origin, "long@example.com")
  yield* Effect.sleep("3 seconds")
  const atRest = yield* residentMemory(ours.pid)
  const memory = yield* memoryAfter(ours.pid, { url: ours.origin + path, headers }, [1000, 2000, 3000, 4000, 5000])
  const read = yield* compareReads(`${ours.origin}${path}`, `${peer.origin}${path}&user=${user}`, {
    headers,
    count: LONG_ROUNDS
  })
  yield* Console.log(
    `GET /routes?limit=100, 1,000 positions each: ours ${read.ours.toFixed(1)}/s, Fastify + pg ${
      read.peer.toFixed(1)
    }/s, ratio ${read.ratio.toFixed(2)}`
  )
  yield* Console.log(`resident memory at rest ${atRest.toFixed(0)} MiB, after answers ${memory.join(", ")}`)
}, Effect.scoped)

const figures = Effect.gen(function*() {
  const { data, plans, routes } = yield* settings
  const directory = Option.isSome(data) ? data.value : yield* temporaryDirectory
  const small = yield* filledService(directory, SMALL)
  const large = yield* filledService(directory, routes)
  if (plans) yield* printPlans(large.url, large.filled)
  const [smallCalls, largeCalls] = yield* Effect.forEach(
    [small, large],
    ({ filled, origin }) => Effect.map(callsOf(origin, filled), (calls) => new Map(calls))
  )
  const rows = yield* Effect.forEach(
    smallCalls ?? [],
    ([name, calls]) => Effect.map(compareSizes(calls, largeCalls?.get(name) ?? []), (row) => [name, row] as const)
  )
  yield* Effect.sync(() => console.table(Object.fromEntries(rows)))
  yield* longLists(small.url)
}).pipe(Effect.scoped)

NodeRuntime.runMain(figures)
