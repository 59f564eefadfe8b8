import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { readdirSync, readlinkSync } from "node:fs"
import { get, type IncomingMessage } from "node:http"
import { connect, type Socket } from "node:net"
import { buffer } from "node:stream/consumers"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { ROUTE_BODY_LIMIT } from "../../src/http/api/Requests.ts"
import { LargeResponseLimits } from "../../src/http/middleware/LargeResponses.ts"
import { BodyAllowance } from "../../src/http/request/BodyArrival.ts"
import { DownloadLimits } from "../../src/http/response/Downloads.ts"
import { LowestReadRate, SocketTimeouts } from "../../src/layers/SocketTimeouts.ts"
import { anonymous, signedIn } from "../support/Actors.ts"
import { unzipped } from "../support/Archives.ts"
import { longRoute } from "../support/LongRoute.ts"
import { leastCostOf, positionsOf, workBoundBy } from "../support/ProcessorTime.ts"
import { requestHead, sendRaw } from "../support/RawHttp.ts"
import { created, newRoute } from "../support/Routes.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const MIB = 1024 * 1024

const LOGIN = "/api/v1/auth/login-email"

const statusOf = (text: string) => Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1])

const sampled = (name: string, labels = "") =>
  Effect.map(
    Effect.flatMap(anonymous, (visitor) => visitor.get("//metrics")),
    ({ text }) => {
      const line = text.split("\n").find((line) => line.startsWith(`${name}${labels} `))
      return line === undefined ? 0 : Number(line.split(" ").at(-1))
    }
  )

const countOf = (method: string, route: string, status: number) =>
  sampled(
    "http_server_request_duration_seconds_count",
    `{method="${method}",route="${route}",status="${status}"}`
  )

/** A connection, and all that it has got so far. */
interface Connection {
  readonly socket: Socket
  readonly received: () => string
  readonly closed: Effect.Effect<void>
}

const connection: Effect.Effect<Connection, never, TestServer | Scope.Scope> = Effect.gen(function*() {
  const { origin } = yield* TestServer
  const chunks: Array<Buffer> = []
  const closed = Promise.withResolvers<void>()
  const socket = yield* Effect.acquireRelease(
    Effect.callback<Socket>((resume) => {
      const socket = connect(Number(new URL(origin).port), "127.0.0.1", () => resume(Effect.succeed(socket)))
      socket.on("data", (chunk) => chunks.push(chunk)).on("error", () => undefined).on("close", () => closed.resolve())
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )
  return {
    socket,
    received: () => Buffer.concat(chunks).toString(),
    closed: Effect.promise(() => closed.promise)
  }
})

const login = (size: number) => `{"email":"a@example.com","password":"x","filler":"${"x".repeat(size)}"}`

/** A request whose body the service has begun to read and has not got. */
const bodyAwaited = Effect.fnUntraced(function*(
  line: string,
  length: number,
  headers: Readonly<Record<string, string>>
) {
  const { received, socket, ...rest } = yield* connection
  socket.write(requestHead(line, { ...headers, "Content-Length": String(length), "Expect": "100-continue" }))
  yield* until(Effect.sync(() => received().startsWith("HTTP/1.1 100 ")))
  return {
    ...rest,
    socket,
    response: () => {
      const [, ...parts] = received().split("\r\n\r\n")
      return parts.join("\r\n\r\n")
    }
  }
})

const JSON_TYPE = { "Content-Type": "application/json" }

layer(TestServer.layer())("a body that takes its time", (it) => {
  const GPX = `<gpx version="1.1"><rte><name>slow</name><rtept lat="47" lon="9"/><rtept lat="48" lon="9"/></rte></gpx>`

  it.effect("is served when it has arrived, whatever the deadline of the response", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const cases = [
        [`POST ${LOGIN}`, login(0), JSON_TYPE, 401],
        ["POST /api/v1/routes/import", GPX, { "Content-Type": "application/gpx+xml", "Cookie": rider.cookie }, 201]
      ] as const
      for (const [line, body, headers, status] of cases) {
        const { closed, response, socket } = yield* bodyAwaited(line, body.length, headers)
        yield* TestClock.adjust("29 seconds")
        socket.write(body)
        yield* closed
        assert.strictEqual(statusOf(response()), status, response())
      }
    }))

  it.effect("costs at most ten times JSON.parse of as much, in however many pieces a file of 8 MiB arrives", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const [head, tail] = [`<gpx version="1.1"><name>`, `</name></gpx>`]
      const entities = "&amp;".repeat((ROUTE_BODY_LIMIT - head.length - tail.length) / 5)
      const body = Buffer.from(head + entities + tail)
      const headers = { "Content-Type": "application/gpx+xml", "Cookie": rider.cookie }
      const sendSlowly = Effect.gen(function*() {
        const { closed, response, socket } = yield* bodyAwaited("POST /api/v1/routes/import", body.length, headers)
        for (let start = 0; start < body.length; start += MIB / 8) {
          yield* Effect.callback<void>((resume) =>
            void socket.write(body.subarray(start, start + MIB / 8), () => resume(Effect.void))
          )
          yield* TestClock.adjust("400 millis")
        }
        yield* closed
        return statusOf(response())
      }).pipe(Effect.scoped)
      const bound = workBoundBy(positionsOf(body.length))
      const { inAll, value } = yield* leastCostOf(sendSlowly, bound)
      assert.strictEqual(value, 400)
      assert.isBelow(inAll, bound)
    }))

  it.effect("is refused with 408 after 30 seconds", () =>
    Effect.gen(function*() {
      const { closed, response } = yield* bodyAwaited(`POST ${LOGIN}`, 100, JSON_TYPE)
      yield* TestClock.adjust("29 seconds")
      assert.strictEqual(response(), "")
      yield* TestClock.adjust("2 seconds")
      yield* closed
      assert.strictEqual(statusOf(response()), 408)
      assert.strictEqual(yield* countOf("POST", LOGIN, 408), 1)
    }))
})

