import { NodeRuntime } from "@effect/platform-node"
import autocannon from "autocannon"
import { Console, Effect, Redacted } from "effect"
import { join } from "node:path"
import { embeddedPostgres } from "../development/EmbeddedDatabase.ts"
import { temporaryDirectory } from "../test/support/TemporaryDirectory.ts"
import { processorTime, readyAfter, residentMemory, running, SETTINGS } from "./processes.ts"
import { seed } from "./seed.ts"
import { median } from "./statistics.ts"
import { traceSink } from "./targets.ts"

const SECONDS = 4
const CONNECTIONS = 10
const ROUNDS = 5

/** No process listens there. */
const DOWN = "http://127.0.0.1:9"

const variantsOf = (url: string) => ({
  "off": {},
  "always_on": { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_TRACES_SAMPLER: "always_on" },
  "ratio 0.1": {
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
    OTEL_TRACES_SAMPLER_ARG: "0.1"
  },
  "ratio 0.1, collector down": {
    OTEL_EXPORTER_OTLP_ENDPOINT: DOWN,
    OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
    OTEL_TRACES_SAMPLER_ARG: "0.1"
  },
  "no telemetry": { TELEMETRY_ENABLED: "false", LOG_LEVEL: "warn" }
})

interface Server {
  readonly pid: number
  readonly origin: string
}

/** Processor time says the same whatever else the machine does; the rate does not. */
const load = Effect.fnUntraced(function*({ origin, pid }: Server, path: string) {
  const before = yield* processorTime(pid)
  const { errors, latency, non2xx, requests } = yield* Effect.promise(() =>
    autocannon({ url: `${origin}${path}`, connections: CONNECTIONS, duration: SECONDS })
  )
  if (non2xx + errors > 0) return yield* Effect.die(new Error(`${non2xx} answers were not 2xx, ${errors} errors`))
  const processor = ((yield* processorTime(pid)) - before) / requests.total
  return { rate: requests.average, p50: latency.p50, processor }
})

type Load = Effect.Success<ReturnType<typeof load>>

const rowOf = (name: string, loads: ReadonlyArray<Load>, off: ReadonlyArray<Load>, memory: number) => {
  const ratioOf = (figure: "rate" | "processor") =>
    median(loads.map((load, round) => load[figure] / (off[round]?.[figure] ?? 1))).toFixed(2)
  const processor = (1000 * median(loads.map((load) => load.processor))).toFixed(0)
  const rate = median(loads.map((load) => load.rate)).toFixed(0)
  const p50 = median(loads.map((load) => load.p50))
  return `| ${name} | ${processor} us | ${ratioOf("processor")} | ${rate} | ${ratioOf("rate")} | ${p50} ms | ${
    memory.toFixed(0)
  } MiB |`
}

const figures = Effect.gen(function*() {
  const directory = yield* temporaryDirectory
  const database = Redacted.value(yield* embeddedPostgres({ directory: join(directory, "postgres"), durable: false }))
  const url = yield* traceSink
  const servers = yield* Effect.forEach(Object.entries(variantsOf(url)), ([name, settings]) =>
    Effect.map(
      running("src/main.ts", { ...SETTINGS, DATABASE_URL: database, ...settings }),
      (server) => ({ name, ...server })
    ))
  yield* Effect.forEach(servers, ({ origin, started }) => readyAfter(`${origin}/health/ready`, started))
  const id = yield* seed(database)
  // Of a route without its line, so that what is beside it counts.
  const path = `/api/v1/routes/${id}?geometry=none`
  yield* Effect.forEach(servers, (server) => load(server, path))
  const rounds = yield* Effect.forEach(
    Array.from({ length: ROUNDS }),
    () => Effect.forEach(servers, (server) => load(server, path))
  )
  const loadsOf = (n: number) => rounds.map((round) => round[n]).filter((load) => load !== undefined)
  yield* Console.log(
    "| traces | processor a request | of off | requests/s | of off | p50 | memory |\n|---|---|---|---|---|---|---|"
  )
  yield* Effect.forEach(
    servers,
    ({ name, pid }, n) =>
      Effect.flatMap(residentMemory(pid), (memory) => Console.log(rowOf(name, loadsOf(n), loadsOf(0), memory)))
  )
}).pipe(Effect.scoped)

NodeRuntime.runMain(figures)
