import { NodeRuntime } from "@effect/platform-node"
import autocannon from "autocannon"
import { Console, Effect, Redacted, Schema } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { embeddedPostgres } from "../development/EmbeddedDatabase.ts"
import { temporaryDirectory } from "../test/support/TemporaryDirectory.ts"
import { analyzed } from "./database.ts"
import { argument, readyAfter, running, SETTINGS } from "./processes.ts"
import { comparedRequests, CONNECTIONS, seeded } from "./requests.ts"
import { seed } from "./seed.ts"

const SECONDS = Number(argument("seconds", "10"))
const TOP = Number(argument("top", "40"))
const REQUEST = argument("request", "GET /routes/{token}, 50 positions")

const Profile = Schema.fromJsonString(Schema.Struct({
  nodes: Schema.Array(Schema.Struct({
    id: Schema.Int,
    callFrame: Schema.Struct({ functionName: Schema.String, url: Schema.String, lineNumber: Schema.Int }),
    children: Schema.optionalKey(Schema.Array(Schema.Int))
  })),
  samples: Schema.Array(Schema.Int),
  timeDeltas: Schema.Array(Schema.Int)
}))
type Profile = typeof Profile.Type
type Node = Profile["nodes"][number]

const shortened = (url: string) => url.replace(/^.*\/node_modules\//, "").replace(/^.*\/(?=src\/)/, "")

const nameOf = ({ callFrame: { functionName, lineNumber, url } }: Node) =>
  `${functionName || "(anonymous)"} ${shortened(url)}${url === "" ? "" : `:${lineNumber + 1}`}`

/** Microseconds of each function by itself, and with all that it calls; of one that calls itself, once. */
const timesOf = ({ nodes, samples, timeDeltas }: Profile, from: number) => {
  const byId = new Map(nodes.map((node) => [node.id, node] as const))
  const parents = new Map(nodes.flatMap(({ children = [], id }) => children.map((child) => [child, id] as const)))
  const own = new Map<number, number>()
  samples.forEach((id, index) => {
    if (index >= from) own.set(id, (own.get(id) ?? 0) + (timeDeltas[index] ?? 0))
  })
  const times = new Map<string, { self: number; inclusive: number }>()
  const timeOf = (name: string) => {
    const time = times.get(name) ?? { self: 0, inclusive: 0 }
    times.set(name, time)
    return time
  }
  const stackOf = (id: number | undefined): ReadonlyArray<Node> => {
    const node = byId.get(id ?? 0)
    return node === undefined ? [] : [node, ...stackOf(parents.get(node.id))]
  }
  for (const [id, micros] of own) {
    const names = stackOf(id).map(nameOf)
    timeOf(names[0] ?? "").self += micros
    for (const name of new Set(names)) timeOf(name).inclusive += micros
  }
  return times
}

/** The samples before the load: the start, and the filling of the database. */
const beforeLoad = ({ timeDeltas }: Profile) => {
  const wanted = 1_000_000 * SECONDS
  const state = { micros: 0, index: timeDeltas.length }
  while (state.index > 0 && state.micros < wanted) state.micros += timeDeltas[--state.index] ?? 0
  return state.index
}

const profiled = Effect.gen(function*() {
  const directory = yield* temporaryDirectory
  const url = Redacted.value(yield* embeddedPostgres({ directory: join(directory, "postgres"), durable: false }))
  const total = yield* Effect.gen(function*() {
    const settings = { ...SETTINGS, DATABASE_URL: url, LOG_LEVEL: "info" }
    const ours = yield* running("src/main.ts", settings, ["--cpu-prof", `--cpu-prof-dir=${directory}`])
    yield* readyAfter(`${ours.origin}/health/ready`, ours.started)
    yield* seed(url)
    const filled = yield* seeded(ours.origin)
    yield* analyzed(url)
    const requests = comparedRequests(filled)
    const request = requests.find(({ name }) => name === REQUEST)
    if (request === undefined) {
      return yield* Effect.die(new Error(`no such request; there are: ${requests.map(({ name }) => name).join("; ")}`))
    }
    const { body, connections = CONNECTIONS, headers, method = "GET", path } = request
    const sent = { ...(headers === undefined ? {} : { headers }), ...(body === undefined ? {} : { body }) }
    const load = { url: `${ours.origin}${path}`, method, connections, ...sent }
    yield* Effect.promise(() => autocannon({ ...load, duration: 3 }))
    const { requests: sentRequests } = yield* Effect.promise(() => autocannon({ ...load, duration: SECONDS }))
    return sentRequests.total
  }).pipe(Effect.scoped)
  const file = readdirSync(directory).find((name) => name.endsWith(".cpuprofile")) ?? ""
  const profile = yield* Schema.decodeUnknownEffect(Profile)(readFileSync(join(directory, file), "utf8"))
  const times = [...timesOf(profile, beforeLoad(profile))].toSorted(([, a], [, b]) => b.inclusive - a.inclusive)
  const cell = (micros: number) => (micros / total).toFixed(1).padStart(8)
  yield* Console.log(`${REQUEST}: ${total} requests; microseconds a request\n\ninclusive    self  function`)
  yield* Effect.forEach(
    times.slice(0, TOP),
    ([name, { inclusive, self }]) => Console.log(`${cell(inclusive)} ${cell(self)}  ${name}`),
    { discard: true }
  )
  const bySelf = times.toSorted(([, a], [, b]) => b.self - a.self).slice(0, TOP)
  yield* Console.log("\n    self  function")
  yield* Effect.forEach(bySelf, ([name, { self }]) => Console.log(`${cell(self)}  ${name}`), { discard: true })
}).pipe(Effect.scoped)

NodeRuntime.runMain(profiled)
