import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Fiber, Record, Schema, Struct } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { setTimeout } from "node:timers/promises"
import { ROUTE_BODY_LIMIT } from "../src/http/api/Requests.ts"
import { MAX_POSITIONS } from "../src/schema/Geometry.ts"
import { MAX_WAYPOINTS } from "../src/schema/Route.ts"
import { unzipped } from "../test/support/Archives.ts"
import { figuresOf, monitoredWith } from "../test/support/MonitoredProcess.ts"
import { archiveBodies, fileBodies, lineBodies, positionsOf } from "./hostileFiles.ts"
import { type Hostile, jsonBodies } from "./hostileJson.ts"
import { newRoute } from "./people.ts"
import { costOf, isOk } from "./processes.ts"
import { heading, line } from "./report.ts"
import { type Credential, post, seeded, service, signedIn } from "./seed.ts"
import { P99, quantile, sum } from "./statistics.ts"

// `ONLY=GPX TOP=10 PRINT_ONLY=true npm run bench:hostile` sends requests whose name contains this, prints the ten most
// costly rows, and asserts nothing.
const { ONLY = "", PRINT_ONLY, TOP = "Infinity" } = process.env

const AT_ONCE = 8
const TRIES = 3
const PAUSE = "5 millis"
const HEAP_MIB = 512

/** A response that no client takes is open for this many milliseconds. */
const UNREAD = 2000

/** The timeout is longer than any deadline of the service. */
const RESPONSE_TIMEOUT = "150 seconds"

const SETTINGS = { LOG_LEVEL: "error", TELEMETRY_ENABLED: "false", ...monitoredWith(HEAP_MIB) }

type Server = Effect.Success<ReturnType<typeof service>>

/** The table has these figures of a row. */
const UNITS = { processor: "ms", parse: "ms", stall: "ms", reads: "ms", heap: "MiB", memory: "MiB" }

/** The processor time excludes that of the `count` reads beside; the row is about this number of bytes. */
type Row = Readonly<Record<keyof typeof UNITS | "bytes" | "count", number>> & { readonly status: string }

const HEADING = [
  "body",
  "status",
  "processor",
  "JSON.parse",
  "longest stall",
  "p99 of others' reads",
  "heap",
  "peak memory",
  "above its limits"
]

const DEAD: Row = { ...Record.map(UNITS, () => Infinity), parse: 0, bytes: 0, count: 0, status: "process died" }

/** Names the figures above their limits: ten times `JSON.parse`, or the share of 1.5 s that its body has of the largest. */
const excesses = (row: Row, times = 1) => {
  const share = 1500 * Math.min(1, row.bytes / ROUTE_BODY_LIMIT)
  const processor = Math.max(100, 10 * row.parse, share) * times
  const limits = { processor, stall: 50 * times, reads: 500, heap: HEAP_MIB, memory: 1024 }
  return Struct.keys(limits).filter((figure) => row[figure] > limits[figure]).map((figure) =>
    `${figure} > ${limits[figure].toFixed(0)} ${UNITS[figure]}`
  )
}

const cellsOf = (name: string, row: Row, times?: number) => {
  const above = excesses(row, times).join(", ")
  const figures = Struct.keys(UNITS).map((figure) => `${row[figure].toFixed(0)} ${UNITS[figure]}`)
  return [name, row.status, ...figures, above === "" ? "" : `**${above}**`]
}

/** The text that was sent, or JSON of the same size, is parsed to compare. */
interface Sent {
  readonly status: string
  readonly json: string
}

type Send = (server: Server, credential: Credential) => Effect.Effect<Sent>

/** A request that is sent several times at once, and is made before, since that would delay the reads of this process. */
interface Sending {
  readonly name: string
  readonly times: number
  readonly prepare: () => Send
}

/** Returns the status of a response, and how many of its bytes were taken. */
const sent = (url: string, isRead: boolean, requestOf: () => RequestInit = () => ({})) =>
  Effect.tryPromise(async (signal) => {
    const response = await fetch(url, { ...requestOf(), signal })
    const bytes = isRead ? (await response.arrayBuffer()).byteLength : await setTimeout(UNREAD, 0)
    if (!isRead) await response.body?.cancel()
    return { status: String(response.status), bytes }
  }).pipe(
    Effect.timeoutOrElse({ duration: RESPONSE_TIMEOUT, orElse: () => Effect.succeed({ status: "none", bytes: 0 }) }),
    Effect.orElseSucceed(() => ({ status: "broken off", bytes: 0 }))
  )