const ALLOWANCE = { grace: Duration.millis(300), bytesPerSecond: 64 * 1024 }

layer(
  TestServer.layer().pipe(
    Layer.provide(Layer.succeed(BodyAllowance, ALLOWANCE)),
    Layer.provide(Layer.succeed(SocketTimeouts, { headers: 5000, stalled: 300, idle: 60_000 }))
  ),
  { excludeTestServices: true }
)("a body that comes too slowly", (it) => {
  it.effect("is refused with 408 in the one shape, and is no fault of the service", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const rider = yield* signedIn
      const cookie = { Cookie: rider.cookie }
      const cases = [
        [LOGIN, JSON_TYPE],
        ["/api/v1/routes", { ...JSON_TYPE, ...cookie }],
        ["/api/v1/routes/import", { ...cookie, "Content-Type": "application/gpx+xml" }],
        ["/api/v1/users/me/import", { ...cookie, "Content-Type": "application/zip" }]
      ] as const
      for (const [path, headers] of cases) {
        const answer = yield* sendRaw(
          origin,
          requestHead(`POST ${path}`, { ...headers, "Content-Length": "1000" }),
          "{"
        )
        assert.strictEqual(answer.status, 408, path)
        assert.include(
          answer.body,
          `{"statusCode":408,"code":"VALIDATION_FAILED","message":"The body did not arrive`,
          path
        )
        for (
          const header of [/^connection: close$/im, /^x-content-type-options: nosniff$/im, /^content-type: .*json/im]
        ) {
          assert.match(answer.head, header, path)
        }
        assert.strictEqual(yield* countOf("POST", path, 408), 1, path)
      }
      assert.strictEqual(yield* countOf("POST", LOGIN, 503), 0)
    }))

  it.effect("has as much more time as its bytes take at the lowest rate", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const head = requestHead(`POST ${LOGIN}`, { ...JSON_TYPE, "Content-Length": String(48 * 1024) })
      const { milliseconds, status } = yield* sendRaw(origin, head, login(32 * 1024))
      assert.strictEqual(status, 408)
      assert.isAtLeast(milliseconds, 750)
    }))

  it.effect("and that nobody reads ends with its connection", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const head = requestHead("POST /api/v1/nothing", { "Content-Length": "1000" }).replace(
        "Connection: close\r\n",
        ""
      )
      assert.strictEqual((yield* sendRaw(origin, head, "{")).status, 404)
    }))
})

