import { NodeRuntime } from "@effect/platform-node"
import autocannon from "autocannon"
import { Console, Effect, Redacted } from "effect"
import { createServer } from "node:http"
import { join } from "node:path"
import { embeddedPostgres } from "../src/layers/EmbeddedDatabase.ts"
import { routingEngine } from "../src/layers/RoutingEngineProcess.ts"
import { ENGINE_DIRECTORY } from "../test/support/Engine.ts"
import { temporaryDirectory } from "../test/support/TemporaryDirectory.ts"
import { TOWN, townExtract } from "../test/support/Town.ts"
import { readyAfter, residentMemory, running, SETTINGS } from "./processes.ts"

const CALLS = 2500

/** What comes before is for the compilers to warm up. */
const COUNTED = 500

const median = (values: ReadonlyArray<number>) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

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

/** Median milliseconds of the engine's own answer and of ours, in turns. */
const compare = Effect.fnUntraced(function*(engine: URL, origin: string) {
  const own: Array<number> = []
  const ours: Array<number> = []
  for (let n = 0; n < CALLS; n++) {
    const locations = [startOf(n), TOWN.closedEast]
    own.push(
      yield* timed(new URL("route", engine).href, {
        locations,
        costing: "bicycle",
        costing_options: { bicycle: { bicycle_type: "Hybrid" } },
        units: "kilometers",
        directions_type: "none"
      })
    )
    ours.push(yield* timed(`${origin}/api/v1/routing/route`, { activity: "cycle", preferences: {}, locations }))
  }
  return { own: median(own.slice(-COUNTED)), ours: median(ours.slice(-COUNTED)) }
})

const hungEngine = Effect.acquireRelease(
  Effect.callback<{ readonly url: string; readonly close: () => void }>((resume) => {
    const server = createServer(() => undefined)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = address === null || typeof address === "string" ? 0 : address.port
      resume(Effect.succeed({
        url: `http://127.0.0.1:${port}`,
        close: () => {
          server.closeAllConnections()
          server.close()
        }
      }))
    })
  }),
  ({ close }) => Effect.sync(close)
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
  const times = yield* compare(engine.url, ours.origin)
  yield* Console.log(
    `a route, medians of ${COUNTED}: the engine ${times.own.toFixed(2)} ms, through us ${times.ours.toFixed(2)} ms, `
      + `${(times.ours - times.own).toFixed(2)} ms more`
  )

  const hung = yield* hungEngine
  const beside = yield* running("src/main.ts", { ...settings, ROUTING_ENGINE_URL: hung.url })
  yield* readyAfter(`${beside.origin}/health/ready`, beside.started)
  const read = `${beside.origin}/api/v1/routes/public`
  yield* p99(read)
  const idle = yield* p99(read)
  const before = yield* residentMemory(beside.pid)
  const [, crowded] = yield* Effect.all([crowd(beside.origin), p99(read)], { concurrency: 2 })
  const after = yield* residentMemory(beside.pid)
  yield* Console.log(
    `p99 of a read: idle ${idle} ms, beside 200 callers of a hung engine ${crowded} ms; memory ${
      before.toFixed(0)
    } MiB, `
      + `then ${after.toFixed(0)} MiB`
  )
}).pipe(Effect.scoped)

NodeRuntime.runMain(figures)
