import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Layer, Schema } from "effect"
import { BodyAllowance } from "../../src/http/request/RequestBodies.ts"
import { anonymous, type Rider, signedIn } from "../support/Actors.ts"
import { filling, partlySent } from "../support/HeldBodies.ts"
import { newRoute } from "../support/Routes.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const MIB = 1024 * 1024

const ROUTES = "POST /api/v1/routes"
const ELEVATION = "POST /api/v1/routing/elevation"

/** Sends a part of a long route. */
const partOf = (rider: Rider, address: string, bytes: number) =>
  partlySent(ROUTES, " ".repeat(bytes), {
    "Cookie": rider.cookie,
    "X-Forwarded-For": address,
    "Content-Length": String(8 * MIB)
  })

/** Sends a part of a body that needs no credential. */
const anonymousPart = (address: string, bytes: number) =>
  partlySent(ELEVATION, " ".repeat(bytes), { "X-Forwarded-For": address, "Content-Length": String(8 * MIB) })

const routeOf = (bytes: number) => {
  const route = JSON.stringify(newRoute({}))
  return route + " ".repeat(bytes - route.length)
}

const posted = (rider: Rider, address: string, bytes: number) =>
  rider.post("/routes", undefined, {
    raw: routeOf(bytes),
    headers: { "content-type": "application/json", "x-forwarded-for": address }
  })

/** Tells whether a body of a rider gets this status, which may be that of a success. */
const isRefusedFor = (rider: Rider, address: string, status: number) =>
  Effect.map(posted(rider, address, MIB), (answer) => answer.status === status)

const refusalOf = ({ body, headers, status }: Answer) => [
  status,
  headers.get("retry-after"),
  headers.get("connection"),
  Schema.decodeUnknownSync(Schema.Struct({ message: Schema.String }))(body).message
]

const FULL = [503, "5", "close", "Too many large bodies at once: try again"]

const fullFor = (sharer: string) => [
  429,
  "5",
  "close",
  `Too many large bodies from this ${sharer} at once: try again when one has ended`
]

/** Bodies may stand still for as long as a test takes. */
const patient = Layer.succeed(BodyAllowance, { grace: Duration.minutes(5), bytesPerSecond: 1 })

layer(
  TestServer.layer({ TRUSTED_PROXIES: "127.0.0.0/8", BODY_MEMORY_BUDGET: "16 MiB" }).pipe(Layer.provide(patient)),
  { excludeTestServices: true }
)("BODY_MEMORY_BUDGET", (it) => {
  it.effect("is not taken by bodies that are announced and do not come", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const addresses = Array.from({ length: 32 }, (_, n) => `2001:db8:1:${n % 2}::1`)
      yield* Effect.forEach(addresses, (address) => anonymousPart(address, 200), { concurrency: "unbounded" })
      yield* Effect.forEach(addresses, (address) => partOf(rider, address, 200), { concurrency: "unbounded" })
      assert.strictEqual((yield* posted(rider, "2001:db8:1::1", 4 * MIB)).status, 201)
    }).pipe(Effect.scoped))

  it.effect("has half for what arrived from an address, three quarters for a network; what is beyond closes its connection", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const own = yield* filling(partOf(rider, "10.0.0.1", 8 * MIB - 1), isRefusedFor(rider, "10.0.0.1", 429))
      assert.deepStrictEqual(refusalOf(yield* posted(rider, "10.0.0.1", MIB)), fullFor("address"))
      assert.strictEqual((yield* posted(rider, "10.0.0.1", 60_000)).status, 201)

      yield* filling(partOf(rider, "10.0.0.2", 4 * MIB), isRefusedFor(rider, "10.0.0.3", 429))
      assert.deepStrictEqual(refusalOf(yield* posted(rider, "10.0.0.3", MIB)), fullFor("network"))

      yield* filling(partOf(rider, "10.0.1.1", 4 * MIB), isRefusedFor(rider, "10.0.2.1", 503))
      assert.deepStrictEqual(refusalOf(yield* posted(rider, "10.0.2.1", MIB)), FULL)
      assert.strictEqual((yield* posted(rider, "10.0.2.1", 60_000)).status, 201)

      own.socket.destroy()
      yield* until(isRefusedFor(rider, "10.0.2.1", 201))
    }).pipe(Effect.scoped))

  it.effect("counts a /64 of IPv6 as an address, and its /48 as a network", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* filling(
        partOf(rider, "2001:db8:2:1::1", 8 * MIB - 1),
        isRefusedFor(rider, "2001:db8:2:1::2", 429)
      )
      assert.deepStrictEqual(refusalOf(yield* posted(rider, "2001:db8:2:1::2", MIB)), fullFor("address"))
      yield* filling(partOf(rider, "2001:db8:2:2::1", 4 * MIB), isRefusedFor(rider, "2001:db8:2:3::1", 429))
      assert.deepStrictEqual(refusalOf(yield* posted(rider, "2001:db8:2:3::1", MIB)), fullFor("network"))
      assert.strictEqual((yield* posted(rider, "2001:db8:3::1", MIB)).status, 201)
    }).pipe(Effect.scoped))

  it.effect("has a quarter for all callers without a credential, wherever they are", () =>
    Effect.gen(function*() {
      const { call } = yield* TestServer
      const rider = yield* signedIn
      const asked = call("POST", "/routing/elevation", {
        raw: " ".repeat(MIB),
        headers: { "content-type": "application/json", "x-forwarded-for": "10.1.2.1" }
      })
      yield* filling(anonymousPart("10.1.1.1", 4 * MIB), Effect.map(asked, ({ status }) => status === 503))
      assert.deepStrictEqual(refusalOf(yield* asked), FULL)
      assert.strictEqual((yield* posted(rider, "10.1.2.1", 8 * MIB)).status, 201)
    }).pipe(Effect.scoped))

  it.effect("counts what has arrived of a body of unknown length, and frees it when its client hangs up", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const size = (8 * MIB - 1).toString(16)
      const part = partlySent(ROUTES, `${size}\r\n${" ".repeat(8 * MIB - 1)}\r\n`, {
        "Cookie": rider.cookie,
        "X-Forwarded-For": "10.0.3.1",
        "Transfer-Encoding": "chunked"
      })
      const { socket } = yield* filling(part, isRefusedFor(rider, "10.0.3.1", 429))
      socket.destroy()
      yield* until(isRefusedFor(rider, "10.0.3.1", 201))
    }).pipe(Effect.scoped))

  it.effect("lets a body that is alone in its share exceed it, so that none is too long for a small budget", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const answer = yield* visitor.post("/routing/elevation", undefined, {
        raw: " ".repeat(8 * MIB),
        headers: { "content-type": "application/json", "x-forwarded-for": "10.0.4.1" }
      })
      assert.strictEqual(answer.status, 400)
    }))
})
