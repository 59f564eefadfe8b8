import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { createServer, type IncomingMessage, request as httpRequest } from "node:http"
import { request as httpsRequest } from "node:https"
import { join } from "node:path"
import { freePort } from "../../development/FreePort.ts"
import { ACCOUNT_PAGES } from "../../src/http/request/RouteTemplates.ts"
import { hostingFiles } from "../../tools/setupFiles.ts"
import { DatabaseProxy } from "../support/DatabaseProxy.ts"
import { listening } from "../support/Listening.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"
import { TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const DEPLOY = join(import.meta.dirname, "../../deploy/ha")

const areThere = (...names: ReadonlyArray<string>) => names.every((name) => spawnSync(name, ["-v"]).error === undefined)

const hasFronts = areThere("haproxy", "nginx", "envsubst")

const hasHosting = areThere("nginx", "openssl")

/** Tests run beside each other, with an address each. */
const HERE = `127.${process.pid % 250 + 1}.${Math.floor(process.pid / 250) % 250}.1`

const NGINX = `
error_log stderr;
pid nginx.pid;
events {}
http {
  access_log access.log;
  client_body_temp_path client; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  include nginx.conf;
}`

const makeStart = (directory: string) => {
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
  const startNginx = Effect.suspend(() => {
    writeFileSync(join(directory, "front.conf"), NGINX)
    return start("nginx", "-p", `${directory}/`, "-c", "front.conf", "-g", "daemon off;")
  })
  const written = () => lines.join("")
  const logged = () => written() + readFileSync(join(directory, "access.log"), "utf8")
  return { start, startNginx, written, logged }
}

/** Starts both fronts before one port, which stands for both processes, and keeps what they have written. */
const fronts = Effect.fnUntraced(function*(port: number) {
  const directory = yield* temporaryDirectory
  const file = join(directory, "machine.env")
  writeFileSync(file, `HERE=${HERE}\nONE=127.0.0.1\nTWO=127.0.0.1\nTHREE=127.0.0.1\n`)
  assert.strictEqual(spawnSync("sh", [join(DEPLOY, "render.sh"), file, directory]).status, 0)
  for (const name of ["haproxy.cfg", "nginx.conf"].map((name) => join(directory, name))) {
    writeFileSync(name, readFileSync(name, "utf8").replaceAll(":3000", `:${port}`))
  }
  const { logged, start, startNginx, written } = makeStart(directory)
  yield* start("haproxy", "-db", "-f", "haproxy.cfg")
  yield* startNginx
  const origins = [8080, 8081].map((front) => `http://${HERE}:${front}`)
  for (const origin of origins) yield* until(Effect.map(Effect.exit(asked(origin)), Exit.isSuccess))
  return { origins, written, logged }
})

/** Starts nginx as `npm run setup` writes it, before two processes, for which one port may stand. */
const hostingFront = Effect.fnUntraced(function*(port: number, other = port) {
  const directory = yield* temporaryDirectory
  const [certificate, key] = ["fullchain.pem", "privkey.pem"].map((name) => join(directory, name))
  const openssl =
    `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=front -addext subjectAltName=IP:${HERE}`
  assert.strictEqual(
    spawnSync("openssl", [...openssl.split(" "), "-keyout", `${key}`, "-out", `${certificate}`]).status,
    0
  )
  const files = yield* hostingFiles({
    address: new URL(`https://${HERE}`),
    admin: "ada@example.com",
    mail: "none",
    database: "postgres://elsewhere/service",
    signUp: "closed",
    processes: 2,
    days: 14
  }, directory)
  const site = files.find(({ path }) => path.includes("nginx"))?.text ?? ""
  const here = site
    .replaceAll("127.0.0.1:3000", `127.0.0.1:${port}`)
    .replaceAll("127.0.0.1:3001", `127.0.0.1:${other}`)
    .replaceAll("/etc/ssl/route-planning-service", directory)
    .replaceAll(/^ *listen \[::\].*\n/gm, "")
    .replace("listen 80;", `listen ${HERE}:8082;`)
    .replace("listen 443 ", `listen ${HERE}:8443 `)
  writeFileSync(join(directory, "nginx.conf"), here)
  const { logged, startNginx } = makeStart(directory)
  yield* startNginx
  const front = { origin: `https://${HERE}:8443`, ca: readFileSync(`${certificate}`), logged }
  yield* until(Effect.map(Effect.exit(Effect.scoped(sent(front, "/", 0))), Exit.isSuccess))
  return front
})

/** `serverAt` would not do, since it accepts the documented headers only: nginx adds `Server`. */
const asked = (url: string, init?: RequestInit) =>
  Effect.tryPromise(async () => {
    const response = await fetch(url, init)
    return { response, body: await response.text() }
  })

interface FrontAt {
  readonly origin: string
  readonly ca?: Buffer
}

const MIB = 1024 * 1024

/**
 * Starts a server that responds with a line, the bytes of the request, and ends the response unless its query is `open`.
 * Returns its port and how many bytes have arrived.
 */
const counting = Effect.gen(function*() {
  const state = { arrived: 0 }
  const server = createServer((request, response) => {
    let bytes = 0
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length
      state.arrived += chunk.length
    }).on("end", () => {
      response.write(`${bytes}\n`)
      if (!request.url?.endsWith("?open")) response.end()
    })
  })
  return { port: yield* listening(server), arrived: () => state.arrived }
})

