import { NodeRuntime } from "@effect/platform-node"
import { Config, Console, Effect, Fiber, Schema } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { type ClientRequest, request } from "node:http"
import { ROUTE_BODY_LIMIT } from "../src/http/api/Requests.ts"
import { MAX_POSITIONS } from "../src/schema/Geometry.ts"
import { MAX_WAYPOINTS } from "../src/schema/Route.ts"
import { unzipped } from "../test/support/Archives.ts"
import { figuresOf, monitoredWith } from "../test/support/MonitoredProcess.ts"
import { archiveBodies, fileBodies, lineBodies, positionsOf } from "./hostileFiles.ts"
import { type Hostile, jsonBodies } from "./hostileJson.ts"
import { forgetPeak, peakMemory, service } from "./processes.ts"
import { type Credential, database, post, seed, signedIn } from "./seed.ts"
import { P99, quantile } from "./statistics.ts"

/**
 * `ONLY` sends those whose name has it; `TOP` rows are printed of those that cost most; with `PRINT_ONLY=true` nothing is
 * asserted.
 */
const settings = Config.all({
  isPrinted: Config.Boolean("PRINT_ONLY").pipe(Config.withDefault(false)),
  only: Config.String("ONLY").pipe(Config.withDefault("")),
  top: Config.Int("TOP").pipe(Config.withDefault(Number.MAX_SAFE_INTEGER))
})

const AT_ONCE = 8
const TRIES = 3
const PAUSE = "5 millis"

/** The first account of the seed. */
const USER_ID = "1"

/** Longer than any deadline of the service. */
const RESPONSE_TIMEOUT = "150 seconds"

interface Server {
  readonly pid: number
  readonly origin: string
  readonly output: () => string
}

const HEAP_MIB = 512

/** A row has these limits; it may cost ten times `JSON.parse`, or as large a share of the longest as its body has. */
const LIMITS = { stall: 50, longest: 1500, least: 100, read: 500, memory: 1024, times: 10 }

interface Row {
  readonly status: string
  /** Without that of the reads beside it. */
  readonly processor: number
  readonly reads: number
  readonly parse: number
  /** The row is about so many bytes. */
  readonly bytes: number
  readonly stall: number
  readonly p99: number
  readonly heap: number
  readonly memory: number
}

const DEAD: Row = {
  status: "process died",
  processor: Infinity,
  reads: 0,
  parse: 0,
  bytes: 0,
  stall: Infinity,
  p99: Infinity,
  heap: Infinity,
  memory: Infinity
}

/** Names what of a row is above its limits. */
const excesses = ({ bytes, heap, memory, p99, parse, processor, stall }: Row, count = 1) => {
  const share = LIMITS.longest * Math.min(1, bytes / ROUTE_BODY_LIMIT)
  const most = Math.max(LIMITS.least, LIMITS.times * parse, share) * count
  return [
    ...(processor > most ? [`processor > ${most.toFixed(0)} ms`] : []),
    ...(stall > LIMITS.stall * count ? [`stall > ${LIMITS.stall * count} ms`] : []),
    ...(p99 > LIMITS.read ? [`reads > ${LIMITS.read} ms`] : []),
    ...(heap > HEAP_MIB ? [`heap > ${HEAP_MIB} MiB`] : []),
    ...(memory > LIMITS.memory ? [`memory > ${LIMITS.memory} MiB`] : [])
  ]
}

const rowOf = (name: string, row: Row, count = 1) => {
  const { heap, memory, p99, parse, processor, stall, status } = row
  const above = excesses(row, count).join(", ")
  const figures = [processor, parse, stall, p99].map((millis) => `${millis.toFixed(0)} ms`)
  const sizes = [heap, memory].map((mebibytes) => `${mebibytes.toFixed(0)} MiB`)
  return `| ${[name, status, ...figures, ...sizes, above === "" ? "" : `**${above}**`].join(" | ")} |`
}

const HEADING =
  "| body | status | processor | JSON.parse | longest stall | p99 of others' reads | heap | peak memory | above its limits |\n"
  + "|---|---|---|---|---|---|---|---|---|"

