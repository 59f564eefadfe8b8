import { Effect, Schedule } from "effect"
import { spawn } from "node:child_process"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { freePort } from "../development/FreePort.ts"
import { NODE, PATH } from "../development/ProductionProcess.ts"

const ROOT = join(import.meta.dirname, "..")

/** Settings of the programs that a benchmark starts. */
export const SETTINGS = {
  RATE_LIMITS_ENABLED: "false",
  HOST: "127.0.0.1",
  JWT_SECRET: "a secret of the benchmark, 32 characters",
  ANALYTICS_SALT: "a salt of the benchmark, 32 characters!",
  PAT_PEPPER: "a pepper of the benchmark, 32 characters",
  GOOGLE_CLIENT_ID: "benchmark",
  GOOGLE_CLIENT_SECRET: "benchmark",
  // One account has all routes of some benchmarks.
  MAX_ROUTES_PER_USER: "1000000",
  MAX_STORED_BYTES_PER_USER: "1 TiB"
}

const start = (script: string, env: Readonly<Record<string, string>>, flags: ReadonlyArray<string>) => {
  const child = spawn(NODE, [...flags, join(ROOT, script)], {
    env: { PATH, ...env },
    stdio: ["ignore", "pipe", "inherit"]
  })
  const lines: Array<string> = []
  child.stdout.on("data", (chunk: Buffer) => lines.push(chunk.toString()))
  return { child, lines, ended: new Promise((resolve) => child.once("close", resolve)) }
}

/** A program of the service on its own port, ended by its process id when the scope closes. */
export const running = Effect.fnUntraced(function*(
  script: string,
  env: Readonly<Record<string, string>>,
  flags: ReadonlyArray<string> = []
) {
  const port = yield* Effect.promise(() => freePort())
  const started = performance.now()
  const { child, lines } = yield* Effect.acquireRelease(
    Effect.sync(() => start(script, { PORT: String(port), ...env }, flags)),
    ({ child, ended }) =>
      Effect.promise(() => {
        child.kill("SIGTERM")
        return ended
      })
  )
  return { pid: child.pid ?? 0, origin: `http://127.0.0.1:${port}`, started, output: () => lines.join("") }
})

/** Waits until a URL responds with success; milliseconds since `started`. */
export const readyAfter = (url: string, started: number) =>
  Effect.tryPromise(() => fetch(url).then(({ ok }) => ok ? undefined : Promise.reject(new Error("not ready")))).pipe(
    Effect.retry({ schedule: Schedule.spaced("10 millis"), times: 3000 }),
    Effect.map(() => performance.now() - started)
  )

/** The service on a database, when it is ready, and how many milliseconds that took. */
export const service = Effect.fnUntraced(function*(
  url: string,
  settings: Readonly<Record<string, string>> = {},
  flags: ReadonlyArray<string> = []
) {
  const server = yield* running("src/main.ts", { ...SETTINGS, DATABASE_URL: url, ...settings }, flags)
  return { ...server, took: yield* readyAfter(`${server.origin}/health/ready`, server.started) }
})

const memoryOf = (pid: number, figure: "VmRSS" | "VmHWM") =>
  Effect.promise(() => readFile(`/proc/${pid}/status`, "utf8")).pipe(
    Effect.map((status) => Number(new RegExp(`${figure}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024)
  )

/** Resident memory of a process, in MiB. */
export const residentMemory = (pid: number) => memoryOf(pid, "VmRSS")

/** The most of it that there was since `forgetPeak`, in MiB. */
export const peakMemory = (pid: number) => memoryOf(pid, "VmHWM")

/** Linux counts the peak of a process's resident memory from here on. */
export const forgetPeak = (pid: number) => Effect.promise(() => writeFile(`/proc/${pid}/clear_refs`, "5"))

/** Ticks of a second in which Linux counts processor time. */
const TICKS = 100

const ticksOf = async (pid: number) => {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8")
  const [user, system] = stat.slice(stat.lastIndexOf(")") + 2).split(" ").slice(11, 13)
  return Number(user) + Number(system)
}

/** Processor time that a process has taken so far, user and system, in milliseconds. */
export const processorTime = (pid: number) =>
  Effect.map(Effect.promise(() => ticksOf(pid)), (ticks) => ticks * 1000 / TICKS)

/** What stands behind `--name` on the command line. */
export const argument = (name: string, otherwise: string): string => {
  const index = process.argv.indexOf(`--${name}`)
  return index === -1 ? otherwise : process.argv[index + 1] ?? otherwise
}
