import { NodeRuntime } from "@effect/platform-node"
import autocannon from "autocannon"
import { Config, Console, Effect, Fiber, Redacted, Schema } from "effect"
import { createReadStream, createWriteStream } from "node:fs"
import { readFile, stat } from "node:fs/promises"
import { get, request } from "node:http"
import { join } from "node:path"
import { json } from "node:stream/consumers"
import { pipeline } from "node:stream/promises"
import type { Client } from "pg"
import { embeddedPostgres } from "../development/EmbeddedDatabase.ts"
import { temporaryDirectory } from "../test/support/TemporaryDirectory.ts"
import { connected } from "./database.ts"
import { fill, fillLong } from "./fill.ts"
import { readyAfter, residentMemory, running, SETTINGS } from "./processes.ts"
import { type Credential, signedIn } from "./session.ts"

/** `ROUTES` of the exported account, 1,000 positions each. */
const routeCount = Config.Int("ROUTES").pipe(Config.withDefault(10_000))

/** The largest of what is measured again and again for as long as the work takes, and how long that is, in seconds. */
const during = Effect.fnUntraced(function*<A>(measure: Effect.Effect<number>, work: Effect.Effect<A>) {
  const seen: Array<number> = [yield* measure]
  const sampling = yield* Effect.forkChild(
    Effect.forever(Effect.flatMap(measure, (value) => {
      seen.push(value)
      return Effect.sleep("50 millis")
    }))
  )
  const started = performance.now()
  const result = yield* work
  const seconds = (performance.now() - started) / 1000
  yield* Fiber.interrupt(sampling)
  return { result, seconds, most: seen.reduce((most, value) => Math.max(most, value), 0) }
})

const Longest = Schema.Array(Schema.Struct({ milliseconds: Schema.Finite }))

/** How old the oldest transaction of the service is now, in milliseconds. */
const oldestTransaction = (client: Client) =>
  Effect.promise(() =>
    client.query(
      `SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start) * 1000), 0)::float8 AS milliseconds
       FROM pg_stat_activity WHERE application_name = 'route-planning-service'`
    )
  ).pipe(Effect.map(({ rows }) => Schema.decodeUnknownSync(Longest)(rows)[0]?.milliseconds ?? 0))

const load = (options: autocannon.Options) =>
  Effect.promise(() => autocannon({ connections: 1, duration: 8, ...options })).pipe(
    Effect.map(({ latency, non2xx }) => non2xx > 0 ? Number.NaN : latency.p99)
  )

/** p99 in milliseconds of another user's reads and writes of a route. */
const othersP99 = (url: string, headers: Credential) =>
  Effect.all({
    read: load({ url, headers }),
    write: load({
      url,
      method: "PATCH",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ favourite: true })
    })
  }, { concurrency: 2 })

const download = (origin: string, headers: Credential, file: string) =>
  Effect.promise(() =>
    new Promise<void>((resolve, reject) => {
      get(`${origin}/api/v1/users/me/export`, { headers }, (response) => {
        pipeline(response, createWriteStream(file)).then(resolve, reject)
      }).on("error", reject)
    })
  )

const upload = (origin: string, headers: Credential, file: string) =>
  Effect.promise(() =>
    new Promise((resolve, reject) => {
      const call = request(`${origin}/api/v1/users/me/import`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/zip" }
      }, (response) => resolve(json(response)))
      pipeline(createReadStream(file), call).catch(reject)
    })
  )

/** Processor time of a process, in milliseconds (proc(5): the 14th and 15th field, in ticks of 10 ms). */
const processorTime = (pid: number) =>
  Effect.promise(() => readFile(`/proc/${pid}/stat`, "utf8")).pipe(
    Effect.map((line) => line.split(" ").slice(13, 15).reduce((sum, ticks) => sum + 10 * Number(ticks), 0))
  )

/** What the service still works in the second after a reader of an export went away. */
const afterAbort = Effect.fnUntraced(function*(origin: string, pid: number, headers: Credential) {
  yield* Effect.promise(() =>
    new Promise<void>((resolve) => {
      get(`${origin}/api/v1/users/me/export`, { headers }, (response) => {
        response.once("data", () => {
          response.destroy()
          resolve()
        })
      })
    })
  )
  yield* Effect.sleep("500 millis")
  const before = yield* processorTime(pid)
  yield* Effect.sleep("1 second")
  return (yield* processorTime(pid)) - before
})

const figures = Effect.gen(function*() {
  const routes = yield* routeCount
  const directory = yield* temporaryDirectory
  const url = Redacted.value(yield* embeddedPostgres({ directory: join(directory, "postgres"), durable: false }))
  const start = Effect.gen(function*() {
    const ours = yield* running("src/main.ts", { ...SETTINGS, DATABASE_URL: url })
    yield* readyAfter(`${ours.origin}/health/ready`, ours.started)
    return ours
  })
  yield* Effect.scoped(start)
  yield* fill(url, 1000)
  yield* fillLong(url, routes)
  const { origin, pid } = yield* start
  const database = yield* connected(url)
  const headers = yield* signedIn(origin, "long@example.com")
  const other = yield* signedIn(origin, "user-1@example.com")
  const route = `${origin}/api/v1/routes/${yield* ownRoute(database)}`
  yield* Effect.sleep("3 seconds")

  const file = join(directory, "account.zip")
  const atRest = yield* residentMemory(pid)
  const memory = yield* during(residentMemory(pid), download(origin, headers, file))
  const { size } = yield* Effect.promise(() => stat(file))
  yield* Console.log(
    `export of ${routes} routes: ${(size / 1e6).toFixed(0)} MB in ${memory.seconds.toFixed(1)} s, resident memory `
      + `${atRest.toFixed(0)} MiB at rest, ${(memory.most - atRest).toFixed(0)} MiB more at most`
  )
  yield* othersP99(route, other)
  const idle = yield* othersP99(route, other)
  const beside = yield* during(
    oldestTransaction(database),
    Effect.all([download(origin, headers, file), othersP99(route, other)], { concurrency: 2 })
  )
  const [, busy] = beside.result
  yield* Console.log(
    `another user's p99, idle and beside an export: read ${idle.read} and ${busy.read} ms, write ${idle.write} and `
      + `${busy.write} ms; oldest transaction ${beside.most.toFixed(0)} ms`
  )
  yield* Console.log(`processor time after an abort: ${yield* afterAbort(origin, pid, headers)} ms in a second`)

  const beforeImport = yield* residentMemory(pid)
  const first = yield* during(residentMemory(pid), upload(origin, other, file))
  const second = yield* during(oldestTransaction(database), upload(origin, other, file))
  yield* Console.log(
    `import into another account: ${first.seconds.toFixed(1)} s, ${(first.most - beforeImport).toFixed(0)} MiB more at `
      + `most, ${JSON.stringify(first.result)}; again ${second.seconds.toFixed(1)} s, ${JSON.stringify(second.result)}`
  )
}).pipe(Effect.scoped)

const Ids = Schema.Array(Schema.Struct({ id: Schema.NumberFromString }))

const ownRoute = (client: Client) =>
  Effect.promise(() => client.query("SELECT id FROM routes WHERE user_id = 1 AND deleted_at IS NULL LIMIT 1")).pipe(
    Effect.map(({ rows }) => Schema.decodeUnknownSync(Ids)(rows)[0]?.id)
  )

NodeRuntime.runMain(figures)