const summary = (statuses: ReadonlyArray<string>) =>
  [...Map.groupBy(statuses, (status) => status)].map(([status, all]) =>
    all.length === 1 ? status : `${all.length} of ${status}`
  ).join(", ")

/** Sends a request without a body that gives a process much work. */
const reading = (name: string, path: string, times = 1, isRead = true): Sending => ({
  name,
  times,
  prepare: () => ({ origin }) =>
    Effect.map(
      Effect.replicateEffect(sent(`${origin}/api/v1/routes/${path}`, isRead), times, { concurrency: "unbounded" }),
      (all) => ({
        status: summary(all.map(({ status }) => status)),
        json: positionsOf(Math.max(sum(all.map(({ bytes }) => bytes)), 1024 * 1024))
      })
    )
})

const PIECE = 65_536

/** Returns a body in pieces: as a whole, 64 MiB would delay the reads of this process, which measure the other, by 0.1 s. */
function* piecesOf(body: Uint8Array) {
  for (let start = 0; start < body.length; start += PIECE) yield Uint8Array.from(body.subarray(start, start + PIECE))
}

const writing = ({ body, method, name, path, type, unpacked }: Hostile): Sending => ({
  name,
  times: 1,
  prepare: () => {
    const bytes = new Uint8Array(body())
    const json = type.endsWith("json") ? Buffer.from(bytes).toString() : positionsOf(unpacked ?? bytes.length)
    return ({ origin }, credential) => {
      const headers = { ...credential, "content-type": type, "x-service-confirm": "true" }
      const request = () => ({ method, headers, body: ReadableStream.from(piecesOf(bytes)), duplex: "half" as const })
      return Effect.map(sent(`${origin}${path}`, true, request), ({ status }) => ({ status, json }))
    }
  }
})

/** Sends small reads one after the other, and notes how long each took, in milliseconds. */
const readsOf = (url: string, headers: Credential, latencies: Array<number>) =>
  Effect.tryPromise(async (signal) => {
    const started = performance.now()
    await (await fetch(url, { headers, signal })).arrayBuffer()
    latencies.push(performance.now() - started)
  }).pipe(Effect.ignore, Effect.andThen(Effect.sleep(PAUSE)), Effect.forever)

const parseCost = (json: string) => {
  const before = process.cpuUsage()
  try {
    JSON.parse(json)
  } catch {
    // A text that is no JSON costs what a parser needs to notice it.
  }
  const { system, user } = process.cpuUsage(before)
  return (system + user) / 1000
}

const measured = Effect.fnUntraced(function*(server: Server, credential: Credential, send: Send, readCost: number) {
  const reads: Array<number> = []
  const beside = yield* Effect.forkChild(readsOf(`${server.origin}/api/v1/users/me`, credential, reads))
  yield* Effect.sleep("50 millis")
  yield* figuresOf(server)
  const before = reads.length
  const { peak: memory, result: { json, status } } = yield* costOf(server, send(server, credential))
  const { heap, processor, stall } = yield* figuresOf(server)
  const count = reads.length - before
  yield* Fiber.interrupt(beside)
  const row: Row = {
    status,
    processor: Math.max(0, processor - count * readCost),
    parse: parseCost(json),
    stall,
    reads: quantile(reads, P99),
    heap,
    memory,
    bytes: json.length,
    count
  }
  return row
})

/** The public route has the most positions and waypoints that a route may have. */
const longRoute = (name: string) => ({
  name,
  visibility: "public",
  waypoints: Array.from({ length: MAX_WAYPOINTS }, (_, n) => ({ coord: [9 + n / MAX_WAYPOINTS, 47.5] })),
  geometry: Array.from({ length: MAX_POSITIONS }, (_, n) => [9 + n / MAX_POSITIONS, 47 + Math.sin(n / 999)])
})

const Created = Schema.Struct({ id: Schema.Int })

