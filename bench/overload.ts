import { NodeRuntime } from "@effect/platform-node"
import { Effect, Schema } from "effect"
import { once } from "node:events"
import { Agent } from "node:http"
import { Worker } from "node:worker_threads"
import { callsOf, ROWS } from "./crowdRows.ts"
import { ask, type Call, closedLoop, openLoop, Outcome } from "./load.ts"
import { gpxOf, newRoute, peopled, type Person } from "./people.ts"
import { argument, costOf, running, type Server } from "./processes.ts"
import { openTable } from "./report.ts"
import { database, JSON_TYPE, service } from "./seed.ts"
import { median, P99, quantile } from "./statistics.ts"

/** These clients find the peak; each load lasts this many seconds. */
const CLIENTS = 32
const SECONDS = Number(argument("seconds", "10"))
const OVERLOAD = 3
const CONNECTIONS = 1000

/** These are enough that no request waits for a connection. */
const OVERLOAD_CONNECTIONS = 4 * CONNECTIONS
const UPLOADS = 60
const UPLOAD_BYTES = 8 * 1024 * 1024

const padded = (text: string) => text + " ".repeat(UPLOAD_BYTES - text.length)

/** The names of rows begin with these words; one request in ten is a write. */
const MIX = [
  "route by token, 50",
  "own route by token",
  "own route by session",
  "list of 20 routes without",
  "own route by token",
  "`GET /users/me`",
  "store a route of 100",
  "own route by token",
  "public list",
  "own route by token"
]

const mixed = (origin: string, people: ReadonlyArray<Person>) => {
  const columns = MIX.map((begin) =>
    ROWS.filter(({ name }) => name.startsWith(begin)).flatMap(({ asks }) => callsOf(origin, people, asks))
  )
  return (columns[0] ?? []).flatMap((_, turn) => columns.flatMap((calls) => calls.slice(turn, turn + 1)))
}

type Load = () => Promise<ReadonlyArray<Outcome>>

const Health = Schema.Array(Schema.Array(Outcome))

/** Runs a load while another thread reads the health of the service. */
const watched = (origin: string, load: Load) =>
  Effect.promise(async () => {
    const argv = ["live", "ready"].map((name) => `${origin}/health/${name}`)
    const probes = new Worker(new URL("./probes.ts", import.meta.url), { argv })
    await once(probes, "message")
    const started = performance.now()
    const outcomes = await load()
    const seconds = (performance.now() - started) / 1000
    probes.postMessage("end", [])
    const [health] = await once(probes, "message")
    return { outcomes, health: Schema.decodeUnknownSync(Health)(health), seconds }
  })

const isServed = ({ status }: Outcome) => status >= 200 && status < 500 && status !== 429
const isRefused = ({ status }: Outcome) => status === 429 || status === 503

const times = (outcomes: ReadonlyArray<Outcome>) => {
  const all = outcomes.map(({ milliseconds }) => milliseconds)
  return all.length === 0 ? "-" : `${median(all).toFixed(0)} / ${quantile(all, P99).toFixed(0)} ms`
}

/** Returns the cells of a load and how many requests a second it served. */
const loaded = Effect.fnUntraced(function*(server: Server, load: Load) {
  const watching = watched(server.origin, load)
  const { peak, processor, result: { health, outcomes, seconds } } = yield* costOf(server, watching)
  const served = outcomes.filter(isServed)
  const refused = outcomes.filter(isRefused)
  const failed = outcomes.length - served.length - refused.length
  const unwell = health.flat().filter(({ status }) => status !== 200).length
  const cells = [
    ...[served, refused].flatMap((all) => [String(all.length), times(all)]),
    String(failed),
    ...health.map(times),
    String(unwell),
    `${peak.toFixed(0)} MiB`,
    `${(processor / 10 / seconds).toFixed(0)} %`
  ]
  return { cells, rate: served.length / seconds }
})

/** Sends a call `count` times at once, each by a new connection. */
const atOnce = (call: Call, count: number) => () => {
  const agent = new Agent()
  return Promise.all(Array.from({ length: count }, () => ask(agent, call)))
}

const burst = ({ origin }: Pick<Server, "origin">) =>
  Effect.map(Effect.promise(atOnce({ url: `${origin}/health/live` }, CONNECTIONS)), (outcomes) => {
    const served = outcomes.filter(isServed)
    return `${served.length} served, ${times(served)}`
  })

const overload = Effect.gen(function*() {
  const url = yield* database
  const server = yield* service(url)
  const people = yield* peopled(url, server.origin)
  const calls = mixed(server.origin, people)
  yield* Effect.promise(() => closedLoop(calls, CLIENTS, SECONDS / 2))

  const table = yield* openTable("overload", [
    "load",
    "served",
    "p50 / p99",
    "refused",
    "p50 / p99",
    "failed",
    "`/health/live`",
    "`/health/ready`",
    "not 200",
    "peak memory",
    "processor"
  ])
  const row = Effect.fnUntraced(function*(name: string, load: Load) {
    const { cells, rate } = yield* loaded(server, load)
    yield* table.row([name, ...cells])
    return rate
  })
  const clients = (count: number) => () => closedLoop(calls, count, SECONDS)
  const peak = yield* row(`${CLIENTS} clients`, clients(CLIENTS))
  const many = () => openLoop(calls, peak * OVERLOAD, OVERLOAD_CONNECTIONS, SECONDS)
  const over = yield* row(`${OVERLOAD} times that rate`, many)
  yield* Effect.sleep("1 second")
  const after = yield* row(`${CLIENTS} clients, a second later`, clients(CLIENTS))
  yield* row(`${CONNECTIONS} clients that never wait`, clients(CONNECTIONS))
  yield* Effect.sleep("1 second")
  yield* row(`${CLIENTS} clients, a second later`, clients(CLIENTS))
  const [uploader] = people
  const uploads = (path: string, headers: Readonly<Record<string, string>>, text: string) =>
    atOnce(
      { url: `${server.origin}/api/v1/${path}`, method: "POST", headers, body: padded(text) },
      UPLOADS
    )
  const routes = uploads(
    "routes",
    { ...uploader?.session, ...JSON_TYPE },
    JSON.stringify(newRoute("A ride", 100_000, "private"))
  )
  yield* row(`${UPLOADS} routes of 8 MiB at once`, routes)
  const gpx = { ...uploader?.token, "content-type": "application/gpx+xml" }
  yield* row(`${UPLOADS} files of 8 MiB at once`, uploads("routes/import?duplicates=allow", gpx, gpxOf(100_000)))
  yield* row(`${CLIENTS} clients, after them`, clients(CLIENTS))
  const [atOver, afterIt] = [over, after].map((rate) => (rate / peak).toFixed(2))
  yield* table.note(`Served of the peak: ${atOver} at ${OVERLOAD} times its rate, ${afterIt} after it.`)
  const plain = yield* running("bench/peers/plain.ts", "/", {})
  yield* table.note(
    `A burst of ${CONNECTIONS} new connections: ${yield* burst(server)}; by a plain Node server ${yield* burst(plain)}.`
  )
}).pipe(Effect.scoped)

NodeRuntime.runMain(overload)