/** Begins a request that declares `bytes`. Its `response` is there before its body has ended. */
const begun = ({ ca, origin }: FrontAt, path: string, bytes: number, method = "POST") =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const send = ca === undefined ? httpRequest : httpsRequest
      const request = send(`${origin}${path}`, {
        method,
        ca,
        agent: false,
        headers: { "content-length": bytes }
      })
      const response = new Promise<IncomingMessage>((resolve, reject) =>
        request.on("response", resolve).on("error", reject)
      )
      response.catch(() => undefined)
      return { request, response: Effect.tryPromise(() => response) }
    }),
    ({ request }) => Effect.sync(() => request.destroy())
  )

/** Returns the status of a response and the first part of its body, which may go on. */
const sent = Effect.fnUntraced(function*(front: FrontAt, path: string, bytes: number, method?: string) {
  const { request, response } = yield* begun(front, path, bytes, method)
  request.end(Buffer.alloc(bytes))
  const message = yield* response
  const first = yield* Effect.promise(() => new Promise((resolve) => message.once("data", resolve)))
  return { status: message.statusCode, first: String(first) }
})

/** Asserts that a front passes on what has arrived of a body before the rest is sent. */
const assertPassedOn = Effect.fnUntraced(function*(front: FrontAt, path: string, arrived: () => number) {
  const before = arrived()
  const { request, response } = yield* begun(front, path, 2 * MIB)
  request.write(Buffer.alloc(MIB))
  yield* until(Effect.sync(() => arrived() > before))
  request.end(Buffer.alloc(MIB))
  assert.strictEqual((yield* response).statusCode, 200)
})

const ARCHIVE_PATHS = ["/api/v1/users/me/import", ACCOUNT_PAGES.data]

const FILE_PATHS = ["/api/v1/routes/import", ACCOUNT_PAGES.routes]

const Refusal = Schema.fromJsonString(
  Schema.Struct({ statusCode: Schema.Literal(503), code: Schema.Literal("INTERNAL"), message: Schema.String })
)

const SECRET = "/reset-password?token=secret"

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
  it.live(
    "say in the shape of the service that no process runs, with Retry-After, and log no request",
    () =>
      Effect.gen(function*() {
        const { logged, origins } = yield* fronts(yield* Effect.promise(() => freePort()))
        yield* refused(origins, "The service is not reachable")
        for (const origin of origins) yield* asked(`${origin}${SECRET}`)
        assert.notInclude(logged(), SECRET)
      }).pipe(Effect.scoped)
  )

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
    }).pipe(Effect.scoped, Effect.provide(TestServer.behindProxy)))

  it.live("remove the trace of a client, since the service continues that of a proxy", () =>
    Effect.gen(function*() {
      const server = createServer(({ headers }, response) =>
        void response.end(`${headers["x-forwarded-for"]} ${headers["traceparent"]}`)
      )
      const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-01"
      for (const origin of (yield* fronts(yield* listening(server))).origins) {
        assert.match((yield* asked(origin, { headers: { traceparent } })).body, /^127[.\d]+ undefined$/)
      }
    }).pipe(Effect.scoped))

  it.live("pass on long bodies and responses of imports as they arrive", () =>
    Effect.gen(function*() {
      const { arrived, port } = yield* counting
      for (const origin of (yield* fronts(port)).origins) {
        for (const path of [...ARCHIVE_PATHS, ...FILE_PATHS]) {
          yield* assertPassedOn({ origin }, path, arrived)
          assert.deepStrictEqual(yield* sent({ origin }, path, 40 * MIB), { status: 200, first: `${40 * MIB}\n` })
        }
        for (const path of ARCHIVE_PATHS) assert.strictEqual((yield* sent({ origin }, `${path}?open`, 1)).first, "1\n")
      }
    }).pipe(Effect.scoped))
})

