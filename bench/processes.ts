import { Duration, Effect } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { freePort } from "../development/FreePort.ts"
import { NODE, PATH } from "../development/ProductionProcess.ts"
import { until } from "../test/support/Waiting.ts"
import { sum } from "./statistics.ts"

/** The programs that a benchmark starts have these settings. */
export const SETTINGS = {
  RATE_LIMITS_ENABLED: "false",
  HOST: "127.0.0.1",
  JWT_SECRET: "a secret of the benchmark, 32 characters",
  ANALYTICS_SALT: "a salt of the benchmark, 32 characters!",
  PAT_PEPPER: "a pepper of the benchmark, 32 characters",
  GOOGLE_CLIENT_ID: "benchmark",
  GOOGLE_CLIENT_SECRET: "benchmark",
  // In some benchmarks one account has all routes.
  MAX_ROUTES_PER_USER: "1000000",
  MAX_STORED_BYTES_PER_USER: "1 TiB"
}

export type Settings = Readonly<Record<string, string>>

export const isOk = (url: string) =>
  Effect.tryPromise(() => fetch(url)).pipe(Effect.map(({ ok }) => ok), Effect.orElseSucceed(() => false))

const launched = ([program = "", ...flags]: ReadonlyArray<string>, env: Settings) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(program, flags, { env: { PATH, ...env }, stdio: ["ignore", "pipe", "inherit"] })
      return { child, ended: once(child, "close") }
    }),
    ({ child, ended }) =>
      Effect.promise(() => {
        child.kill("SIGTERM")
        return ended
      })
  )

/** Starts a program on its own port, which is ready after `took` ms: when a path responds with success. It ends with the scope. */
export const started = Effect.fnUntraced(
  function*(commandOf: (port: string) => ReadonlyArray<string>, ready: string, env: Settings = {}) {
    const port = String(yield* Effect.promise(() => freePort()))
    const origin = `http://127.0.0.1:${port}`
    const began = performance.now()
    const { child } = yield* launched(commandOf(port), { PORT: port, ...env })
    const lines: Array<string> = []
    child.stdout.on("data", (chunk: Buffer) => lines.push(chunk.toString()))
    yield* until(isOk(`${origin}${ready}`), Duration.millis(10)).pipe(Effect.timeout("30 seconds"), Effect.orDie)
    return { pid: child.pid ?? 0, origin, took: performance.now() - began, output: () => lines.join("") }
  }
)

export const running = (script: string, ready: string, env: Settings, flags: ReadonlyArray<string> = []) =>
  started(() => [NODE, ...flags, join(import.meta.dirname, "..", script)], ready, env)

const memoryOf = (pid: number, figure: "VmRSS" | "VmHWM") =>
  Effect.map(
    Effect.promise(() => readFile(`/proc/${pid}/status`, "utf8")),
    (status) => Number(new RegExp(`${figure}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024
  )

/** Returns the resident memory of a process, in MiB. */
export const residentMemory = (pid: number) => memoryOf(pid, "VmRSS")

/** Linux counts processor time in this many ticks a second. */
const TICKS = 100

/** Returns the processor time of a process so far, user and system, in milliseconds. */
const processorTime = (pid: number) =>
  Effect.promise(async () => {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8")
    return 1000 / TICKS * sum(stat.slice(stat.lastIndexOf(")") + 2).split(" ").slice(11, 13).map(Number))
  })

/** Returns that of each child of a process, by its id, to less than a tick: PostgreSQL's have one thread each. */
const childrenTimes = (parent: number) =>
  Effect.promise(async () => {
    const children = await readFile(`/proc/${parent}/task/${parent}/children`, "utf8")
    return new Map(
      await Promise.all(
        children.trim().split(" ").map(async (pid) => {
          const text = await readFile(`/proc/${pid}/schedstat`, "utf8").catch(() => "")
          return [pid, Number(text.split(" ")[0]) / 1_000_000] as const
        })
      )
    )
  })

/** A server under load. */
export interface Server {
  readonly origin: string
  readonly pid: number
  /** Its PostgreSQL's processes are children of the one with this id. */
  readonly postgres: number
}

/** Returns the seconds that work takes, the processor time of process and database in milliseconds, and memory in MiB. */
export const costOf = Effect.fnUntraced(
  function*<A, E, R>({ pid, postgres }: Pick<Server, "pid" | "postgres">, work: Effect.Effect<A, E, R>) {
    // Linux counts the peak of resident memory from here on.
    yield* Effect.promise(() => writeFile(`/proc/${pid}/clear_refs`, "5"))
    const figures = Effect.all([processorTime(pid), childrenTimes(postgres)])
    const resident = yield* residentMemory(pid)
    const [processor, times] = yield* figures
    const began = performance.now()
    const result = yield* work
    const seconds = (performance.now() - began) / 1000
    const [processorAfter, timesAfter] = yield* figures
    const peak = yield* memoryOf(pid, "VmHWM")
    return {
      result,
      seconds,
      processor: processorAfter - processor,
      database: sum([...timesAfter].map(([pid, time]) => time - (times.get(pid) ?? 0))),
      peak,
      growth: peak - resident
    }
  }
)

/** Returns the word after `--name` on the command line. */
export const argument = (name: string, otherwise: string): string => {
  const index = process.argv.indexOf(`--${name}`)
  return index === -1 ? otherwise : process.argv[index + 1] ?? otherwise
}
