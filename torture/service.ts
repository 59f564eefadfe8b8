import { Effect, type Scope } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { join } from "node:path"
import { freePort } from "../development/FreePort.ts"
import { NODE, PATH } from "../development/ProductionProcess.ts"
import { type Ending, endingOf, hasEnded, type Keeper } from "./keeper.ts"

/** The production program on a port that it keeps through its restarts. */
export interface Service {
  readonly origin: string
  readonly port: number
  readonly pid: () => number
  /** Starts the process and does not wait for it. */
  readonly spawn: Effect.Effect<void>
  /** Waits until it is ready, a minute at most; false if it never was. */
  readonly ready: Effect.Effect<boolean>
  readonly signal: (name: NodeJS.Signals) => Effect.Effect<void>
  readonly ended: Effect.Effect<Ending>
  readonly kill: Effect.Effect<void>
  /** The last lines that it wrote. */
  readonly tail: () => string
}

const ROOT = join(import.meta.dirname, "..")

const SETTINGS = {
  // Limits are off, which production refuses.
  NODE_ENV: "test",
  RATE_LIMITS_ENABLED: "false",
  HOST: "127.0.0.1",
  LOG_LEVEL: "warn",
  JWT_SECRET: "a secret of the torture, 32 characters!!",
  ANALYTICS_SALT: "a salt of the torture, 32 characters or more",
  PAT_PEPPER: "a pepper of the torture, 32 characters",
  GOOGLE_CLIENT_ID: "torture",
  GOOGLE_CLIENT_SECRET: "torture",
  MAX_ROUTES_PER_USER: "1000000",
  MAX_COLLECTIONS_PER_USER: "1000000",
  MAX_STORED_BYTES_PER_USER: "1 TiB",
  ROUTING_ENGINE_URL: "http://127.0.0.1:9",
  NODE_COMPILE_CACHE: join(ROOT, "node_modules/.cache/node")
}

const TAIL = 20_000

const isReady = (origin: string) =>
  Effect.promise(() =>
    fetch(`${origin}/health/ready`, { signal: AbortSignal.timeout(1000) })
      .then(async (response) => {
        await response.arrayBuffer()
        return response.ok
      })
      .catch(() => false)
  )

/** A process that has ended is waited for no longer. */
const untilReady = (origin: string, hasEnded: () => boolean, tries: number): Effect.Effect<boolean> =>
  Effect.flatMap(isReady(origin), (is) => {
    if (is || tries === 0 || hasEnded()) return Effect.succeed(is)
    return Effect.andThen(Effect.sleep("50 millis"), Effect.suspend(() => untilReady(origin, hasEnded, tries - 1)))
  })

/** Not started yet; killed when the scope closes. `root` has the sources of another version. */
export const service: (
  keeper: Keeper,
  env: Readonly<Record<string, string>>,
  root?: string
) => Effect.Effect<Service, never, Scope.Scope> = Effect.fnUntraced(function*(keeper, env, root = ROOT) {
  const port = env["PORT"] === undefined ? yield* Effect.promise(() => freePort()) : Number(env["PORT"])
  const origin = `http://${env["HOST"] ?? SETTINGS.HOST}:${port}`
  const state: { child: ChildProcess | undefined; tail: string } = { child: undefined, tail: "" }
  const start = Effect.sync(() => {
    const child = spawn(NODE, [join(root, "src/main.ts")], {
      env: { PATH, ...SETTINGS, PORT: String(port), ...env },
      stdio: ["ignore", "pipe", "pipe"]
    })
    state.child = child
    const pid = child.pid ?? 0
    keeper.add(pid)
    child.once("exit", () => keeper.remove(pid))
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => void (state.tail = `${state.tail}${chunk}`.slice(-TAIL)))
    }
  })
  const signal = (name: NodeJS.Signals) => Effect.sync(() => void state.child?.kill(name))
  const ended = Effect.promise(() =>
    state.child === undefined ? Promise.resolve({ code: null, signal: null }) : endingOf(state.child)
  )
  const kill = Effect.andThen(signal("SIGKILL"), Effect.asVoid(ended))
  yield* Effect.addFinalizer(() => kill)
  return {
    origin,
    port,
    pid: () => state.child?.pid ?? 0,
    spawn: start,
    ready: untilReady(origin, () => state.child === undefined || hasEnded(state.child), 1200),
    signal,
    ended,
    kill,
    tail: () => state.tail
  }
})

const DRAIN = "1 second"

/** Starts so many processes at once on the database at an address. */
export const started = Effect.fnUntraced(function*(
  keeper: Keeper,
  url: string,
  count: number,
  env: Readonly<Record<string, string>> = {}
) {
  const settings = { DATABASE_URL: url, SHUTDOWN_DRAIN_DELAY: DRAIN, ...env }
  const all = yield* Effect.forEach(Array.from({ length: count }), () => service(keeper, settings))
  yield* Effect.forEach(all, (one) => one.spawn)
  const ready = yield* Effect.forEach(all, (one) => one.ready, { concurrency: "unbounded" })
  return { all, areReady: ready.every((is) => is) }
})
