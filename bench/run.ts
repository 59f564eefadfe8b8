import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Redacted } from "effect"
import { join } from "node:path"
import { embeddedPostgres } from "../development/EmbeddedDatabase.ts"
import { temporaryDirectory } from "../test/support/TemporaryDirectory.ts"
import { comparison } from "./compare.ts"
import { decodeTimes } from "./decode.ts"
import { readyAfter, residentMemory, running, SETTINGS } from "./processes.ts"
import { compareReads } from "./reads.ts"
import { seed } from "./seed.ts"
import { compareSignIns, readsBesideSignIns } from "./signIns.ts"
import { median } from "./statistics.ts"

const developmentReady = Effect.fnUntraced(function*(directory: string) {
  const { origin, started } = yield* running("development/dev.ts", { DATA_DIR: directory })
  return yield* readyAfter(`${origin}/health/ready`, started)
}, Effect.scoped)

const STARTS = 5

/** As by `npm start` on an existing database: the first start migrates it, and keeps the modules that Node has compiled. */
const serviceReady = Effect.gen(function*() {
  const directory = yield* temporaryDirectory
  const url = Redacted.value(
    yield* embeddedPostgres({ directory: join(directory, "postgres"), durable: false })
  )
  const settings = { ...SETTINGS, DATABASE_URL: url, NODE_COMPILE_CACHE: join(directory, "compiled") }
  const start = running("src/main.ts", settings).pipe(
    Effect.flatMap(({ origin, started }) => readyAfter(`${origin}/health/ready`, started)),
    Effect.scoped
  )
  yield* start
  return median(yield* Effect.replicateEffect(start, STARTS))
}).pipe(Effect.scoped)

const reads = Effect.gen(function*() {
  const directory = yield* temporaryDirectory
  const database = { directory: join(directory, "postgres"), durable: false }
  const url = Redacted.value(yield* embeddedPostgres(database))
  const ours = yield* running("src/main.ts", { ...SETTINGS, DATABASE_URL: url })
  yield* readyAfter(`${ours.origin}/health/ready`, ours.started)
  const id = yield* seed(url)
  const peer = yield* running("bench/peer.ts", { DATABASE_URL: url })
  yield* readyAfter(`${peer.origin}/api/v1/routes/${id}`, peer.started)
  yield* Effect.sleep("3 seconds")
  const atRest = yield* residentMemory(ours.pid)
  const path = `/api/v1/routes/${id}`
  const read = yield* compareReads(`${ours.origin}${path}`, `${peer.origin}${path}`)
  return { atRest, ...read }
}).pipe(Effect.scoped)

const signIns = Effect.gen(function*() {
  const directory = yield* temporaryDirectory
  const database = { directory: join(directory, "postgres"), durable: false }
  const url = Redacted.value(yield* embeddedPostgres(database))
  const settings = { ...SETTINGS, DATABASE_URL: url }
  const { origin, started } = yield* running("src/main.ts", settings)
  yield* readyAfter(`${origin}/health/ready`, started)
  const id = yield* seed(url)
  const times = yield* compareSignIns(origin, "bench@example.com", "provider-only@example.com")
  return { times, ...yield* readsBesideSignIns(origin, `/api/v1/routes/${id}`) }
}).pipe(Effect.scoped)

const figures = Effect.gen(function*() {
  const directory = join(yield* temporaryDirectory, "data")
  const fresh = yield* developmentReady(directory)
  const existing = yield* developmentReady(directory)
  yield* Console.log(`ready on a fresh database        ${(fresh / 1000).toFixed(2)} s`)
  yield* Console.log(`ready on an existing database    ${(existing / 1000).toFixed(2)} s`)
  yield* Console.log(`the service alone, on that       ${((yield* serviceReady) / 1000).toFixed(2)} s`)
  const read = yield* reads
  yield* Console.log(`memory at rest                   ${read.atRest.toFixed(0)} MiB`)
  yield* Console.log(
    `GET /routes/{ref}, 5,000 positions: ours ${read.ours.toFixed(0)}/s, Fastify + pg ${
      read.peer.toFixed(0)
    }/s, ratio ${read.ratio.toFixed(2)}; p99 of ours ${read.p99} ms`
  )
  const signIn = yield* signIns
  const kinds = Object.entries(signIn.times).map(([kind, time]) => `${kind} ${time.toFixed(2)} ms`)
  yield* Console.log(`refused sign-ins, medians           ${kinds.join(", ")}`)
  yield* Console.log(
    `p99 of GET /routes/{ref}, idle ${signIn.idle} ms; beside ${
      signIn.signIns.toFixed(0)
    } sign-ins/s ${signIn.flooded} ms`
  )
  const decode = decodeTimes()
  yield* Console.log(
    `decoding 100,000 positions: ours ${decode.ours.toFixed(1)} ms, generic tuples ${
      decode.generic.toFixed(1)
    } ms, ratio ${decode.ratio.toFixed(0)}`
  )
  yield* comparison
}).pipe(Effect.scoped)

NodeRuntime.runMain(figures)
