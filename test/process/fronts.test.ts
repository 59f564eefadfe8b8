import { assert, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { databaseProxy } from "../support/DatabaseProxy.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { replica } from "../support/Replica.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"
import { type Answer, serverAt } from "../support/TestServer.ts"
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

/** Both fronts of deploy/ha before two addresses; returns what HAProxy has written. */
const fronts = Effect.fnUntraced(function*(one: string, two: string) {
  const directory = yield* temporaryDirectory
  const settings = { HERE: one, ONE: one, TWO: two, THREE: two }
  const file = join(directory, "machine.env")
  writeFileSync(file, Object.entries(settings).map(([key, value]) => `${key}=${value}\n`).join(""))
  assert.strictEqual(spawnSync("sh", [join(DEPLOY, "render.sh"), file, directory]).status, 0)
  writeFileSync(join(directory, "front.conf"), NGINX)
  const lines: Array<string> = []
  const start = (name: string, ...args: ReadonlyArray<string>) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const child = spawn(name, args, { cwd: directory, stdio: ["ignore", "ignore", "pipe"] })
        child.stderr.on("data", (chunk: Buffer) => lines.push(String(chunk)))
        return child
      }),
      (child) => Effect.sync(() => child.kill("SIGTERM"))
    )
  yield* start("haproxy", "-db", "-f", "haproxy.cfg")
  yield* start("nginx", "-p", `${directory}/`, "-c", "front.conf", "-g", "daemon off;")
  return () => lines.join("")
})

/** As every 503 of the service. */
const isPassedOn = ({ body, headers, status }: Answer) => {
  assert.deepStrictEqual([status, headers.get("retry-after")], [503, "1"])
  assert.deepInclude(body, { statusCode: 503, code: "INTERNAL" })
}

it.live.skipIf(!hasFronts)(
  "the fronts of deploy/ha pass on what processes say that are not ready, and say it where none runs (skipped without HAProxy, nginx and envsubst)",
  () =>
    Effect.gen(function*() {
      const network = `127.${process.pid % 250 + 1}.${Math.floor(process.pid / 250) % 250}`
      const [one, two] = [`${network}.1`, `${network}.2`]
      const { proxy, url } = yield* databaseProxy(yield* clonedDatabase)
      const processes = yield* Effect.forEach([one, two], (HOST) => replica({ DATABASE_URL: url, HOST }, 3000))
      const written = yield* fronts(one, two)
      const isUp = (origin: string) =>
        until(Effect.map(
          Effect.exit(serverAt(origin).call("GET", "//health/ready")),
          (exit) => Exit.isSuccess(exit) && exit.value.status === 200
        ))
      yield* Effect.forEach([one, two], (host) => isUp(`http://${host}:3000`))
      const addresses = [`http://${one}:8080`, `http://${one}:8081`]
      yield* Effect.forEach(addresses, isUp)
      yield* Effect.promise(() => proxy.set("refuse"))
      const ask = Effect.gen(function*() {
        for (const { call } of addresses.map((origin) => serverAt(origin))) {
          isPassedOn(yield* call("GET", "/routes/public"))
          isPassedOn(yield* call("POST", "/auth/login-email", { body: { email: "a@example.com", password: "a password" } }))
        }
      })
      // While HAProxy excludes one after the other, and after both.
      yield* Effect.repeat(ask, {
        until: () => ["one", "two"].every((name) => written().includes(`Server routes/${name} is DOWN`))
      })
      yield* Effect.replicateEffect(ask, 10)
      yield* Effect.promise(() => proxy.set("pass"))
      yield* Effect.forEach(addresses, isUp)
      for (const { ended, tell } of processes) yield* Effect.andThen(tell("SIGKILL"), ended)
      yield* ask
    }).pipe(Effect.scoped),
  300_000
)
