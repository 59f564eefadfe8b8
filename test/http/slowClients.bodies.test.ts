import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { BodyAllowance } from "../../src/http/request/RequestBodies.ts"
import { ConnectionTimeouts } from "../../src/layers/NodeServer.ts"
import { signedIn } from "../support/Actors.ts"
import { connection, countOf, MIB } from "../support/Connections.ts"
import { JSON_TYPE, requestHead, sendRaw } from "../support/RawHttp.ts"
import { TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const LOGIN = "/api/v1/auth/login-email"

const statusOf = (text: string) => Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1])

const login = (size: number) => `{"email":"a@example.com","password":"x","filler":"${"x".repeat(size)}"}`

/** Sends a request whose body the service has begun to read and has not got. */
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

const ALLOWANCE = { grace: Duration.seconds(1), bytesPerSecond: 1024 }

layer(TestServer.layer())("a body that takes its time", (it) => {
  const GPX = `<gpx version="1.1"><rte><name>slow</name><rtept lat="47" lon="9"/><rtept lat="48" lon="9"/></rte></gpx>`

  it.effect("is served when it has arrived, whatever the deadline of the response", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const cases = [
        [`POST ${LOGIN}`, login(0), JSON_TYPE, 401],
        ["POST /api/v1/routes/import?duplicates=allow", GPX, {
          "Content-Type": "application/gpx+xml",
          "Cookie": rider.cookie
        }, 201]
      ] as const
      for (const [line, body, headers, status] of cases) {
        const { closed, response, socket } = yield* bodyAwaited(line, body.length, headers)
        yield* TestClock.adjust("4 seconds")
        socket.write(body)
        yield* closed
        assert.strictEqual(statusOf(response()), status, response())
      }
    }))

  it.effect("is refused with 408 when nothing has come for 5 seconds", () =>
    Effect.gen(function*() {
      const before = yield* countOf("POST", LOGIN, "4xx")
      const { closed, response } = yield* bodyAwaited(`POST ${LOGIN}`, 100, JSON_TYPE)
      yield* TestClock.adjust("4900 millis")
      assert.strictEqual(response(), "")
      yield* TestClock.adjust("200 millis")
      yield* closed
      assert.strictEqual(statusOf(response()), 408)
      assert.strictEqual(yield* countOf("POST", LOGIN, "4xx"), before + 1)
    }))

  it.effect("is refused with 408 once it is 5 seconds behind 16 KiB a second, although it never stands still", () =>
    Effect.gen(function*() {
      const { closed, response, socket } = yield* bodyAwaited(`POST ${LOGIN}`, 60_000, JSON_TYPE)
      for (const _ of Array.from({ length: 6 })) {
        yield* Effect.callback<void>((resume) => void socket.write("x".repeat(1024), () => resume(Effect.void)))
        yield* TestClock.adjust("1 second")
      }
      yield* closed
      assert.strictEqual(statusOf(response()), 408)
    }))
})

layer(
  TestServer.layer().pipe(
    Layer.provide(Layer.succeed(BodyAllowance, ALLOWANCE)),
    Layer.provide(Layer.succeed(ConnectionTimeouts, { ...ConnectionTimeouts.defaultValue(), keepAlive: 300 }))
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
      const refused = Effect.fnUntraced(function*([path, headers]: typeof cases[number]) {
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
        assert.strictEqual(yield* countOf("POST", path, "4xx"), 1, path)
      })
      yield* Effect.forEach(cases, refused, { concurrency: "unbounded" })
      assert.strictEqual(yield* countOf("POST", LOGIN, "5xx"), 0)
    }))

  it.effect("has no more time to stand still for what has come before", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const rider = yield* signedIn
      const head = requestHead("POST /api/v1/routes", {
        ...JSON_TYPE,
        "Cookie": rider.cookie,
        "Content-Length": String(2 * MIB)
      })
      const { milliseconds, status } = yield* sendRaw(origin, head, " ".repeat(MIB))
      assert.strictEqual(status, 408)
      // At the lowest rate that much takes 17 minutes.
      assert.isBelow(milliseconds, 50_000)
    }))

  it.effect("has no more time for what came before on its connection", () =>
    Effect.gen(function*() {
      const { closed, received, socket } = yield* connection
      const headOf = (length: number) =>
        requestHead(`POST ${LOGIN}`, { ...JSON_TYPE, "Content-Length": String(length) }).replace(
          "Connection: close\r\n",
          ""
        )
      const body = login(32 * 1024)
      socket.write(headOf(body.length) + body)
      yield* until(Effect.sync(() => received().includes("HTTP/1.1 401 ")))
      const started = performance.now()
      socket.write(`${headOf(1000)}{`)
      yield* closed
      assert.match(received(), /HTTP\/1\.1 408 /)
      // At the lowest rate what came before takes 32 seconds.
      assert.isBelow(performance.now() - started, 30_000)
    }))

  it.effect("and that is not read ends with its connection", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const head = requestHead("POST /api/v1/nothing", { "Content-Length": "1000" }).replace(
        "Connection: close\r\n",
        ""
      )
      assert.strictEqual((yield* sendRaw(origin, head, "{")).status, 404)
    }))
})
