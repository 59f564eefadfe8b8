import { Effect, Schedule } from "effect"
import type { ChildProcess } from "node:child_process"
import { join } from "node:path"
import { SETTINGS as LIMITLESS } from "../bench/processes.ts"
import { freePort } from "../development/FreePort.ts"
import { NODE, PATH } from "../development/ProductionProcess.ts"
import { asking } from "./ask.ts"
import { ending, hasEnded, type Keeper } from "./keeper.ts"

type Env = Readonly<Record<string, string>>

const ROOT = join(import.meta.dirname, "..")

const SETTINGS = {
  ...LIMITLESS,
  // Production refuses to run without limits.
  NODE_ENV: "test",
  LOG_LEVEL: "warn",
  MAX_COLLECTIONS_PER_USER: "1000000",
  ROUTING_ENGINE_URL: "http://127.0.0.1:9",
  NODE_COMPILE_CACHE: join(ROOT, "node_modules/.cache/node")
}

const TAIL = 20_000

/** Makes a process of the service, not started yet, which keeps its port through restarts. `root` has its sources. */
export const service = Effect.fnUntraced(function*(keeper: Keeper, env: Env, root = ROOT) {
  const port = env["PORT"] ?? String(yield* Effect.promise(() => freePort()))
  const origin = `http://${env["HOST"] ?? SETTINGS.HOST}:${port}`
  const ask = yield* asking(origin)
  const state: { child?: ChildProcess; tail: string } = { tail: "" }
  const spawn = Effect.sync(() => {
    state.child = keeper.spawn(NODE, [join(root, "src/main.ts")], {
      env: { PATH, ...SETTINGS, PORT: port, ...env },
      stdio: ["ignore", "pipe", "pipe"]
    })
    for (const stream of [state.child.stdout, state.child.stderr]) {
      stream?.on("data", (chunk: Buffer) => void (state.tail = `${state.tail}${chunk}`.slice(-TAIL)))
    }
  })
  const isRunning = () => state.child !== undefined && !hasEnded(state.child)
  const signal = (name: NodeJS.Signals) => Effect.sync(() => void state.child?.kill(name))
  /** Returns the code of the process once it has ended. */
  const ended = Effect.suspend(() => state.child === undefined ? Effect.void : ending(state.child)).pipe(
    Effect.map(() => state.child?.exitCode)
  )
  const kill = Effect.andThen(signal("SIGKILL"), Effect.asVoid(ended))
  /** Waits until the process is ready, a minute at most; false if it never was. */
  const ready = ask({ path: "/health/ready" }).pipe(
    Effect.timeoutOption("1 second"),
    Effect.map((reply) => reply._tag === "Some" && reply.value.status === 200),
    Effect.repeat({ until: (is) => is || !isRunning(), schedule: Schedule.spaced("50 millis"), times: 1200 })
  )
  const restart = kill.pipe(Effect.andThen(spawn), Effect.andThen(ready))
  yield* Effect.addFinalizer(() => kill)
  /** Returns the last lines that the process wrote. */
  const tail = () => state.tail
  return { origin, ask, spawn, ready, signal, ended, kill, restart, tail }
})

export type Service = Effect.Success<ReturnType<typeof service>>

/** Starts a process and waits until it is ready. */
export const serving = Effect.fnUntraced(function*(keeper: Keeper, env: Env) {
  const one = yield* service(keeper, env)
  yield* one.spawn
  if (!(yield* one.ready)) return yield* Effect.die(new Error(`The service is not ready:\n${one.tail()}`))
  return one
})

const DRAIN = "1 second"

/** Starts several processes at once on the database at an address. */
export const started = (keeper: Keeper, url: string, count: number) =>
  Effect.forEach(
    Array.from({ length: count }),
    () => serving(keeper, { DATABASE_URL: url, SHUTDOWN_DRAIN_DELAY: DRAIN }),
    { concurrency: "unbounded" }
  )
