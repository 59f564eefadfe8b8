import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger, Schema } from "effect"
import { jsonLogger } from "../../src/layers/Logging.ts"
import { ConnectionTimeouts } from "../../src/layers/NodeServer.ts"
import { Places } from "../../src/services/geometry/Places.ts"
import { anonymous, signedIn } from "../support/Actors.ts"
import { DatabaseProxy } from "../support/DatabaseProxy.ts"
import { requestHead, sendRaw } from "../support/RawHttp.ts"
import { newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { untilFound, within } from "../support/Waiting.ts"

const AWAY = { statusCode: 503, code: "INTERNAL", message: "The database is not reachable" }

const logged: Array<string> = []

const recording = Logger.layer([Logger.map(jsonLogger, (line) => logged.push(line))])

const broken = Layer.succeed(Places, {
  at: () => Effect.die(new Error("SELECT secret FROM /etc/places")),
  hasCities: Effect.succeed(false)
})

const Failure = Schema.Struct({
  statusCode: Schema.Literal(500),
  code: Schema.Literal("INTERNAL"),
  message: Schema.Literal("Internal error"),
  details: Schema.Struct({ traceId: Schema.String.check(Schema.isPattern(/^[0-9a-f]{32}$/)) })
})

layer(TestServer.layer({ TRUSTED_PROXIES: "127.0.0.0/8" }, broken).pipe(Layer.provideMerge(recording)))(
  "a defect",
  (it) => {
    it.effect("is a response with the trace's id and nothing else, and logged once with the same", () =>
      Effect.gen(function*() {
        const rider = yield* signedIn
        const traceId = "0af7651916cd43dd8448eb211c80319c"
        const { body, headers, status, text } = yield* rider.post("/routes", newRoute({}), {
          headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` }
        })
        assert.strictEqual(status, 500)
        const { details } = Schema.decodeUnknownSync(Failure, { onExcessProperty: "error" })(body)
        assert.notInclude(text, "secret")
        assert.deepStrictEqual([headers.get("set-cookie"), headers.get("x-access-token")], [null, null])
        assert.strictEqual(details.traceId, traceId)
        const lines = logged.filter((line) => line.includes(`"traceId":"${traceId}"`) && line.includes("\"ERROR\""))
        assert.strictEqual(lines.length, 1)
        assert.include(lines[0], "SELECT secret")
      }))
  }
)

const impatientServer = TestServer.behindProxy.pipe(
  Layer.provide(Layer.succeed(ConnectionTimeouts, { ...ConnectionTimeouts.defaultValue(), headers: 1000 }))
)

layer(impatientServer, { excludeTestServices: true })("a database that is away", (it) => {
  it.effect("makes every request end with 503 in the one shape, soon, and the service recovers by itself", () =>
    Effect.gen(function*() {
      const database = yield* DatabaseProxy
      const rider = yield* signedIn
      const visitor = yield* anonymous
      yield* database.refuse
      for (const call of [rider.get("/routes"), rider.post("/routes", newRoute({})), visitor.get("/routes/1")]) {
        const answer = yield* within(2500)(call)
        assert.strictEqual(answer.status, 503)
        assert.deepInclude(answer.body, AWAY)
        assert.match(answer.text, /"traceId":"[0-9a-f]{32}"/)
        assert.isNull(answer.headers.get("set-cookie"))
      }
      assert.strictEqual((yield* visitor.get("//health/ready")).status, 503)
      assert.strictEqual((yield* visitor.get("//health")).status, 503)
      assert.strictEqual((yield* visitor.get("//health/live")).status, 200)
      yield* database.forward
      assert.strictEqual((yield* eventually(rider.get("/routes"))).status, 200)
      assert.strictEqual((yield* visitor.get("//health/ready")).status, 200)
    }))

  it.effect(
    "that hangs makes readiness 503 while requests still wait for it, and ends those at their deadline",
    () =>
      Effect.gen(function*() {
        const database = yield* DatabaseProxy
        const rider = yield* signedIn
        const visitor = yield* anonymous
        yield* database.hang
        const waiting = yield* Effect.forkChild(rider.get("/routes"))
        assert.strictEqual((yield* visitor.get("//health/ready")).status, 503)
        assert.strictEqual((yield* visitor.get("//metrics")).status, 200)
        assert.isUndefined(waiting.pollUnsafe())
        assert.deepInclude((yield* Fiber.join(waiting)).body, { statusCode: 503, code: "INTERNAL" })
        yield* database.forward
        assert.strictEqual((yield* eventually(rider.get("/routes"))).status, 200)
      })
  )

  it.effect("may lose its connections between requests without a lasting effect", () =>
    Effect.gen(function*() {
      const database = yield* DatabaseProxy
      const rider = yield* signedIn
      yield* rider.get("/routes")
      yield* database.cut
      assert.strictEqual((yield* eventually(rider.get("/routes"))).status, 200)
    }))

  it.effect("a client that sends its headers or body drop by drop is cut off", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      assert.strictEqual(ConnectionTimeouts.defaultValue().headers, 5000)
      assert.strictEqual((yield* sendRaw(origin, "GET /health HTTP/1.1\r\nHost: loc")).status, 408)
      assert.strictEqual((yield* sendRaw(origin, requestHead("GET /health/live"))).status, 200)
    }))
})

const eventually = <A extends { readonly status: number }>(call: Effect.Effect<A>) =>
  untilFound(call, ({ status }) => status === 200)