const sendingsFor = Effect.fnUntraced(function*(origin: string, headers: Credential) {
  const made = (path: string, body: unknown) =>
    Effect.map(post(`${origin}/api/v1/${path}`, headers, body, Created), ({ id }) => String(id))
  yield* made("routes", newRoute("Five thousand positions", 5000, "public"))
  const files = yield* Effect.flatMap(
    Effect.promise(() => fetch(`${origin}/api/v1/users/me/export`, { headers }).then((response) => response.bytes())),
    unzipped
  )
  const routeId = yield* made("routes", { name: "x", waypoints: [{ coord: [9, 47] }] })
  const collectionId = yield* made("collections", { name: "x" })
  const pathOf = ({ path }: HttpApiEndpoint.Top) =>
    path.replace(/:\w+/, path.startsWith("/api/v1/collections") ? collectionId : routeId)
  const [longId] = yield* Effect.forEach(["one", "two", "three"], (name) => made("routes", longRoute(name)))
  return [
    ...["gpx", "tcx", "kml", "geojson"].map((format) =>
      reading(
        `a download as ${format.toUpperCase()}, of ${MAX_POSITIONS} positions and ${MAX_WAYPOINTS} waypoints`,
        `${longId}/${format}`
      )
    ),
    reading("55 downloads that are never read", `${longId}/gpx`, 55, false),
    reading("ten lists of long routes", "by-user/1", 10),
    ...[...jsonBodies(pathOf), ...lineBodies(), ...fileBodies(), ...yield* archiveBodies(files)].map(writing)
  ]
})

const hostile = Effect.gen(function*() {
  const { email, session, url, ...first } = yield* seeded(SETTINGS)
  const all = yield* sendingsFor(first.origin, session)
  const state: { server: Server } = { server: first }

  /** Each row has a new session, since a token expires after 15 minutes. */
  const rowFor = Effect.fnUntraced(function*(send: Send, readCost: number) {
    const { server } = state
    const credential = yield* signedIn(server.origin, email)
    const row = yield* measured(server, credential, send, readCost).pipe(
      Effect.catchDefect(() => Effect.succeed(DEAD))
    )
    if (yield* isOk(`${server.origin}/health/live`)) return row
    state.server = yield* service(url, SETTINGS)
    return DEAD
  })

  // The first requests are sent once before, so that no code is cold.
  yield* Effect.forEach(all.slice(0, AT_ONCE), ({ prepare }) => prepare()(first, session))
  const idleFor = rowFor(() => Effect.as(Effect.sleep("3 seconds"), { status: "idle", json: "[]" }), 0)
  const idle = yield* Effect.andThen(idleFor, idleFor)
  const readCost = idle.processor / Math.max(1, idle.count)
  yield* Console.error(`A read beside takes ${readCost.toFixed(1)} ms, which is taken off.`)

  /** Returns the row with the fewest excesses of up to three: cold code and busy neighbours add to a row. */
  const bestOf = Effect.fnUntraced(function*({ prepare, times }: Sending) {
    let best = yield* rowFor(prepare(), readCost)
    for (let tries = 1; tries < TRIES && best !== DEAD && excesses(best, times).length > 0; tries++) {
      const next = yield* rowFor(prepare(), readCost)
      if (excesses(next, times).length <= excesses(best, times).length) best = next
    }
    return best
  })

  const rows: Array<Sending & { readonly row: Row }> = []
  for (const sending of all.filter(({ name }) => name.includes(ONLY))) {
    const row = yield* bestOf(sending)
    rows.push({ ...sending, row })
    yield* Console.error(line(cellsOf(sending.name, row, sending.times)))
  }
  rows.sort((a, b) => b.row.processor - a.row.processor)
  const shown = rows.slice(0, Number(TOP)).map(({ name, row, times }) => line(cellsOf(name, row, times)))
  yield* Console.log([heading(HEADING), ...shown].join("\n"))

  const worst = rows.slice(0, AT_ONCE).map(({ prepare }) => prepare())
  const together = yield* rowFor(
    (server, credential) =>
      Effect.map(
        Effect.forEach(worst, (send) => send(server, credential), { concurrency: AT_ONCE }),
        (all) => ({ status: all.map(({ status }) => status).join(" "), json: all.map(({ json }) => json).join("") })
      ),
    readCost
  )
  yield* Console.log(`${rows.length} rows; the ${AT_ONCE} worst at once:`)
  yield* Console.log(line(cellsOf("all of them", together, AT_ONCE)))
  const above = [...rows, { row: together, times: AT_ONCE }].filter(({ row, times }) => excesses(row, times).length > 0)
  yield* Console.log(`${above.length} of them above their limits`)
  if (above.length > 0 && PRINT_ONLY !== "true") process.exitCode = 1
}).pipe(Effect.scoped)

NodeRuntime.runMain(hostile)