const monitored = (url: string) =>
  service(url, { LOG_LEVEL: "error", TELEMETRY_ENABLED: "false", ...monitoredWith(HEAP_MIB) })

/** Requests without a body that make a process work. */
interface HostileRead {
  readonly name: string
  readonly path: string
  readonly times: number
  /** False where no client takes the responses. */
  readonly isRead: boolean
}

/** A public route of as many positions and waypoints as one may have. */
const longRoute = (name: string) => ({
  name,
  visibility: "public",
  waypoints: Array.from({ length: MAX_WAYPOINTS }, (_, n) => ({ coord: [9 + n / MAX_WAYPOINTS, 47.5] })),
  geometry: Array.from({ length: MAX_POSITIONS }, (_, n) => [9 + n / MAX_POSITIONS, 47 + Math.sin(n / 999)])
})

/** Reads of a route that is long, and of a user who has such routes. */
const hostileReads = (routeId: string, userId: string): ReadonlyArray<HostileRead> => [
  ...["gpx", "tcx", "kml", "geojson"].map((format) => ({
    name: `a download as ${format.toUpperCase()}, of ${MAX_POSITIONS} positions and ${MAX_WAYPOINTS} waypoints`,
    path: `/api/v1/routes/${routeId}/${format}`,
    times: 1,
    isRead: true
  })),
  { name: "55 downloads that are never read", path: `/api/v1/routes/${routeId}/gpx`, times: 55, isRead: false },
  { name: "ten lists of long routes", path: `/api/v1/routes/by-user/${userId}`, times: 10, isRead: true }
]

/** A client has the status of a response and how many bytes it took. */
interface Taken {
  readonly status: string
  readonly bytes: number
}

const taken = (url: string, isRead: boolean, open: Array<ClientRequest>) =>
  Effect.callback<Taken>((resume) => {
    const sent = request(url, { agent: false }, (response) => {
      const status = String(response.statusCode)
      const counted = { bytes: 0 }
      response.on("error", () => resume(Effect.succeed({ status: "broken off", bytes: counted.bytes })))
      if (!isRead) return resume(Effect.succeed({ status, bytes: 0 }))
      response.on("data", (chunk: Buffer) => counted.bytes += chunk.length)
      response.on("end", () => resume(Effect.succeed({ status, bytes: counted.bytes })))
    })
    sent.on("error", () => resume(Effect.succeed({ status: "broken off", bytes: 0 }))).end()
    open.push(sent)
  })

const summary = (statuses: ReadonlyArray<string>) =>
  [...Map.groupBy(statuses, (status) => status)].map(([status, all]) =>
    all.length === 1 ? status : `${all.length} of ${status}`
  )
    .join(", ")

/** Sends all of them at once; their statuses, and as much JSON as was taken. What is not read is held for two seconds. */
const sendReads = Effect.fnUntraced(function*(origin: string, { isRead, path, times }: HostileRead) {
  const open: Array<ClientRequest> = []
  const call = taken(`${origin}${path}`, isRead, open)
  const all = yield* Effect.replicateEffect(call, times, { concurrency: "unbounded" })
  if (!isRead) yield* Effect.sleep("2 seconds")
  open.forEach((sent) => sent.destroy())
  const bytes = all.reduce((sum, each) => sum + each.bytes, 0)
  return { status: summary(all.map(({ status }) => status)), json: positionsOf(Math.max(bytes, 1024 * 1024)) }
})

const PIECE = 65_536

/** A body in pieces: sent as a whole, 64 MiB would delay the reads of this process by 0.1 s, which measure the other. */
function* piecesOf(body: Uint8Array) {
  for (let start = 0; start < body.length; start += PIECE) yield Uint8Array.from(body.subarray(start, start + PIECE))
}

/** The text that was sent, and JSON of as many bytes. */
interface Sent {
  readonly status: string
  readonly json: string
}

