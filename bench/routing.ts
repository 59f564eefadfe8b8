import { NodeRuntime } from "@effect/platform-node"
import autocannon from "autocannon"
import { Console, Duration, Effect, Redacted } from "effect"
import { createServer } from "node:http"
import { join } from "node:path"
import { embeddedPostgres } from "../development/EmbeddedDatabase.ts"
import { routingEngine } from "../development/RoutingEngineProcess.ts"
import { ENGINE_DIRECTORY } from "../test/support/Engine.ts"
import { listening } from "../test/support/Listening.ts"
import { temporaryDirectory } from "../test/support/TemporaryDirectory.ts"
import { TOWN, townExtract } from "../test/support/Town.ts"
import { crowd, PAUSE, printed, startOf } from "./crowd.ts"
import { readyAfter, residentMemory, running, SETTINGS } from "./processes.ts"
import { seed } from "./seed.ts"
import { median, P99, quantile } from "./statistics.ts"

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

/** Median milliseconds of the engine's own response, of a bare proxy's and of the service's, alternately. */
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

const CALLERS = 200

/** Twice as long as the service waits for the engine: the queue fills, its calls run out of time, the circuit opens. */
const SECONDS = 20

/** In milliseconds, of four readers who ask without a pause. (The figures of autocannon itself are whole ones.) */
const p99 = (url: string) =>
  Effect.promise(async () => {
    const times: Array<number> = []
    const { errors, non2xx } = await autocannon({
      url,
      connections: 4,
      duration: SECONDS,
      setupClient: (client) => void client.on("response", (_status, _bytes, time) => times.push(time))
    })
    if (errors + non2xx > 0) throw new Error(`${url}: ${non2xx} answers were not 2xx, ${errors} errors`)
    return quantile(times, P99)
  })

/**
 * What 200 callers of an engine that hangs do to readers of routes, and to memory: at first, and going on. Where the last
 * p99 is not near the first, something else ran on the machine.
 */
const besideHungEngine = Effect.fnUntraced(function*(settings: Readonly<Record<string, string>>, url: string) {
  const hung = yield* hungEngine
  const { origin, pid, started } = yield* running("src/main.ts", { ...settings, ROUTING_ENGINE_URL: hung })
  yield* readyAfter(`${origin}/health/ready`, started)
  const read = `${origin}/api/v1/routes/${yield* seed(url)}`
  yield* p99(read)
  const idle = yield* p99(read)
  const before = yield* residentMemory(pid)
  const crowded = Effect.gen(function*() {
    const crowds = crowd({ origin, callers: CALLERS, seconds: SECONDS })
    const [spread, latency] = yield* Effect.all([crowds, p99(read)], { concurrency: 2 })
    return { spread, latency, memory: yield* residentMemory(pid) }
  })
  return { idle, before, first: yield* crowded, second: yield* crowded, idleAgain: yield* p99(read) }
})

const against = (latency: number, idle: number) => `${latency.toFixed(1)} ms (${(latency / idle).toFixed(2)} times)`

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
  const { before, first, idle, idleAgain, second } = yield* besideHungEngine(settings, url)
  yield* Console.log(
    `${CALLERS} callers of a hung engine for ${SECONDS} s, each call for a route of its own; who gets none pauses for `
      + `Retry-After, or ${Duration.format(PAUSE)}`
  )
  yield* Console.log(`answers to them: ${printed(first.spread)}; to as many again: ${printed(second.spread)}`)
  yield* Console.log(
    `p99 of GET /routes/{ref}, 5,000 positions: idle ${idle.toFixed(1)} ms, `
      + `beside them ${against(first.latency, idle)}, beside as many again ${against(second.latency, idle)}, `
      + `idle again ${against(idleAgain, idle)}`
  )
  const memories = [before, first.memory, second.memory].map((memory) => memory.toFixed(0))
  yield* Console.log(`memory before, after the first and after the second crowd: ${memories.join(", ")} MiB`)
}).pipe(Effect.scoped)

NodeRuntime.runMain(figures)
