import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { connect, type Socket } from "node:net"
import { type Rider, signedIn } from "../support/Actors.ts"
import { requestHead } from "../support/RawHttp.ts"
import { newRoute } from "../support/Routes.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const MIB = 1024 * 1024

/** An upload of which the service waits for the body. */
interface Upload {
  readonly socket: Socket
  readonly received: () => string
}

/** Announces a body from an address, and waits until the service asks for it. */
const announced = Effect.fnUntraced(
  function*(rider: Rider, address: string, headers: Readonly<Record<string, string>>) {
    const { origin } = yield* TestServer
    const chunks: Array<Buffer> = []
    const socket = yield* Effect.acquireRelease(
      Effect.sync(() =>
        connect(Number(new URL(origin).port), "127.0.0.1").on("data", (chunk) => chunks.push(chunk)).on(
          "error",
          () => undefined
        )
      ),
      (socket) => Effect.sync(() => socket.destroy())
    )
    const received = () => Buffer.concat(chunks).toString()
    socket.write(requestHead("POST /api/v1/routes", {
      "Content-Type": "application/json",
      "Cookie": rider.cookie,
      "X-Forwarded-For": address,
      "Expect": "100-continue",
      ...headers
    }))
    yield* until(Effect.sync(() => received().startsWith("HTTP/1.1 ")))
    const upload: Upload = { socket, received }
    return upload
  }
)

const declared = (rider: Rider, address: string, bytes: number) =>
  announced(rider, address, { "Content-Length": String(bytes) })

const routeOf = (bytes: number) => {
  const route = JSON.stringify(newRoute({}))
  return route + " ".repeat(bytes - route.length)
}

const posted = (rider: Rider, address: string, bytes: number) =>
  rider.post("/routes", undefined, {
    raw: routeOf(bytes),
    headers: { "content-type": "application/json", "x-forwarded-for": address }
  })

const refusalOf = ({ headers, status }: Answer) => [status, headers.get("retry-after"), headers.get("connection")]

layer(
  TestServer.layer({ TRUSTED_PROXIES: "127.0.0.0/8", BODY_MEMORY_BUDGET: "16 MiB" }),
  { excludeTestServices: true }
)("BODY_MEMORY_BUDGET", (it) => {
  it.effect("has half for the long bodies of one address; what is beyond is refused unread, and closes its connection", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const [first] = yield* Effect.all([declared(rider, "10.0.0.1", 4 * MIB), declared(rider, "10.0.0.1", 4 * MIB)])
      const refused = yield* declared(rider, "10.0.0.1", MIB)
      assert.match(refused.received(), /^HTTP\/1\.1 429 /)
      assert.match(refused.received(), /retry-after: 5\r\n/i)
      assert.match(refused.received(), /connection: close\r\n/i)
      assert.include(
        refused.received(),
        `"code":"RATE_LIMITED","message":"Too many large bodies from this address at once`
      )
      assert.strictEqual((yield* posted(rider, "10.0.0.1", 60_000)).status, 201)

      assert.match((yield* declared(rider, "10.0.0.2", 8 * MIB)).received(), /^HTTP\/1\.1 100 /)
      assert.deepStrictEqual(refusalOf(yield* posted(rider, "10.0.0.3", MIB)), [503, "5", "close"])
      assert.strictEqual((yield* posted(rider, "10.0.0.3", 60_000)).status, 201)

      first.socket.write(routeOf(4 * MIB))
      // Where all threads are busy it is 503: its body is gone from memory all the same.
      yield* until(Effect.sync(() => /HTTP\/1\.1 (201|503) /.test(first.received())))
      yield* until(Effect.map(posted(rider, "10.0.0.3", MIB), ({ status }) => status === 201))
    }).pipe(Effect.scoped))

  it.effect("counts a body of unknown length with its limit, and frees it when its client hangs up", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const chunked = yield* announced(rider, "10.0.1.1", { "Transfer-Encoding": "chunked" })
      assert.match(chunked.received(), /^HTTP\/1\.1 100 /)
      assert.deepStrictEqual(refusalOf(yield* posted(rider, "10.0.1.1", MIB)), [429, "5", "close"])
      chunked.socket.destroy()
      yield* until(Effect.map(posted(rider, "10.0.1.1", MIB), ({ status }) => status === 201))
    }).pipe(Effect.scoped))
})
