import { Effect, Ref, Schedule, Schema, type Scope } from "effect"
import { spawn } from "node:child_process"
import { join } from "node:path"
import { freePort } from "../../development/FreePort.ts"
import { NODE, PATH } from "../../development/ProductionProcess.ts"
import { COMPILE_CACHE } from "./CompileCache.ts"
import { SECRETS, serverAt, type TestServer } from "./TestServer.ts"

/** `milliseconds` passed between the signal and the end. */
interface Ending {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly milliseconds: number
}

/** The production program runs in a separate process. */
export interface Replica {
  readonly server: TestServer["Service"]
  readonly pid: number
  /** Returns everything that the process wrote so far. */
  readonly output: () => string
  readonly tell: (signal: NodeJS.Signals) => Effect.Effect<void>
  /** Waits for the end of the process. */
  readonly ended: Effect.Effect<Ending>
  /** Waits until the process is ready. Dies with its output if it ends before. */
  readonly ready: Effect.Effect<void>
}

const ROOT = join(import.meta.dirname, "../..")

const MAIN = join(ROOT, "src/main.ts")

const PRODUCTION = {
  ...SECRETS,
  NODE_ENV: "production",
  HOST: "127.0.0.1",
  GOOGLE_CLIENT_ID: "id",
  GOOGLE_CLIENT_SECRET: "secret",
  ROUTING_ENGINE_URL: "http://127.0.0.1:9"
}

/** `npm run dev` starts this program; here it does not make its secrets and its database. */
export const DEVELOPMENT = join(ROOT, "development/dev.ts")

const start = (env: Readonly<Record<string, string>>, port: number, program: string) => {
  const child = spawn(NODE, [program], {
    env: { PATH, ...COMPILE_CACHE, ...PRODUCTION, PORT: String(port), ...env },
    stdio: ["ignore", "pipe", "pipe"]
  })
  const chunks: Array<string> = []
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => chunks.push(String(chunk)))
  const ended = new Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null; at: number }>(
    (resolve) => child.once("close", (code, signal) => resolve({ code, signal, at: performance.now() }))
  )
  return { child, chunks, ended }
}

const isReady = (origin: string) =>
  Effect.tryPromise(() =>
    fetch(`${origin}/health/ready`).then(({ ok }) => ok ? undefined : Promise.reject(new Error("not ready")))
  )

/** Starts a program on a port, by default the production one on a free one. Kills it when the scope closes. */
export const replica: (
  env: Readonly<Record<string, string>>,
  port?: number,
  program?: string
) => Effect.Effect<Replica, never, Scope.Scope> = Effect.fnUntraced(function*(env, wanted, program = MAIN) {
  const port = wanted ?? (yield* Effect.promise(() => freePort()))
  const { child, chunks, ended } = yield* Effect.acquireRelease(
    Effect.sync(() => start(env, port, program)),
    ({ child, ended }) =>
      Effect.promise(() => {
        child.kill("SIGKILL")
        return ended
      })
  )
  const toldAt = yield* Ref.make(performance.now())
  const origin = `http://127.0.0.1:${port}`
  return {
    server: serverAt(origin),
    pid: child.pid ?? 0,
    output: () => chunks.join(""),
    tell: (signal) => Effect.andThen(Ref.set(toldAt, performance.now()), Effect.sync(() => void child.kill(signal))),
    ended: Effect.gen(function*() {
      const { at, code, signal } = yield* Effect.promise(() => ended)
      return { code, signal, milliseconds: at - (yield* Ref.get(toldAt)) }
    }),
    ready: isReady(origin).pipe(
      Effect.retry(Schedule.spaced("50 millis")),
      Effect.raceFirst(Effect.flatMap(Effect.promise(() => ended), () => Effect.die(new Error(chunks.join(""))))),
      Effect.orDie
    )
  }
})

const LogLine = Schema.fromJsonString(
  Schema.Struct({
    level: Schema.String,
    message: Schema.String,
    annotations: Schema.Record(Schema.String, Schema.Json),
    cause: Schema.optionalKey(Schema.String)
  })
)

/** Returns the lines of JSON of some levels that a process has logged. */
export const logged = ({ output }: Replica, ...levels: ReadonlyArray<string>) =>
  output().split("\n").filter((line) => line.startsWith("{")).map((line) => Schema.decodeSync(LogLine)(line)).filter(
    ({ level }) => levels.includes(level)
  )