/** A request of which the response is not read until somebody reads it. */
const unread = Effect.fnUntraced(
  function*(path: string, address: string, others: Readonly<Record<string, string>> = {}) {
    const { origin } = yield* TestServer
    return yield* Effect.acquireRelease(
      Effect.callback<IncomingMessage>((resume) => {
        const headers = { "x-forwarded-for": address, ...others }
        get(`${origin}/api/v1${path}`, { headers, agent: false }, (response) => {
          response.on("error", () => undefined)
          resume(Effect.succeed(response))
        })
      }),
      (response) => Effect.sync(() => response.destroy())
    )
  }
)

const read = (response: IncomingMessage) =>
  Effect.promise(() => buffer(response).then((bytes) => bytes, () => undefined))

const from = (address: string, path: string) =>
  Effect.flatMap(TestServer, ({ call }) => call("GET", path, { headers: { "x-forwarded-for": address } }))

const refusalOf = ({ body, headers, status }: Answer) => {
  assert.deepInclude(body, { statusCode: status })
  return [status, headers.get("retry-after")]
}

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")

/** Each collection takes some 100 ms of the processor that the work needs whose end is awaited. */
const BETWEEN_COLLECTIONS = Duration.millis(500)

/**
 * What the process holds, without what it would give back. Each connection of the database keeps a buffer as long as the
 * longest row that it had, whoever reads that: those are among the array buffers, and texts and objects are not.
 */
const memory = Effect.sync(() => {
  collectGarbage()
  const { arrayBuffers, external, heapUsed } = process.memoryUsage()
  return heapUsed + external - arrayBuffers
})