/** The body is made before anything is measured: that would delay the reads of this process. */
const prepared = ({ body, method, path, type, unpacked }: Hostile) => {
  const bytes = new Uint8Array(body())
  const json = type.endsWith("json") ? Buffer.from(bytes).toString() : positionsOf(unpacked ?? bytes.length)
  return ({ origin }: Server, credential: Credential) =>
    Effect.tryPromise(async (signal) => {
      const headers = { ...credential, "content-type": type, "x-service-confirm": "true" }
      const response = await fetch(`${origin}${path}`, {
        method,
        headers,
        body: ReadableStream.from(piecesOf(bytes)),
        duplex: "half",
        signal
      })
      await response.arrayBuffer()
      return String(response.status)
    }).pipe(
      Effect.timeoutOrElse({ duration: RESPONSE_TIMEOUT, orElse: () => Effect.succeed("none") }),
      Effect.orElseSucceed(() => "broken off"),
      Effect.map((status): Sent => ({ status, json }))
    )
}

/** Small reads one after the other, and how long each of them took, in milliseconds. */
const readsOf = (url: string, headers: Credential, latencies: Array<number>) =>
  Effect.tryPromise(async (signal) => {
    const started = performance.now()
    await (await fetch(url, { headers, signal })).arrayBuffer()
    latencies.push(performance.now() - started)
  }).pipe(Effect.ignore, Effect.andThen(Effect.sleep(PAUSE)), Effect.forever)

const measured = Effect.fnUntraced(function*(
  server: Server,
  credential: Credential,
  work: Effect.Effect<Sent>,
  readCost: number
) {
  const reads: Array<number> = []
  const reading = yield* Effect.forkChild(readsOf(`${server.origin}/api/v1/users/me`, credential, reads))
  yield* Effect.sleep("50 millis")
  yield* forgetPeak(server.pid)
  yield* figuresOf(server)
  const before = reads.length
  const { json, status } = yield* work
  const { heap, processor, stall } = yield* figuresOf(server)
  const during = reads.length - before
  const memory = yield* peakMemory(server.pid)
  yield* Fiber.interrupt(reading)
  const row: Row = {
    status,
    processor: Math.max(0, processor - during * readCost),
    reads: during,
    stall,
    heap,
    memory,
    p99: quantile(reads, P99),
    bytes: json.length,
    parse: parseCost(json)
  }
  return row
})

const parseCost = (json: string) => {
  const before = process.cpuUsage()
  try {
    JSON.parse(json)
  } catch {
    // A text that is no JSON costs as much as a parser needs to see that.
  }
  const { system, user } = process.cpuUsage(before)
  return (system + user) / 1000
}

const isAlive = ({ origin }: Server) =>
  Effect.tryPromise(() => fetch(`${origin}/health/live`)).pipe(
    Effect.map(({ ok }) => ok),
    Effect.orElseSucceed(() => false)
  )

const Created = Schema.Struct({ id: Schema.Int })

const made = ({ origin }: Server, credential: Credential, path: string, body: unknown) =>
  Effect.map(post(`${origin}/api/v1${path}`, credential, JSON.stringify(body), Created), ({ id }) => String(id))

const exportedFiles = (server: Server, credential: Credential) =>
  Effect.promise(async () => {
    const response = await fetch(`${server.origin}/api/v1/users/me/export`, { headers: credential })
    return new Uint8Array(await response.arrayBuffer())
  }).pipe(Effect.flatMap(unzipped))

/** Something that is sent so many times at once, and what it is called. */
interface Sending {
  readonly name: string
  readonly times: number
  readonly prepare: () => (server: Server, credential: Credential) => Effect.Effect<Sent>
}

const sendingsFor = Effect.fnUntraced(function*(server: Server, credential: Credential) {
  const files = yield* exportedFiles(server, credential)
  const routeId = yield* made(server, credential, "/routes", { name: "x", waypoints: [{ coord: [9, 47] }] })
  const collectionId = yield* made(server, credential, "/collections", { name: "x" })
  const pathOf = ({ path }: HttpApiEndpoint.Top) =>
    path.replace(/:\w+/, path.startsWith("/api/v1/collections") ? collectionId : routeId)
  const longIds = yield* Effect.forEach(
    ["one", "two", "three"],
    (name) => made(server, credential, "/routes", longRoute(name))
  )
  const bodies = [...jsonBodies(pathOf), ...lineBodies(), ...fileBodies(), ...yield* archiveBodies(files)]
  return [
    ...hostileReads(longIds[0] ?? "", USER_ID).map((read): Sending => ({
      name: read.name,
      times: read.times,
      prepare: () => ({ origin }) => sendReads(origin, read)
    })),
    ...bodies.map((hostile): Sending => ({
      name: hostile.name,
      times: 1,
      prepare: () => prepared(hostile)
    }))
  ]
})

