import { NodeRuntime } from "@effect/platform-node"
import { Config, Console, Effect, Option, Redacted } from "effect"
import { join } from "node:path"
import { embeddedPostgres } from "../development/EmbeddedDatabase.ts"
import { temporaryDirectory } from "../test/support/TemporaryDirectory.ts"
import { connected } from "./database.ts"
import { fill } from "./fill.ts"
import { readyAfter, running, SETTINGS } from "./processes.ts"
import { type Call, latencyOf } from "./sequential.ts"
import { signedIn } from "./session.ts"

/** `ROUTES` of the database, among `USERS` accounts; `DATA` keeps it for the next run. */
const settings = Config.all({
  routes: Config.Int("ROUTES").pipe(Config.withDefault(1_000_000)),
  users: Config.Int("USERS").pipe(Config.withDefault(1000)),
  data: Config.option(Config.String("DATA"))
})

const OWNER = 1
const OWN_ROUTES = 10_000
const DEPTH = 9900

const seconds = (since: number) => ((performance.now() - since) / 1000).toFixed(0)

/** One account gets 10,000 live routes; the words of each are written again, for its owner. */
const crowd = Effect.fnUntraced(function*(url: string) {
  const client = yield* connected(url)
  const ask = (text: string, values: ReadonlyArray<unknown> = []) =>
    Effect.promise(() => client.query<{ total: number }>(text, [...values]))
  const own = "SELECT count(*)::int AS total FROM routes WHERE user_id = $1 AND deleted_at IS NULL"
  const missing = OWN_ROUTES - ((yield* ask(own, [OWNER])).rows[0]?.total ?? 0)
  if (missing <= 0) return
  yield* ask("SET session_replication_role = replica")
  yield* ask(
    `UPDATE routes SET user_id = $1 WHERE id IN (
       SELECT id FROM routes WHERE user_id <> $1 AND deleted_at IS NULL ORDER BY md5(id::text) LIMIT $2
     )`,
    [OWNER, missing]
  )
  const started = performance.now()
  yield* ask("TRUNCATE route_words")
  yield* ask(
    `INSERT INTO route_words (route_id, words)
     SELECT id, route_lexemes(user_id, name, description, tags, waypoints, place_city, place_region, visibility, deleted_at)
     FROM routes ORDER BY user_id, id`
  )
  yield* Console.log(`the words of all routes were written within ${seconds(started)} s`)
  yield* ask("VACUUM (ANALYZE) routes, route_words")
}, Effect.scoped)

const nextOf = (call: Call) =>
  Effect.promise(async () => {
    const { headers } = await fetch(call.url, { headers: call.headers ?? {} })
    const next = /<([^>]+)>; rel="next"/.exec(headers.get("link") ?? "")?.[1] ?? ""
    return { ...call, url: new URL(next, call.url).href }
  })

/** The call of the page at a depth, by the cursors of those before it. */
const pageAt = (call: Call, depth: number, size: number): Effect.Effect<Call> =>
  depth <= 0 ? Effect.succeed(call) : Effect.flatMap(nextOf(call), (next) => pageAt(next, depth - size, size))

const figures = Effect.gen(function*() {
  const { data, routes, users } = yield* settings
  const directory = Option.isSome(data) ? data.value : yield* temporaryDirectory
  const url = Redacted.value(
    yield* embeddedPostgres({ directory: join(directory, `postgres-find-${routes}`), durable: false })
  )
  const started = Effect.fnUntraced(function*() {
    const ours = yield* running("src/main.ts", { ...SETTINGS, DATABASE_URL: url })
    yield* readyAfter(`${ours.origin}/health/ready`, ours.started)
    return ours
  })
  yield* Effect.scoped(started())
  yield* fill(url, routes, users)
  yield* crowd(url)
  const { origin } = yield* started()
  const headers = yield* signedIn(origin, `user-${OWNER}@example.com`)
  const own = (query: string): Call => ({ url: `${origin}/api/v1/routes?geometry=none&limit=100&${query}`, headers })
  const open = (query: string): Call => ({
    url: `${origin}/api/v1/routes/public?gate=public&geometry=none&limit=100&${query}`
  })
  const calls: ReadonlyArray<readonly [string, ReadonlyArray<Call>]> = [
    ["own, no filter", [own("")]],
    ["own, q: in each", [own("q=around")]],
    ["own, q: in a third", [own("q=river")]],
    ["own, q: in a few", ["vil", "san", "new", "port", "st"].map((word) => own(`q=${word}`))],
    ["own, q: two words", [own("q=along%20riv")]],
    ["own, q: by relevance", [own("q=around&sort=relevance")]],
    ["own, tag", [own("tag=gravel")]],
    ["own, sort=name", [own("sort=name")]],
    ["own, at depth 9,900 by cursor", [yield* pageAt(own(""), DEPTH, 100)]],
    ["own, at depth 9,900 by offset", [own(`offset=${DEPTH}`)]],
    ["own, q: at depth 9,900 by cursor", [yield* pageAt(own("q=around"), DEPTH, 100)]],
    ["own tags", [{ url: `${origin}/api/v1/routes/tags`, headers }]],
    ["public, no filter", [open("")]],
    ["public, q: in each", [open("q=around")]],
    ["public, q: in a few", ["vil", "san", "new", "port"].map((word) => open(`q=${word}`))],
    ["public, tag", [open("tag=gravel")]]
  ]
  yield* Effect.forEach(calls, ([name, of]) =>
    Effect.gen(function*() {
      const { p50, p99 } = yield* latencyOf(of)
      yield* Console.log(`${name}: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`)
    }))
}).pipe(Effect.scoped)

NodeRuntime.runMain(figures)