const isSpooled = (descriptor: string) => {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`).includes("route-planning-service-")
  } catch {
    return false
  }
}

/** How many files the process keeps on the disk to send them. */
const spooledFiles = () => readdirSync("/proc/self/fd").filter(isSpooled).length

const downloadsServer = (stalled: number, lowestReadRate = 1) =>
  TestServer.layer({ TRUSTED_PROXIES: "127.0.0.0/8" }).pipe(
    Layer.provide(Layer.succeed(DownloadLimits, { perAddress: 3, total: 4 })),
    Layer.provide(Layer.succeed(LowestReadRate, lowestReadRate)),
    Layer.provide(Layer.succeed(LargeResponseLimits, { perAddress: 8 * MIB, total: 12 * MIB })),
    Layer.provide(Layer.succeed(SocketTimeouts, { headers: 5000, stalled, idle: 60_000 }))
  )

layer(downloadsServer(30_000), { excludeTestServices: true, timeout: "60 seconds" })("a download", (it) => {
  it.effect("that nobody reads holds nothing of its route in memory, and no more than a few do", () =>
    Effect.gen(function*() {
      const path = `/routes/${yield* longRoute(yield* signedIn)}/gpx`
      const whole = yield* from("10.0.0.1", path)
      assert.isAbove(whole.text.length, 8 * MIB)
      assert.strictEqual(whole.headers.get("content-length"), String(Buffer.byteLength(whole.text)))
      yield* until(Effect.map(sampled("downloads_running"), (count) => count === 0))

      const before = yield* memory
      const stalled = yield* Effect.all(Array.from({ length: 3 }, () => unread(path, "10.0.0.1")))
      assert.deepStrictEqual(stalled.map(({ statusCode }) => statusCode), [200, 200, 200])
      // The engine gives some back only after a while.
      yield* until(Effect.map(memory, (held) => held - before < 3 * MIB), BETWEEN_COLLECTIONS)

      assert.deepStrictEqual(refusalOf(yield* from("10.0.0.1", path)), [429, "5"])
      yield* unread(path, "10.0.0.2")
      assert.deepStrictEqual(refusalOf(yield* from("10.0.0.3", path)), [503, "5"])
      assert.strictEqual(yield* sampled("downloads_running"), 4)

      const [text, ...others] = yield* Effect.all(stalled.slice(0, 1).map(read))
      assert.strictEqual(text?.toString(), whole.text)
      assert.isEmpty(others)
      stalled.forEach((response) => response.destroy())
      yield* until(Effect.map(sampled("downloads_running"), (count) => count === 1))
      assert.strictEqual((yield* from("10.0.0.1", path)).status, 200)
    }).pipe(Effect.scoped))

  it.effect("of which only the headers are asked for is over at once", () =>
    Effect.gen(function*() {
      const { call } = yield* TestServer
      const rider = yield* signedIn
      const { id } = created((yield* rider.post("/routes", newRoute({ visibility: "public" }))).body)
      for (const format of ["gpx", "geojson", "tcx", "kml"]) {
        const file = yield* call("GET", `/routes/${id}/${format}`)
        const head = yield* call("HEAD", `/routes/${id}/${format}`)
        assert.strictEqual(head.headers.get("content-length"), String(Buffer.byteLength(file.text)))
      }
      assert.strictEqual(yield* sampled("downloads_running"), 0)
    }))

  it.effect("or an export of an account that is not read is one of the few of its address, and of all", () =>
    Effect.gen(function*() {
      const { call } = yield* TestServer
      const rider = yield* signedIn
      for (let n = 0; n < 2; n++) yield* longRoute(rider)
      const path = "/users/me/export"
      const cookie = { cookie: rider.cookie }
      const exportFrom = (address: string) =>
        call("GET", path, { headers: { "x-forwarded-for": address, cookie: rider.cookie } })
      const stalled = yield* Effect.all(Array.from({ length: 3 }, () => unread(path, "10.0.2.1", cookie)))
      assert.deepStrictEqual(stalled.map(({ statusCode }) => statusCode), [200, 200, 200])
      assert.deepStrictEqual(refusalOf(yield* exportFrom("10.0.2.1")), [429, "5"])
      yield* unread(path, "10.0.2.2", cookie)
      assert.deepStrictEqual(refusalOf(yield* exportFrom("10.0.2.3")), [503, "5"])
      assert.strictEqual(yield* sampled("downloads_running"), 4)
      stalled.forEach((response) => response.destroy())
      yield* until(Effect.map(sampled("downloads_running"), (count) => count === 1))
      assert.strictEqual((yield* unread(path, "10.0.2.1", cookie)).statusCode, 200)
    }).pipe(Effect.scoped))

  it.effect("or an export that nobody reads holds nothing of the account in memory", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      for (let n = 0; n < 2; n++) yield* longRoute(rider)
      const cookie = { cookie: rider.cookie }
      const before = yield* memory
      const stalled = yield* Effect.all(Array.from({ length: 3 }, () => unread("/users/me/export", "10.0.4.1", cookie)))
      assert.deepStrictEqual(stalled.map(({ statusCode }) => statusCode), [200, 200, 200])
      // What does not fit into the buffers of the system is on the disk.
      yield* until(Effect.sync(() => spooledFiles() === 3))
      yield* until(Effect.map(memory, (held) => held - before < 4 * MIB), BETWEEN_COLLECTIONS)
      const [bytes] = yield* Effect.all(stalled.slice(0, 1).map(read))
      const files = yield* unzipped(bytes ?? Buffer.alloc(0))
      assert.lengthOf(Object.keys(files).filter((name) => name.endsWith(".gpx")), 2)
      stalled.forEach((response) => response.destroy())
      yield* until(Effect.map(sampled("downloads_running"), (count) => count === 0))
    }).pipe(Effect.scoped), 60_000)

  it.effect("or many short responses of one connection are bounded by the bytes that nobody reads", () =>
    Effect.gen(function*() {
      const path = `/api/v1/routes/${yield* longRoute(yield* signedIn, 12_000)}`
      const { socket } = yield* connection
      socket.pause()
      socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 10.0.3.1\r\n\r\n`.repeat(40))
      const refused = countOf("GET", "/api/v1/routes/{ref}", 429)
      yield* until(Effect.map(refused, (count) => count > 0))
      assert.isAtLeast(yield* countOf("GET", "/api/v1/routes/{ref}", 200), 8)
      socket.destroy()
      yield* until(Effect.map(from("10.0.3.1", path.replace("/api/v1", "")), ({ status }) => status === 200))
    }).pipe(Effect.scoped))

  it.effect("or a long response that is not read leaves room for others in memory", () =>
    Effect.gen(function*() {
      const path = `/routes/${yield* longRoute(yield* signedIn)}`
      const stalled = yield* unread(path, "10.0.1.1")
      assert.strictEqual(stalled.statusCode, 200)
      assert.deepStrictEqual(refusalOf(yield* from("10.0.1.1", path)), [429, "5"])
      const other = yield* unread(path, "10.0.1.2")
      assert.deepStrictEqual([other.statusCode, refusalOf(yield* from("10.0.1.3", path))], [200, [503, "5"]])
      assert.strictEqual((yield* from("10.0.1.1", `${path}?geometry=simplified`)).status, 200)
      stalled.destroy()
      other.destroy()
      yield* until(Effect.map(from("10.0.1.1", path), ({ status }) => status === 200))
    }).pipe(Effect.scoped))
})

