import { NodeRuntime } from "@effect/platform-node"
import autocannon from "autocannon"
import { Console, Effect, Redacted } from "effect"
import { createServer } from "node:http"
import { join } from "node:path"
import { embeddedPostgres } from "../src/layers/development/EmbeddedDatabase.ts"
import { routingEngine } from "../src/layers/development/RoutingEngineProcess.ts"
import { ENGINE_DIRECTORY } from "../test/support/Engine.ts"
import { listening } from "../test/support/Listening.ts"
import { temporaryDirectory } from "../test/support/TemporaryDirectory.ts"
import { TOWN, townExtract } from "../test/support/Town.ts"
import { readyAfter, residentMemory, running, SETTINGS } from "./processes.ts"
import { seed } from "./seed.ts"
import { median } from "./statistics.ts"

const CALLS = 2500

/** What comes before is for the compilers to warm up. */
const COUNTED = 500

const timed = (url: string, body: object) =>
  Effect.promise(async () => {
    const started = performance.now()
    const headers = { "content-type": "application/json" }
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })
    await response.text()
    return performance.now() - started
  })

/** A start that nobody asked for before, so that every call goes to the engine. */
const startOf = (n: number) => ({ lat: TOWN.busyWest.lat + n / 1e7, lon: TOWN.busyWest.lon })

/** Median milliseconds of the engine's own answer, of a bare proxy's and of ours, in turns. */
const compare = Effect.fnUntraced(function*(engine: string, proxy: string, origin: string) {
  const own: Array<number> = []
  const bare: Array<number> = []
  const ours: Array<number> = []
  for (let n = 0; n < CALLS; n++) {
    const locations = [startOf(n), TOWN.closedEast]
    const request = {
      locations: locations.map(({ lat, lon }) => ({ lat, lon, search_cutoff: 1000 })),
      costing: "bicycle",
      costing_options: { bicycle: { bicycle_type: "Hybrid" } },
      units: "kilometers",
      directions_type: "none"
    }
    own.push(yield* timed(`${engine}/route`, request))
    bare.push(yield* timed(`${proxy}/route`, request))
    ours.push(yield* timed(`${origin}/api/v1/routing/route`, { activity: "cycle", preferences: {}, locations }))
  }
  return { own: median(own.slice(-COUNTED)), bare: median(bare.slice(-COUNTED)), ours: median(ours.slice(-COUNTED)) }
})

const over = (time: number, floor: number) => `${time.toFixed(2)} ms, ${(time - floor).toFixed(2)} ms more`

const hungEngine = Effect.suspend(() => listening(createServer(() => undefined))).pipe(
  Effect.map((port) => `http://127.0.0.1:${port}`)
)

const p99 = (url: string) =>
  Effect.promise(() => autocannon({ url, connections: 4, duration: 6 })).pipe(Effect.map(({ latency }) => latency.p99))

const crowd = (origin: string) =>
  Effect.promise(() =>
    autocannon({
      url: `${origin}/api/v1/routing/route`,
      connections: 200,
      duration: 7,
      timeout: 30,
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ activity: "cycle", preferences: {}, locations: [TOWN.busyWest, TOWN.busyEast] })
    })
  )

const figures = Effect.gen(function*() {
  const directory = yield* temporaryDirectory
  const url = Redacted.value(yield* embeddedPostgres({ directory: join(directory, "postgres"), durable: false }))
  const extract = yield* Effect.promise(townExtract)
  const engine = yield* routingEngine({ directory: ENGINE_DIRECTORY, extract, port: undefined })
  const settings = { ...SETTINGS, DATABASE_URL: url }
  const ours = yield* running("src/main.ts", { ...settings, ROUTING_ENGINE_URL: engine.url.href })
  yield* readyAfter(`${ours.origin}/health/ready`, ours.started)
  const proxy = yield* running("bench/proxy.ts", { ROUTING_ENGINE_URL: engine.url.origin })
  yield* readyAfter(`${proxy.origin}/status`, proxy.started)
  const times = yield* compare(engine.url.origin, proxy.origin, ours.origin)
  yield* Console.log(`a route, medians of ${COUNTED}: the engine ${times.own.toFixed(2)} ms`)
  yield* Console.log(`through a bare node:http proxy ${over(times.bare, times.own)}`)
  yield* Console.log(`through us ${over(times.ours, times.own)}`)

  const hung = yield* hungEngine
  const beside = yield* running("src/main.ts", { ...settings, ROUTING_ENGINE_URL: hung })
  yield* readyAfter(`${beside.origin}/health/ready`, beside.started)
  const read = `${beside.origin}/api/v1/routes/${yield* seed(url)}`
  yield* p99(read)
  const idle = yield* p99(read)
  const before = yield* residentMemory(beside.pid)
  const crowded = Effect.gen(function*() {
    const [, latency] = yield* Effect.all([crowd(beside.origin), p99(read)], { concurrency: 2 })
    return { latency, memory: yield* residentMemory(beside.pid) }
  })
  const first = yield* crowded
  const second = yield* crowded
  yield* Console.log(
    `p99 of GET /routes/{ref}, 5,000 positions: idle ${idle} ms, beside 200 callers of a hung engine ${first.latency} ms, `
      + `beside as many again ${second.latency} ms`
  )
  const memories = [before, first.memory, second.memory].map((memory) => memory.toFixed(0))
  yield* Console.log(`memory before, after the first and after the second crowd: ${memories.join(", ")} MiB`)
}).pipe(Effect.scoped)

NodeRuntime.runMain(figures)
