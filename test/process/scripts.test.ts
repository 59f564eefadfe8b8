import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { readFile } from "node:fs/promises"
import { createConnection } from "node:net"
import { join } from "node:path"
import { freePort } from "../../development/FreePort.ts"
import { newEmail } from "../support/Actors.ts"
import { COMPILE_CACHE } from "../support/CompileCache.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"
import { SECRETS, serverAt } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const ROOT = join(import.meta.dirname, "../..")

const ended = (child: ChildProcess) =>
  Effect.promise(() =>
    new Promise<void>((resolve) => child.exitCode === null ? void child.once("exit", () => resolve()) : resolve())
  )

/** Runs a script of npm that listens on a port of its own. */
const started = Effect.fnUntraced(function*(script: string, env: Readonly<Record<string, string>>) {
  const port = yield* Effect.promise(() => freePort())
  const { PATH = "" } = process.env
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn("npm", ["run", script], {
        cwd: ROOT,
        stdio: ["ignore", "pipe", "ignore"],
        env: {
          PATH,
          ...COMPILE_CACHE,
          ...SECRETS,
          HOST: "127.0.0.1",
          PORT: String(port),
          GOOGLE_CLIENT_ID: "id",
          GOOGLE_CLIENT_SECRET: "secret",
          SHUTDOWN_DRAIN_DELAY: "100 millis",
          ...env
        }
      })
    ),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )
  const chunks: Array<string> = []
  child.stdout.on("data", (chunk: Buffer) => chunks.push(String(chunk)))
  const ready = `http://127.0.0.1:${port}/health/ready`
  yield* until(Effect.promise(() => fetch(ready).then(({ ok }) => ok, () => false)))
  return { child, port, output: () => chunks.join("") }
})

const MailLine = Schema.fromJsonString(Schema.Struct({
  message: Schema.Literal("mail"),
  to: Schema.String,
  subject: Schema.String,
  link: Schema.String,
  traceId: Schema.String.check(Schema.isPattern(/^[0-9a-f]{32}$/)),
  spanId: Schema.String.check(Schema.isPattern(/^[0-9a-f]{16}$/))
}))

/** Tells whether something listens on a port. */
const listens = (port: number) =>
  Effect.callback<boolean>((resume) => {
    const socket = createConnection(port, "127.0.0.1")
    socket.once("connect", () => resume(Effect.succeed(true))).once("error", () => resume(Effect.succeed(false)))
    return Effect.sync(() => socket.destroy())
  })

const released = (port: number) => until(Effect.map(listens(port), (isTaken) => !isTaken))

layer(Layer.empty, { excludeTestServices: true })("a script of npm", (it) => {
  it.effect("ends when npm gets SIGTERM", () =>
    Effect.gen(function*() {
      const { child, port } = yield* started("start", { DATABASE_URL: yield* clonedDatabase })
      yield* Effect.sync(() => child.kill("SIGTERM"))
      yield* ended(child)
      yield* released(port)
    }))

  it.effect(
    "for development writes mails to its log and its mailbox, and ends with its PostgreSQL when npm gets SIGTERM",
    () =>
      Effect.gen(function*() {
        const directory = yield* temporaryDirectory
        const { child, output, port } = yield* started("dev", { DATA_DIR: directory, LOG_FORMAT: "json" })
        const { call } = serverAt(`http://127.0.0.1:${port}`)
        const email = newEmail()
        const signUp = yield* call("POST", "/auth/signup-email", {
          body: { email, password: "a long enough password" }
        })
        assert.strictEqual(signUp.status, 201)
        const mailed = () => output().split("\n").slice(0, -1).find((line) => line.includes(`"to":"${email}"`))
        yield* until(Effect.sync(() => mailed() !== undefined))
        const { link, subject } = yield* Schema.decodeEffect(MailLine)(mailed() ?? "")
        assert.strictEqual(subject, "Verify your email address")
        const token = new URL(link).searchParams.get("token")
        assert.strictEqual((yield* call("POST", "/auth/verify-email", { body: { token } })).status, 200)
        const mailbox = Effect.promise(() => readFile(join(directory, "mailbox.log"), "utf8").catch(() => ""))
        yield* until(Effect.map(mailbox, (text) => text === `mail to ${email}: ${subject} ${link}\n`))

        const state = yield* Effect.promise(() => readFile(join(directory, "postgres/postmaster.pid"), "utf8"))
        const [, , , postgresPort] = state.split("\n")
        yield* Effect.sync(() => child.kill("SIGTERM"))
        yield* ended(child)
        yield* released(port)
        yield* released(Number(postgresPort))
      })
  )

  it.effect("ends when its output is closed", () =>
    Effect.gen(function*() {
      const { child, port } = yield* started("start", { DATABASE_URL: yield* clonedDatabase })
      yield* Effect.sync(() => child.stdout.destroy())
      // Its log line finds that nobody reads it.
      yield* Effect.promise(() => fetch(`http://127.0.0.1:${port}/api/v1/routes/public`))
      yield* ended(child)
      yield* released(port)
    }))
})
