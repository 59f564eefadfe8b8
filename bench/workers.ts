import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Redacted } from "effect"
import { execFile } from "node:child_process"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { embeddedPostgres } from "../development/EmbeddedDatabase.ts"
import { temporaryDirectory } from "../test/support/TemporaryDirectory.ts"
import { type Asked, asked } from "./asked.ts"
import { analyzed } from "./database.ts"
import { argument, childrenOf, readyAfter, running, SETTINGS } from "./processes.ts"
import { type Compared, comparedRequests, seeded } from "./requests.ts"
import { seed } from "./seed.ts"
import { median } from "./statistics.ts"

// As `npm run bench:workers -- --seconds 5 --turns 3 --share 20`.
const SECONDS = Number(argument("seconds", "4"))
const TURNS = Number(argument("turns", "3"))

/** Of a core, in percent: PostgreSQL and the load need the rest. */
const SHARE = Number(argument("share", "20"))

/** For each process. Many, since the kernel deals them to the workers by chance. */
const CONNECTIONS = 32

const WARM_UP_SECONDS = 3

/** In nanoseconds. */
const PERIOD = 10_000_000

const DEADLINE = `--sched-runtime ${PERIOD * SHARE / 100} --sched-deadline ${PERIOD} --sched-period ${PERIOD}`.split(
  " "
)

/** Gives the main thread of a process its share of a core, and never more: `SCHED_DEADLINE` of Linux, for root only. */
const confine = (pid: number) =>
  Effect.promise(() =>
    promisify(execFile)("chrt", ["--deadline", "--reset-on-fork", ...DEADLINE, "--pid", "0", String(pid)])
  )

const service = Effect.fnUntraced(function*(url: string, workers: string) {
  const { origin, pid, started } = yield* running("src/main.ts", { ...SETTINGS, DATABASE_URL: url, WORKERS: workers })
  yield* readyAfter(`${origin}/health/ready`, started)
  return { name: `WORKERS=${workers}`, origin, pid }
})

/** What a worker alone does: long lines and long bodies are the work of threads, too. */
const isShort = ({ name }: Compared) => /health|50 positions|users\/me|POST \/routes, 100 /.test(name)

const rowOf = Effect.fnUntraced(function*(one: Asked, two: Asked, request: Compared) {
  const each = (seconds: number) =>
    Effect.all([
      asked(one, { ...request, connections: CONNECTIONS }, seconds),
      asked(two, { ...request, connections: 2 * CONNECTIONS }, seconds)
    ])
  yield* each(WARM_UP_SECONDS)
  const turns = yield* Effect.replicateEffect(each(SECONDS), TURNS)
  const cells = [
    request.name,
    `${median(turns.map(([{ rate }]) => rate)).toFixed(0)}/s`,
    `${median(turns.map(([, { rate }]) => rate)).toFixed(0)}/s`,
    median(turns.map(([single, both]) => both.rate / single.rate)).toFixed(2),
    median(turns.map(([single, both]) => both.cost / single.cost)).toFixed(2)
  ]
  yield* Console.log(`| ${cells.join(" | ")} |`)
})

/** One process and two workers, each of the three with the same share of a core. */
const comparison = Effect.gen(function*() {
  const directory = yield* temporaryDirectory
  const url = Redacted.value(yield* embeddedPostgres({ directory: join(directory, "postgres"), durable: false }))
  const one = yield* service(url, "1")
  const two = yield* service(url, "2")
  yield* seed(url)
  const filled = yield* seeded(one.origin)
  yield* analyzed(url)
  const workers = yield* Effect.promise(() => childrenOf(two.pid))
  yield* Effect.forEach([one.pid, ...workers], confine, { discard: true })
  yield* Console.log(
    `each process has ${SHARE} % of one of ${availableParallelism()} cores\n\n`
      + "| request | one process | `WORKERS=2` | ratio | of processor time a request |\n|---|---|---|---|---|"
  )
  const requests = comparedRequests(filled).filter(isShort)
  yield* Effect.forEach(requests, (request) => rowOf(one, two, request), { discard: true })
}).pipe(Effect.scoped)

NodeRuntime.runMain(comparison)
