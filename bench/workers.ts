import { NodeRuntime } from "@effect/platform-node"
import autocannon from "autocannon"
import { Console, Effect, Redacted, Schema } from "effect"
import { readdir, readFile } from "node:fs/promises"
import { availableParallelism, loadavg } from "node:os"
import { join } from "node:path"
import { embeddedPostgres } from "../src/layers/EmbeddedDatabase.ts"
import { temporaryDirectory } from "../test/support/TemporaryDirectory.ts"
import { readyAfter, running, SETTINGS } from "./processes.ts"
import { seed } from "./seed.ts"
import { type Call, steadyP99 } from "./steady.ts"

const SECONDS = 4
const CONNECTIONS = 20

/** The p99 in milliseconds that a rate is held at. */
const GOAL = 50

const STEPS = 6

/** Of Linux, on all machines that Node.js runs on. */
const TICKS_PER_SECOND = 100

interface Target {
  readonly name: string
  readonly pid: number
  readonly call: Call
}

const ticksOf = async (pid: number) => {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8")
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return Number(fields[11]) + Number(fields[12])
}

const childrenOf = async (pid: number) => {
  const threads = await readdir(`/proc/${pid}/task`)
  const lists = await Promise.all(threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, "utf8")))
  return lists.flatMap((list) => list.split(" ")).filter((child) => child !== "").map(Number)
}

/** Seconds of processor time that a process and its children have taken so far. */
const cpuSeconds = (pid: number) =>
  Effect.promise(async () => {
    const ticks = await Promise.all([pid, ...await childrenOf(pid)].map(ticksOf))
    return ticks.reduce((sum, each) => sum + each, 0) / TICKS_PER_SECOND
  })

const atMost = Effect.fnUntraced(function*({ call, name, pid }: Target) {
  const before = yield* cpuSeconds(pid)
  const { errors, non2xx, requests } = yield* Effect.promise(() =>
    autocannon({ ...call, connections: CONNECTIONS, duration: SECONDS })
  )
  if (non2xx > 0 || errors > 0) {
    return yield* Effect.die(new Error(`${name}: ${non2xx} answers were not 2xx, ${errors} errors`))
  }
  const cpu = yield* cpuSeconds(pid)
  return { rate: requests.average, cpuMillis: 1000 * (cpu - before) / requests.total }
})

/** The highest steady rate whose p99 stays under the goal, by halving the range below what it can do at all. */
const heldRate = (call: Call, held: number, missed: number, steps: number): Effect.Effect<number> =>
  steps === 0
    ? Effect.succeed(held)
    : Effect.gen(function*() {
      const rate = Math.round((held + missed) / 2)
      const isHeld = (yield* steadyP99(call, rate, CONNECTIONS, SECONDS)) < GOAL
      return yield* heldRate(call, isHeld ? rate : held, isHeld ? missed : rate, steps - 1)
    })

const measured = Effect.fnUntraced(function*(target: Target) {
  yield* atMost(target)
  const most = yield* atMost(target)
  const held = yield* heldRate(target.call, 0, most.rate * 1.2, STEPS)
  yield* Console.log(
    `${target.name.padEnd(34)} ${most.rate.toFixed(0).padStart(5)}/s at most, ${
      held.toString().padStart(5)
    }/s with p99 < ${GOAL} ms, ${most.cpuMillis.toFixed(2)} ms of processor a request`
  )
  return { held, ...most }
})

const Session = Schema.Struct({ accessToken: Schema.String })

const signIn = (origin: string) =>
  Effect.promise(() =>
    fetch(`${origin}/api/v1/auth/login-email`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ email: "bench@example.com", password: "a long enough password" })
    }).then((response) => response.json())
  ).pipe(Effect.map((body) => Schema.decodeUnknownSync(Session)(body).accessToken))

const NEW_ROUTE = {
  name: "A ride",
  waypoints: [{ coord: [9.5209, 47.1415] }],
  geometry: Array.from({ length: 100 }, (_, n) => [9.5 + n / 10_000, 47.1 + n / 20_000, 450])
}

const service = Effect.fnUntraced(function*(url: string, workers: number) {
  const started = yield* running("src/main.ts", { ...SETTINGS, DATABASE_URL: url, WORKERS: String(workers) })
  yield* readyAfter(`${started.origin}/health/ready`, started.started)
  yield* Effect.sleep("2 seconds")
  return started
})

const compared = Effect.fnUntraced(function*(url: string, id: number | undefined, workers: number) {
  const { origin, pid } = yield* service(url, workers)
  const authorization = `Bearer ${yield* signIn(origin)}`
  const name = workers === 1 ? "one process" : `WORKERS=${workers}`
  const read = yield* measured({
    name: `GET /routes/{ref}, ${name}`,
    pid,
    call: { url: `${origin}/api/v1/routes/${id}` }
  })
  const written = yield* measured({
    name: `POST /routes, ${name}`,
    pid,
    call: {
      url: `${origin}/api/v1/routes`,
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify(NEW_ROUTE)
    }
  })
  return { read, written }
}, Effect.scoped)

const peer = Effect.fnUntraced(function*(url: string, id: number | undefined) {
  const { origin, pid, started } = yield* running("bench/peer.ts", { DATABASE_URL: url })
  const path = `${origin}/api/v1/routes/${id}`
  yield* readyAfter(path, started)
  return yield* measured({ name: "GET /routes/{ref}, Fastify + pg", pid, call: { url: path } })
}, Effect.scoped)

const ratio = (a: number, b: number) => b === 0 ? "unknown" : (a / b).toFixed(2)

const figures = Effect.gen(function*() {
  const directory = yield* temporaryDirectory
  const url = Redacted.value(yield* embeddedPostgres({ directory: join(directory, "postgres"), durable: false }))
  yield* Effect.scoped(service(url, 1))
  const id = yield* seed(url)
  yield* Console.log(
    `The load and PostgreSQL share ${availableParallelism()} cores with what is measured; ${
      loadavg()[0]?.toFixed(1)
    } processes wanted them in the last minute.`
  )
  const one = yield* compared(url, id, 1)
  const two = yield* compared(url, id, 2)
  const fastify = yield* peer(url, id)
  yield* Console.log(
    `WORKERS=2 over one process: reads ${ratio(two.read.rate, one.read.rate)} at most, ${
      ratio(two.read.held, one.read.held)
    } held; writes ${ratio(two.written.rate, one.written.rate)} at most, ${
      ratio(two.written.held, one.written.held)
    } held`
  )
  yield* Console.log(
    `reads over Fastify + pg: one process ${ratio(one.read.rate, fastify.rate)} at most, ${
      ratio(one.read.held, fastify.held)
    } held; processor a request ${ratio(one.read.cpuMillis, fastify.cpuMillis)}`
  )
}).pipe(Effect.scoped)

NodeRuntime.runMain(figures)
