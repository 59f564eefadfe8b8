import { NodeRuntime } from "@effect/platform-node"
import { Config, Console, Effect, Fiber, Redacted } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { join } from "node:path"
import { embeddedPostgres } from "../src/layers/development/EmbeddedDatabase.ts"
import { unzipped } from "../test/support/Archives.ts"
import { temporaryDirectory } from "../test/support/TemporaryDirectory.ts"
import { archiveBodies, fileBodies, lineBodies } from "./hostileFiles.ts"
import { type Hostile, jsonBodies } from "./hostileJson.ts"
import { forgetPeak, peakMemory, processorTime, readyAfter, running, SETTINGS } from "./processes.ts"
import { seed } from "./seed.ts"
import { type Credential, signedIn } from "./session.ts"
import { P99, quantile } from "./statistics.ts"

/** `ONLY` sends those whose name has it; `TOP` rows are printed of those that cost most. */
const settings = Config.all({
  only: Config.String("ONLY").pipe(Config.withDefault("")),
  top: Config.Int("TOP").pipe(Config.withDefault(Number.MAX_SAFE_INTEGER))
})

const HEAP_MIB = 512
const AT_ONCE = 8
const PAUSE = "5 millis"

/** Longer than any deadline of the service. */
const RESPONSE_TIMEOUT = "150 seconds"

interface Server {
  readonly pid: number
  readonly origin: string
}

interface Figures {
  readonly status: string
  readonly processor: number
  readonly parse: number
  readonly stall: number
  readonly p99: number
  readonly memory: number
}

const service = Effect.fnUntraced(function*(url: string) {
  const server = yield* running("src/main.ts", {
    ...SETTINGS,
    DATABASE_URL: url,
    LOG_LEVEL: "error",
    TELEMETRY_ENABLED: "false",
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}`
  })
  yield* readyAfter(`${server.origin}/health/ready`, server.started)
  return server
})

const PIECE = 65_536

/** A body in pieces: sent as a whole, 64 MiB would hold up the reads of this process for 0.1 s, which are to measure the other. */
function* piecesOf(body: Buffer) {
  for (let start = 0; start < body.length; start += PIECE) yield Uint8Array.from(body.subarray(start, start + PIECE))
}

const send = ({ origin }: Server, credential: Credential, { body, method, path, type }: Hostile) =>
  Effect.tryPromise(async (signal) => {
    const headers = { ...credential, "content-type": type, "x-service-confirm": "true" }
    const response = await fetch(`${origin}${path}`, {
      method,
      headers,
      body: ReadableStream.from(piecesOf(body)),
      duplex: "half",
      signal
    })
    await response.arrayBuffer()
    return String(response.status)
  }).pipe(
    Effect.timeoutOrElse({ duration: RESPONSE_TIMEOUT, orElse: () => Effect.succeed("none") }),
    Effect.orElseSucceed(() => "broken off")
  )

/** Small reads one after the other, and how long each of them took, in milliseconds. */
const readsOf = (url: string, headers: Credential | undefined, latencies: Array<number>) =>
  Effect.tryPromise(async (signal) => {
    const started = performance.now()
    await (await fetch(url, { ...(headers === undefined ? {} : { headers }), signal })).arrayBuffer()
    latencies.push(performance.now() - started)
  }).pipe(Effect.ignore, Effect.andThen(Effect.sleep(PAUSE)), Effect.forever)

/** A service that waits for nothing but its loop tells by its answers how long that stood still. */
const measured = Effect.fnUntraced(function*(server: Server, credential: Credential, work: Effect.Effect<string>) {
  const loop: Array<number> = []
  const reads: Array<number> = []
  const pollers = yield* Effect.forEach(
    [
      readsOf(`${server.origin}/health/live`, undefined, loop),
      readsOf(`${server.origin}/api/v1/users/me`, credential, reads)
    ],
    (reader) => Effect.forkChild(reader)
  )
  yield* Effect.sleep("50 millis")
  yield* forgetPeak(server.pid)
  const before = yield* processorTime(server.pid)
  const status = yield* work
  yield* Effect.sleep("50 millis")
  const processor = (yield* processorTime(server.pid)) - before
  const memory = yield* peakMemory(server.pid)
  yield* Fiber.interruptAll(pollers)
  return { status, processor, stall: Math.max(0, ...loop), p99: quantile(reads, P99), memory }
})

const parseCost = ({ body, type }: Hostile) => {
  if (!type.endsWith("json")) return 0
  const before = process.cpuUsage()
  try {
    JSON.parse(body.toString())
  } catch {
    // What is no JSON costs as much as a parser needs to see that.
  }
  const { system, user } = process.cpuUsage(before)
  return (system + user) / 1000
}

const isAlive = ({ origin }: Server) =>
  Effect.tryPromise(() => fetch(`${origin}/health/live`)).pipe(
    Effect.map(({ ok }) => ok),
    Effect.orElseSucceed(() => false)
  )

const DEAD = { status: "process died", processor: Infinity, stall: Infinity, p99: Infinity, memory: Infinity }

const rowOf = (name: string, { memory, p99, parse, processor, stall, status }: Figures) =>
  `| ${name} | ${status} | ${processor.toFixed(0)} ms | ${parse === 0 ? "" : `${parse.toFixed(0)} ms`} | ${
    stall.toFixed(0)
  } ms | ${p99.toFixed(0)} ms | ${memory.toFixed(0)} MiB |`

const HEADING =
  "| body | status | processor | JSON.parse | longest stall | p99 of others' reads | peak memory |\n|---|---|---|---|---|---|---|"

const made = (server: Server, credential: Credential, path: string, body: unknown) =>
  Effect.promise(async () => {
    const headers = { ...credential, "content-type": "application/json" }
    const response = await fetch(`${server.origin}/api/v1${path}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body)
    })
    const [, id = ""] = /"id":(\d+)/.exec(await response.text()) ?? []
    return id
  })

