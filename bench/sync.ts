import { NodeRuntime } from "@effect/platform-node"
import autocannon from "autocannon"
import { Console, Effect, Redacted, Schedule, Schema } from "effect"
import { Agent, get, type RequestOptions } from "node:http"
import { join } from "node:path"
import { Client } from "pg"
import { embeddedPostgres } from "../development/EmbeddedDatabase.ts"
import { temporaryDirectory } from "../test/support/TemporaryDirectory.ts"
import { processorTime, readyAfter, residentMemory, running, SETTINGS } from "./processes.ts"
import { seed } from "./seed.ts"
import { type Credential, signedIn } from "./session.ts"
import { median } from "./statistics.ts"

const WAITING = 1_000
const SECONDS = 4
const CONNECTIONS = 16
const ROUNDS = 5

const ROUTE = JSON.stringify({ name: "A ride", waypoints: [{ coord: [9.5, 47.1] }] })

/** What a write of a route does beside its row, and the triggers without which it does not. */
const VARIANTS = {
  "changes, notified": [],
  "changes, not notified": ["pending_changes"],
  "no changes": ["pending_changes", "routes"]
}
const TRIGGERS = { pending_changes: "announce_on_insert", routes: "change_on_insert" } as const

const readCursor = Schema.decodeUnknownSync(Schema.Struct({ cursor: Schema.String }))

interface Server {
  readonly origin: string
  readonly pid: number
  readonly credential: Credential
}

const load = Effect.fnUntraced(function*({ credential, pid }: Server, url: string, write: boolean) {
  const before = yield* processorTime(pid)
  const { errors, non2xx, requests } = yield* Effect.promise(() =>
    autocannon({
      url,
      connections: CONNECTIONS,
      duration: SECONDS,
      headers: { ...credential, "content-type": "application/json" },
      ...(write ? { method: "POST" as const, body: ROUTE } : {})
    })
  )
  if (non2xx + errors > 0) return yield* Effect.die(new Error(`${non2xx} answers were not 2xx, ${errors} errors`))
  return { rate: requests.average, processor: ((yield* processorTime(pid)) - before) / requests.total }
})

const cursorOf = ({ credential, origin }: Server) =>
  Effect.promise(async () => {
    const response = await fetch(`${origin}/api/v1/sync?limit=200`, { headers: credential })
    return readCursor(await response.json()).cursor
  })

const statusOf = (url: string, options: RequestOptions) =>
  new Promise<number | undefined>((resolve, reject) => {
    get(url, options, (response) => response.resume().once("end", () => resolve(response.statusCode)))
      .once("error", reject)
  })

const waitsOf = (origin: string) =>
  Effect.promise(() => fetch(`${origin}/metrics`).then((response) => response.text())).pipe(
    Effect.map((text) => Number(/^change_waits (\d+)$/m.exec(text)?.[1]))
  )

/** Resident memory that each of the waiting clients adds, and how long until all have the change. */
const waiting = Effect.fnUntraced(function*(server: Server, database: Client) {
  const { credential, origin, pid } = server
  const url = `${origin}/api/v1/sync?wait=30&cursor=${yield* cursorOf(server)}`
  const agent = new Agent({ maxSockets: Infinity })
  const before = yield* residentMemory(pid)
  const answers: Array<Promise<number | undefined>> = []
  for (const _ of Array(WAITING).keys()) {
    answers.push(statusOf(url, { agent, headers: credential }))
    yield* Effect.sleep("10 millis")
  }
  yield* Effect.repeat(waitsOf(origin), { until: (waits) => waits === WAITING, schedule: Schedule.spaced("1 second") })
  const memory = (yield* residentMemory(pid)) - before
  const { rows } = yield* Effect.promise(() =>
    database.query("SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'route-planning-service'")
  )
  const started = performance.now()
  yield* Effect.promise(() =>
    fetch(`${origin}/api/v1/routes`, {
      method: "POST",
      headers: { ...credential, "content-type": "application/json" },
      body: ROUTE
    })
  )
  const statuses = new Set(yield* Effect.promise(() => Promise.all(answers)))
  const millis = performance.now() - started
  agent.destroy()
  return { memory, connections: rows[0].n, millis, statuses }
})

const writes = Effect.fnUntraced(function*(server: Server, database: Client) {
  const rates = new Map<string, Array<number>>()
  for (const _ of Array(ROUNDS).keys()) {
    for (const [name, without] of Object.entries(VARIANTS)) {
      for (const [table, trigger] of Object.entries(TRIGGERS)) {
        const state = without.some((each) => each === table) ? "DISABLE" : "ENABLE"
        yield* Effect.promise(() => database.query(`ALTER TABLE ${table} ${state} TRIGGER ${trigger}`))
      }
      const { rate } = yield* load(server, `${server.origin}/api/v1/routes`, true)
      rates.set(name, [...rates.get(name) ?? [], rate])
    }
  }
  return [...rates].map(([name, each]) => `${name} ${median(each).toFixed(0)}/s`)
})

const figures = Effect.gen(function*() {
  const directory = yield* temporaryDirectory
  const url = Redacted.value(yield* embeddedPostgres({ directory: join(directory, "postgres"), durable: true }))
  const started = yield* running("src/main.ts", { ...SETTINGS, DATABASE_URL: url })
  yield* readyAfter(`${started.origin}/health/ready`, started.started)
  yield* seed(url)
  const server = { ...started, credential: yield* signedIn(started.origin, "bench@example.com") }
  const database = new Client({ connectionString: url })
  yield* Effect.promise(() => database.connect())
  const idle = `${server.origin}/api/v1/sync?cursor=${yield* cursorOf(server)}`
  yield* load(server, idle, false)
  const me = `${server.origin}/api/v1/users/me`
  yield* load(server, me, false)
  yield* Console.log(`GET /users/me: ${(yield* load(server, me, false)).processor.toFixed(2)} ms`)
  const reads = yield* Effect.replicateEffect(load(server, idle, false), 3)
  yield* Console.log(
    `GET /sync with nothing new: ${median(reads.map(({ processor }) => processor)).toFixed(2)} ms of processor time, `
      + `${median(reads.map(({ rate }) => rate)).toFixed(0)}/s`
  )
  const { connections, memory, millis, statuses } = yield* waiting(server, database)
  yield* Console.log(
    `${WAITING} waiting clients: ${memory.toFixed(0)} MiB more, ${connections} connections of the database in all; `
      + `${millis.toFixed(0)} ms from a change to the last response (${[...statuses].join(", ")})`
  )
  yield* Console.log(`POST /routes, ${CONNECTIONS} clients: ${(yield* writes(server, database)).join(", ")}`)
  yield* Effect.promise(() => database.end())
}).pipe(Effect.scoped)

NodeRuntime.runMain(figures)
