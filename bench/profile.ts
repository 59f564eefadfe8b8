import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Schema } from "effect"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { temporaryDirectory } from "../test/support/TemporaryDirectory.ts"
import { callsOf, ROWS } from "./crowdRows.ts"
import { measured } from "./measure.ts"
import { peopled } from "./people.ts"
import { argument } from "./processes.ts"
import { database, service } from "./seed.ts"
import { sum } from "./statistics.ts"

// `npm run bench:profile -- --only token --seconds 20` profiles some rows of the crowd: without `--only` all but the heavy
// ones, each with the same number of requests.
const ONLY = argument("only", "")
const SECONDS = Number(argument("seconds", "20"))
const SHOWN = 25

const CallFrame = Schema.Struct({ functionName: Schema.String, url: Schema.String, lineNumber: Schema.Int })

/** The format is that of Chromium's developer tools; times are in microseconds. */
const Profile = Schema.fromJsonString(Schema.Struct({
  nodes: Schema.Array(Schema.Struct({ id: Schema.Int, callFrame: CallFrame })),
  samples: Schema.Array(Schema.Int),
  timeDeltas: Schema.Array(Schema.Finite)
}))

/** Returns the package and the function of a frame. */
const namesOf = ({ functionName, lineNumber, url }: typeof CallFrame.Type) => {
  const place = url.replace(/^.*\/node_modules\//, "").replace(/^.*\/(?=src\/)/, "")
  const [name = functionName.startsWith("(") ? functionName : "(native)"] =
    /^(?:src\/[^/]+\/[^/]+|node:\w+|@[^/]+\/[^/]+|[^/]+)/.exec(place) ?? []
  return [name, `${functionName || "(anonymous)"} ${place === "" ? "" : `${place}:${lineNumber + 1}`}`] as const
}

/** Profiles a process, and returns when its load began. */
const profiled = Effect.fnUntraced(function*(directory: string) {
  const url = yield* database
  const flags = ["--cpu-prof", `--cpu-prof-dir=${directory}`]
  const server = yield* service(url, { TRUSTED_PROXIES: "127.0.0.0/8" }, flags)
  const people = yield* peopled(url, server.origin)
  const rows = ROWS.filter(({ clients, name }) => ONLY === "" ? clients === undefined : name.includes(ONLY))
  const each = rows.map(({ asks }) => callsOf(server.origin, people, asks))
  const calls = (each[0] ?? []).flatMap((_, n) => each.flatMap((row) => row[n] ?? []))
  const load = measured(server, calls, rows[0]?.clients ?? 16, SECONDS)
  yield* load
  const started = performance.now()
  yield* Console.log(`${(yield* load).cost.toFixed(0)} us a request, ${rows.length} rows\n`)
  return started
}, Effect.scoped)

const profile = Effect.gen(function*() {
  const directory = yield* temporaryDirectory
  const started = yield* profiled(directory)
  const window = 1000 * (performance.now() - started)
  const times = [new Map<string, number>(), new Map<string, number>()]
  for (const file of yield* Effect.promise(() => readdir(directory))) {
    const text = yield* Effect.promise(() => readFile(join(directory, file), "utf8"))
    const { nodes, samples, timeDeltas } = yield* Schema.decodeEffect(Profile)(text)
    const frames = new Map(nodes.map(({ callFrame, id }) => [id, callFrame]))
    let left = window
    for (let n = samples.length - 1; n >= 0 && left > 0; n--) {
      const frame = frames.get(samples[n] ?? 0)
      const time = timeDeltas[n + 1] ?? 0
      left -= time
      if (frame === undefined || frame.functionName === "(idle)") continue
      namesOf(frame).forEach((name, n) => times[n]?.set(name, (times[n].get(name) ?? 0) + time))
    }
  }
  for (const each of times) {
    const all = sum([...each.values()])
    const largest = [...each].toSorted(([, a], [, b]) => b - a).slice(0, SHOWN)
    yield* Console.log(
      largest.map(([name, time]) => `${(100 * time / all).toFixed(1).padStart(5)} %  ${name}`).join("\n")
    )
    yield* Console.log("")
  }
}).pipe(Effect.scoped)

NodeRuntime.runMain(profile)