describe.skipIf(!hasHosting)("nginx of deploy/hosting (skipped without nginx and openssl)", () => {
  it.live("lets bodies through that the service takes, and no longer ones", () =>
    Effect.gen(function*() {
      const front = yield* hostingFront((yield* counting).port)
      for (const path of ARCHIVE_PATHS) {
        assert.deepStrictEqual(yield* sent(front, path, 40 * MIB), { status: 200, first: `${40 * MIB}\n` })
      }
      for (const path of FILE_PATHS) {
        assert.deepStrictEqual(yield* sent(front, path, 20 * MIB), { status: 200, first: `${20 * MIB}\n` })
        assert.strictEqual((yield* sent(front, path, 34 * MIB)).status, 413)
      }
      for (const path of ["/api/v1/routes", "/me/profile", "/me/data/more"]) {
        assert.strictEqual((yield* sent(front, path, 8 * MIB)).status, 200)
        assert.strictEqual((yield* sent(front, path, 10 * MIB)).status, 413)
      }
    }).pipe(Effect.scoped))

  it.live("passes an archive on as it arrives, and the lines of the response", () =>
    Effect.gen(function*() {
      const { arrived, port } = yield* counting
      const front = yield* hostingFront(port)
      for (const path of ARCHIVE_PATHS) {
        yield* assertPassedOn(front, path, arrived)
        assert.strictEqual((yield* sent(front, `${path}?open`, 1)).first, "1\n")
      }
    }).pipe(Effect.scoped))

  it.live(
    "sends a read to the other process while one starts, and passes the last 503 on as it is",
    () =>
      Effect.gen(function*() {
        const state = { status: 200 }
        const one = createServer((_, response) => void response.writeHead(state.status).end("one"))
        const two = createServer((_, response) => void response.writeHead(503).end("two"))
        const front = yield* hostingFront(yield* listening(one), yield* listening(two))
        const reads = Effect.replicateEffect(sent(front, "/api/v1/routes/public", 0, "GET"), 50)
        for (const read of yield* reads) assert.deepStrictEqual(read, { status: 200, first: "one" })
        state.status = 503
        for (const { first, status } of yield* reads) {
          assert.strictEqual(status, 503)
          assert.match(first, /^(one|two)$/)
        }
      }).pipe(Effect.scoped)
  )

  it.live("passes the links of a long search on", () =>
    Effect.gen(function*() {
      const backend = createServer((_, response) =>
        void response.writeHead(200, { link: "x".repeat(12_000) }).end("one")
      )
      const front = yield* hostingFront(yield* listening(backend))
      assert.deepStrictEqual(yield* sent(front, "/api/v1/routes", 0, "GET"), { status: 200, first: "one" })
    }).pipe(Effect.scoped))

  it.live("says in the shape of the service that no process runs, and logs no request", () =>
    Effect.gen(function*() {
      const front = yield* hostingFront(yield* Effect.promise(() => freePort()))
      const { first, status } = yield* sent(front, "/api/v1/routes", 1)
      assert.strictEqual(status, 503)
      assert.strictEqual(Schema.decodeSync(Refusal)(first).message, "The service is not reachable")
      yield* sent(front, SECRET, 0)
      yield* sent({ origin: `http://${HERE}:8082` }, SECRET, 0)
      assert.notInclude(front.logged(), SECRET)
    }).pipe(Effect.scoped))
})
