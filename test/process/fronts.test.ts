import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { freePort } from "../../development/FreePort.ts"
import { DatabaseProxy } from "../support/DatabaseProxy.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"
import { TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const DEPLOY = join(import.meta.dirname, "../../deploy/ha")

const hasFronts = ["haproxy", "nginx", "envsubst"].every((name) => spawnSync(name, ["-v"]).error === undefined)

const NGINX = `
error_log stderr;
pid nginx.pid;
events {}
http {
  access_log off;
  client_body_temp_path client; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  include nginx.conf;
}`

/** Starts both fronts before one port, which stands for both processes, and keeps what they have written. */
const fronts = Effect.fnUntraced(function*(port: number) {
  const directory = yield* temporaryDirectory
  const here = `127.${process.pid % 250 + 1}.${Math.floor(process.pid / 250) % 250}.1`
  const file = join(directory, "machine.env")
  writeFileSync(file, `HERE=${here}\nONE=127.0.0.1\nTWO=127.0.0.1\nTHREE=127.0.0.1\n`)
  assert.strictEqual(spawnSync("sh", [join(DEPLOY, "render.sh"), file, directory]).status, 0)
  for (const name of ["haproxy.cfg", "nginx.conf"].map((name) => join(directory, name))) {
    writeFileSync(name, readFileSync(name, "utf8").replaceAll(":3000", `:${port}`))
  }
  writeFileSync(join(directory, "front.conf"), NGINX)
  const lines: Array<string> = []
  const start = (name: string, ...args: ReadonlyArray<string>) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const child = spawn(name, args, { cwd: directory, stdio: ["ignore", "ignore", "pipe"] })
        child.stderr.on("data", (chunk: Buffer) => lines.push(String(chunk)))
        return child
      }),
      (child) =>
        Effect.promise(() => {
          const ended = new Promise<void>((resolve) => child.once("close", () => resolve()))
          child.kill("SIGTERM")
          return ended
        })
    )
  yield* start("haproxy", "-db", "-f", "haproxy.cfg")
  yield* start("nginx", "-p", `${directory}/`, "-c", "front.conf", "-g", "daemon off;")
  const origins = [8080, 8081].map((front) => `http://${here}:${front}`)
  for (const origin of origins) yield* until(Effect.map(Effect.exit(asked(origin)), Exit.isSuccess))
  return { origins, written: () => lines.join("") }
})

/** `serverAt` would not do, since it accepts the documented headers only: nginx adds `Server`. */
const asked = (url: string, init?: RequestInit) =>
  Effect.tryPromise(async () => {
    const response = await fetch(url, init)
    return { response, body: await response.text() }
  })

const Refusal = Schema.fromJsonString(
  Schema.Struct({ statusCode: Schema.Literal(503), code: Schema.Literal("INTERNAL"), message: Schema.String })
)

const LOGIN = {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ email: "a@example.com", password: "a password" })
}

/** Sends a read, which a front may send to the other process, and a write, which it may not. */
const refused = Effect.fnUntraced(function*(origins: ReadonlyArray<string>, message: string) {
  for (const origin of origins) {
    for (const [path, init] of [["routes/public", undefined], ["auth/login-email", LOGIN]] as const) {
      const { body, response } = yield* asked(`${origin}/api/v1/${path}`, init)
      assert.strictEqual(response.status, 503)
      assert.match(response.headers.get("retry-after") ?? "", /^\d+$/)
      assert.strictEqual(Schema.decodeSync(Refusal)(body).message, message)
    }
  }
})

describe.skipIf(!hasFronts)("HAProxy and nginx of deploy/ha (skipped without haproxy, nginx and envsubst)", () => {
  it.live("say in the shape of the service that no process runs, with Retry-After", () =>
    Effect.gen(function*() {
      const { origins } = yield* fronts(yield* Effect.promise(() => freePort()))
      yield* refused(origins, "The service is not reachable")
    }).pipe(Effect.scoped), 60_000)

  it.live("pass on the service's own 503 with its Retry-After while no process is ready", () =>
    Effect.gen(function*() {
      const database = yield* DatabaseProxy
      const { origins, written } = yield* fronts(Number(new URL((yield* TestServer).origin).port))
      for (const origin of origins) {
        assert.strictEqual((yield* asked(`${origin}/api/v1/routes/public`)).response.status, 200)
      }
      yield* database.refuse
      // They do so too while HAProxy excludes one after the other, and after both.
      yield* Effect.repeat(refused(origins, "The database is not reachable"), {
        until: () => ["one", "two"].every((name) => written().includes(`Server routes/${name} is DOWN`))
      })
      yield* Effect.replicateEffect(refused(origins, "The database is not reachable"), 3)
    }).pipe(Effect.scoped, Effect.provide(TestServer.behindProxy)), 120_000)
})