layer(downloadsServer(600), { excludeTestServices: true, timeout: "60 seconds" })("a response", (it) => {
  it.effect("of which a client takes nothing is ended, and lets go of what it held", () =>
    Effect.gen(function*() {
      const id = yield* longRoute(yield* signedIn)
      for (const path of [`/routes/${id}/gpx`, `/routes/${id}`]) {
        const stalled = yield* unread(path, "10.0.0.1")
        assert.strictEqual(stalled.statusCode, 200)
        yield* until(Effect.map(sampled("http_server_active_requests"), (count) => count === 1))
        assert.isUndefined(yield* read(stalled), "broken off")
      }
      assert.strictEqual(yield* sampled("downloads_running"), 0)
    }).pipe(Effect.scoped))

  it.effect("that a client takes slowly arrives whole", () =>
    Effect.gen(function*() {
      const path = `/routes/${yield* longRoute(yield* signedIn)}/gpx`
      const response = yield* unread(path, "10.0.0.1")
      const pausing = yield* Effect.forkChild(
        Effect.forever(Effect.andThen(
          Effect.sync(() => response.pause()),
          Effect.andThen(
            Effect.sleep("50 millis"),
            Effect.andThen(Effect.sync(() => response.resume()), Effect.sleep("1 millis"))
          )
        ))
      )
      const bytes = yield* read(response)
      yield* Fiber.interrupt(pausing)
      assert.strictEqual(bytes?.length, Number(response.headers["content-length"]))
    }).pipe(Effect.scoped))
})

layer(downloadsServer(1500, 1024 * MIB), { excludeTestServices: true, timeout: "60 seconds" })("a download", (it) => {
  it.effect(
    "that a client takes more slowly than the lowest rate is ended, although it never stands still",
    () =>
      Effect.gen(function*() {
        const path = `/routes/${yield* longRoute(yield* signedIn)}/tcx`
        const response = yield* unread(path, "10.0.0.1")
        const reading = yield* Effect.forkChild(
          Effect.forever(Effect.andThen(Effect.sync(() => response.read(65_536)), Effect.sleep("20 millis")))
        )
        yield* until(Effect.sync(() => response.destroyed))
        yield* Fiber.interrupt(reading)
        assert.isFalse(response.complete)
        yield* until(Effect.map(sampled("downloads_running"), (count) => count === 0))
      }).pipe(Effect.scoped),
    60_000
  )
})
