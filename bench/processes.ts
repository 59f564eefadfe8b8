import { Effect, Schedule } from "effect"
import { spawn } from "node:child_process"
import { readdir, readFile, writeFile } from "node:fs/promises"
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

const start = ([program = "", ...flags]: ReadonlyArray<string>, env: Readonly<Record<string, string>>) => {
  const child = spawn(program, flags, { env: { PATH, ...env }, stdio: ["ignore", "pipe", "inherit"] })
  const lines: Array<string> = []
  child.stdout.on("data", (chunk: Buffer) => lines.push(chunk.toString()))
  return { child, lines, ended: new Promise((resolve) => child.once("close", resolve)) }
}

/** A program on its own port, ended by its process id when the scope closes. */
export const started = Effect.fnUntraced(function*(
  commandOf: (port: string) => ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
) {
  const port = String(yield* Effect.promise(() => freePort()))
  const started = performance.now()
  const { child, lines } = yield* Effect.acquireRelease(
    Effect.sync(() => start(commandOf(port), { PORT: port, ...env })),
    ({ child, ended }) =>
      Effect.promise(() => {
        child.kill("SIGTERM")
        return ended
      })
  )
  return { pid: child.pid ?? 0, origin: `http://127.0.0.1:${port}`, started, output: () => lines.join("") }
})

/** A program of the service. */
export const running = (
  script: string,
  env: Readonly<Record<string, string>>,
  flags: ReadonlyArray<string> = []
) => started(() => [NODE, ...flags, join(ROOT, script)], env)

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

const statOf = async (pid: number | string) => {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8")
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")
}

const ticksOf = async (pid: number) => {
  const [user, system] = (await statOf(pid)).slice(11, 13)
  return Number(user) + Number(system)
}

/** Processor time that a process has taken so far, user and system, in milliseconds. */
export const processorTime = (pid: number) =>
  Effect.map(Effect.promise(() => ticksOf(pid)), (ticks) => ticks * 1000 / TICKS)

/** That of each child of a process, by its pid, to less than a tick; those of PostgreSQL have one thread each. */
export const childrenTimes = (parent: number) =>
  Effect.promise(async () => {
    const times = new Map<string, number>()
    for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
      const [, ppid] = await statOf(pid).catch(() => [])
      if (Number(ppid) !== parent) continue
      const text = await readFile(`/proc/${pid}/schedstat`, "utf8").catch(() => "")
      times.set(pid, Number(text.split(" ")[0]) / 1_000_000)
    }
    return times
  })

/** Returns what stands behind `--name` on the command line. */
export const argument = (name: string, otherwise: string): string => {
  const index = process.argv.indexOf(`--${name}`)
  return index === -1 ? otherwise : process.argv[index + 1] ?? otherwise
}