const exportedFiles = (server: Server, credential: Credential) =>
  Effect.promise(async () => {
    const response = await fetch(`${server.origin}/api/v1/users/me/export`, { headers: credential })
    return new Uint8Array(await response.arrayBuffer())
  }).pipe(Effect.flatMap(unzipped))

const bodiesFor = Effect.fnUntraced(function*(server: Server, credential: Credential) {
  const files = yield* exportedFiles(server, credential)
  const routeId = yield* made(server, credential, "/routes", { name: "x", waypoints: [{ coord: [9, 47] }] })
  const collectionId = yield* made(server, credential, "/collections", { name: "x" })
  const pathOf = ({ path }: HttpApiEndpoint.Top) =>
    path.replace(/:\w+/, path.startsWith("/api/v1/collections") ? collectionId : routeId)
  return [...jsonBodies(pathOf), ...lineBodies(), ...fileBodies(), ...yield* archiveBodies(files)]
})

const figures = Effect.gen(function*() {
  const { only, top } = yield* settings
  const directory = yield* temporaryDirectory
  const url = Redacted.value(yield* embeddedPostgres({ directory: join(directory, "postgres"), durable: false }))
  const first = yield* service(url)
  yield* seed(url)
  const credential = yield* signedIn(first.origin, "bench@example.com")
  const all = yield* bodiesFor(first, credential)
  const chosen = all.filter(({ name }) => name.includes(only))
  const state = { server: first }

  const figuresOf = Effect.fnUntraced(function*(hostile: Hostile, work: Effect.Effect<string>) {
    const found = yield* measured(state.server, credential, work).pipe(Effect.catchDefect(() => Effect.succeed(DEAD)))
    const parse = parseCost(hostile)
    if (yield* isAlive(state.server)) return { ...found, parse }
    state.server = yield* service(url)
    return { ...DEAD, parse }
  })

  // Once before, so that no code is cold.
  yield* Effect.forEach(all.slice(0, AT_ONCE), (hostile) => send(first, credential, hostile))
  const rows: Array<readonly [hostile: Hostile, figures: Figures]> = []
  for (const hostile of chosen) {
    const found = yield* figuresOf(hostile, Effect.suspend(() => send(state.server, credential, hostile)))
    rows.push([hostile, found])
    yield* Console.error(rowOf(hostile.name, found))
  }
  rows.sort(([, a], [, b]) => b.processor - a.processor)
  yield* Console.log([HEADING, ...rows.slice(0, top).map(([{ name }, row]) => rowOf(name, row))].join("\n"))

  const worst = rows.slice(0, AT_ONCE).map(([hostile]) => hostile)
  const [one] = worst
  if (one === undefined) return
  const together = yield* figuresOf(
    one,
    Effect.forEach(worst, (hostile) => send(state.server, credential, hostile), { concurrency: AT_ONCE }).pipe(
      Effect.map((statuses) => statuses.join(" "))
    )
  )
  yield* Console.log(
    `${rows.length} bodies; the ${AT_ONCE} worst at once:\n${rowOf("all of them", { ...together, parse: 0 })}`
  )
}).pipe(Effect.scoped)

NodeRuntime.runMain(figures)