const signIn = (origin: string) => signedIn(origin, "bench@example.com")

const figures = Effect.gen(function*() {
  const { isPrinted, only, top } = yield* settings
  const url = yield* database
  const first = yield* monitored(url)
  yield* seed(url)
  const firstCredential = yield* signIn(first.origin)
  const all = yield* sendingsFor(first, firstCredential)
  const chosen = all.filter(({ name }) => name.includes(only))
  const state = { server: first }

  type Work = (server: Server, credential: Credential) => Effect.Effect<Sent>

  /** Each row has a new session, since a token expires after 15 minutes. */
  const rowFor = Effect.fnUntraced(function*(work: Work, readCost: number) {
    const credential = yield* signIn(state.server.origin)
    const row = yield* measured(state.server, credential, work(state.server, credential), readCost).pipe(
      Effect.catchDefect(() => Effect.succeed(DEAD))
    )
    if (yield* isAlive(state.server)) return row
    state.server = yield* monitored(url)
    return DEAD
  })

  // Once before, so that no code is cold.
  yield* Effect.forEach(all.slice(0, AT_ONCE), ({ prepare }) => prepare()(first, firstCredential))
  const idleFor = rowFor(() => Effect.as(Effect.sleep("3 seconds"), { status: "idle", json: "[]" }), 0)
  const idle = yield* Effect.andThen(idleFor, idleFor)
  const readCost = idle.processor / Math.max(1, idle.reads)
  yield* Console.error(`A read beside takes ${readCost.toFixed(1)} ms, which is taken off.`)

  /** The one with the fewest excesses of up to three: cold code and busy neighbours add to a row. */
  const bestOf = (sending: Sending, tries = TRIES): ReturnType<typeof rowFor> =>
    Effect.suspend(() => rowFor(sending.prepare(), readCost)).pipe(
      Effect.flatMap((row) => {
        const { times } = sending
        const count = excesses(row, times).length
        if (count === 0 || tries === 1 || row === DEAD) return Effect.succeed(row)
        return Effect.map(bestOf(sending, tries - 1), (next) => excesses(next, times).length > count ? row : next)
      })
    )

  const rows: Array<readonly [sending: Sending, row: Row]> = []
  for (const sending of chosen) {
    const row = yield* bestOf(sending)
    rows.push([sending, row])
    yield* Console.error(rowOf(sending.name, row, sending.times))
  }
  rows.sort(([, a], [, b]) => b.processor - a.processor)
  yield* Console.log(
    [HEADING, ...rows.slice(0, top).map(([{ name, times }, row]) => rowOf(name, row, times))].join("\n")
  )

  const worst = rows.slice(0, AT_ONCE).map(([{ prepare }]) => prepare())
  const together = yield* rowFor(
    (server, credential) =>
      Effect.forEach(worst, (send) => send(server, credential), { concurrency: AT_ONCE }).pipe(
        Effect.map((all) => ({
          status: all.map(({ status }) => status).join(" "),
          json: all.map(({ json }) => json).join("")
        }))
      ),
    readCost
  )
  yield* Console.log(`${rows.length} rows; the ${AT_ONCE} worst at once:\n${rowOf("all of them", together, AT_ONCE)}`)
  const above = rows.filter(([{ times }, row]) => excesses(row, times).length > 0).length +
    Math.min(1, excesses(together, AT_ONCE).length)
  yield* Console.log(`${above} of them above their limits`)
  return isPrinted ? 0 : above
}).pipe(Effect.scoped)

NodeRuntime.runMain(Effect.tap(figures, (above) =>
  Effect.sync(() => {
    if (above > 0) process.exitCode = 1
  })))
