import { NodeRuntime } from "@effect/platform-node"
import { Config, Console, Effect, Option, Redacted } from "effect"
import { join } from "node:path"
import { embeddedPostgres } from "../development/EmbeddedDatabase.ts"
import { temporaryDirectory } from "../test/support/TemporaryDirectory.ts"
import { fill, type Filled, gather, GATHERER } from "./fill.ts"
import { type Call, closedLoop } from "./load.ts"
import { argument, service } from "./processes.ts"
import { signedIn } from "./seed.ts"
import { median, P99, quantile } from "./statistics.ts"

/** `ROUTES` of the large database; `DATA` keeps both for the next run. */
const settings = Config.all({
  routes: Config.Int("ROUTES").pipe(Config.withDefault(1_000_000)),
  data: Config.option(Config.String("DATA"))
})

const SECONDS = Number(argument("seconds", "2"))
const TURNS = Number(argument("turns", "5"))

const SMALL = 10_000
const MAX_SIGNED_IN = 100

type Named = readonly [name: string, calls: ReadonlyArray<Call>]

/** The service on a database of this many routes. It is started once before for its migrations. */
const filledService = Effect.fnUntraced(function*(directory: string, routes: number) {
  const place = { directory: join(directory, `postgres-${routes}`), durable: false }
  const url = Redacted.value(yield* embeddedPostgres(place))
  yield* Effect.scoped(service(url))
  const started = performance.now()
  const filled = yield* fill(url, routes)
  yield* Console.log(`filled ${routes} routes in ${((performance.now() - started) / 1000).toFixed(0)} s`)
  return { url, filled, ...yield* service(url) }
})

const boxAround = ([lng, lat]: readonly [number, number]) =>
  [lng - 0.2, lat - 0.2, lng + 0.2, lat + 0.2].map((degrees) => degrees.toFixed(4)).join(",")

const emailOf = (n: number) => `user-${n}@example.com`

const callsOf = Effect.fnUntraced(function*(origin: string, { centres, publicIds, users }: Filled) {
  const members = Array.from({ length: users }, (_, n) => n + 1).filter((n) => n !== GATHERER)
  const credentials = yield* Effect.forEach(members.slice(0, MAX_SIGNED_IN), (n) => signedIn(origin, emailOf(n)))
  const listing = (gate: string): ReadonlyArray<Call> =>
    centres.map((centre) => ({
      url: `${origin}/api/v1/routes/public?gate=${gate}&bbox=${boxAround(centre)}&limit=100`
    }))
  const calls: ReadonlyArray<Named> = [
    ["own list", credentials.map((headers) => ({ url: `${origin}/api/v1/routes?limit=100&geometry=none`, headers }))],
    ["gate=public, city", listing("public")],
    ["gate=indexable, city", listing("indexable")],
    ["one public route", publicIds.map((id) => ({ url: `${origin}/api/v1/routes/${id}` }))],
    ["gate=public, world", [{ url: `${origin}/api/v1/routes/public?gate=public&limit=100` }]]
  ]
  return calls
})

const nextOf = ({ headers = {}, url }: Call) =>
  Effect.promise(async () => {
    const response = await fetch(url, { headers })
    const next = /<([^>]+)>; rel="next"/.exec(response.headers.get("link") ?? "")?.[1] ?? ""
    return { url: new URL(next, url).href, headers }
  })

/** The call of the page so many pages on, by the cursors of those before it. */
const pageAfter = (call: Call, pages: number): Effect.Effect<Call> =>
  pages === 0 ? Effect.succeed(call) : Effect.flatMap(nextOf(call), (next) => pageAfter(next, pages - 1))

/** Searches of the account with 10,000 routes, and of all public ones. */
const searchesOf = Effect.fnUntraced(function*(origin: string) {
  const headers = yield* signedIn(origin, emailOf(GATHERER))
  const own = (query: string): Call => ({ url: `${origin}/api/v1/routes?geometry=none&limit=100&${query}`, headers })
  const open = (query: string): Call => ({
    url: `${origin}/api/v1/routes/public?gate=public&geometry=none&limit=100&${query}`
  })
  const searches: ReadonlyArray<Named> = [
    ["own, no filter", [own("")]],
    ["own, q: in each", [own("q=around")]],
    ["own, q: in a third", [own("q=river")]],
    ["own, q: in a few", ["vil", "san", "new", "port", "st"].map((word) => own(`q=${word}`))],
    ["own, q: by relevance", [own("q=around&sort=relevance")]],
    ["own, at depth 9,900 by cursor", [yield* pageAfter(own(""), 99)]],
    ["own, at depth 9,900 by offset", [own("offset=9900")]],
    ["public, q: in a few", ["vil", "san", "new", "port"].map((word) => open(`q=${word}`))]
  ]
  return searches
})

/** The median and the p99 in milliseconds of one client, who sends the calls in turns. */
const latencyOf = Effect.fnUntraced(function*(calls: ReadonlyArray<Call>) {
  const outcomes = yield* Effect.promise(() => closedLoop(calls, 1, SECONDS))
  const failed = outcomes.filter(({ status }) => status !== 200)
  if (failed.length > 0) return yield* Effect.die(new Error(`${calls[0]?.url}: ${failed[0]?.status}`))
  const times = outcomes.map(({ milliseconds }) => milliseconds)
  return { p50: median(times), p99: quantile(times, P99) }
})

const compareSizes = Effect.fnUntraced(function*(small: ReadonlyArray<Call>, large: ReadonlyArray<Call>) {
  // Once before, so that neither a service's code nor its database's cache is cold.
  yield* Effect.forEach([small, large], latencyOf)
  const turns = yield* Effect.replicateEffect(Effect.all({ small: latencyOf(small), large: latencyOf(large) }), TURNS)
  const of = (figure: (turn: (typeof turns)[number]) => number) => median(turns.map(figure)).toFixed(2)
  return {
    "p50 small": of(({ small }) => small.p50),
    "p50 large": of(({ large }) => large.p50),
    "p99 small": of(({ small }) => small.p99),
    "p99 large": of(({ large }) => large.p99),
    "p50 ratio": of(({ large, small }) => large.p50 / small.p50),
    "p99 ratio": of(({ large, small }) => large.p99 / small.p99)
  }
})

const figures = Effect.gen(function*() {
  const { data, routes } = yield* settings
  const directory = Option.isSome(data) ? data.value : yield* temporaryDirectory
  const small = yield* filledService(directory, SMALL)
  const large = yield* filledService(directory, routes)
  const largeCalls = new Map(yield* callsOf(large.origin, large.filled))
  const rows = yield* Effect.forEach(
    yield* callsOf(small.origin, small.filled),
    ([name, calls]) => Effect.map(compareSizes(calls, largeCalls.get(name) ?? []), (row) => [name, row] as const)
  )
  yield* Console.table(Object.fromEntries(rows))
  yield* gather(large.url)
  for (const [name, calls] of yield* searchesOf(large.origin)) {
    yield* latencyOf(calls)
    const { p50, p99 } = yield* latencyOf(calls)
    yield* Console.log(`${name}: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`)
  }
}).pipe(Effect.scoped)

NodeRuntime.runMain(figures)
