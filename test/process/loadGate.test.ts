import { assert, it, layer } from "@effect/vitest"
import { ConfigProvider, Effect, Latch, Layer, References, Schedule, type Scope } from "effect"
import { HttpEffect, HttpRouter, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { setImmediate as nextIteration } from "node:timers/promises"
import { gateLayer } from "../../src/http/middleware/Gate.ts"
import { requestTelemetry } from "../../src/http/middleware/RequestTelemetry.ts"
import { QueueLateness } from "../../src/services/admission/ConnectionQueue.ts"
import { waitingForOthers } from "../../src/services/admission/Lane.ts"
import { anonymous } from "../support/Actors.ts"
import { partlySent } from "../support/HeldBodies.ts"
import { TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const SPIN = 5

const spinFor = (millis: number) => {
  const end = performance.now() + millis
  while (performance.now() < end);
}

/** Keeps the event loop busy until the scope closes. */
const busyLoop = Effect.acquireRelease(
  Effect.sync(() => {
    const state = { isOver: false }
    const spin = () => {
      spinFor(SPIN)
      if (!state.isOver) setImmediate(spin)
    }
    spin()
    return state
  }),
  (state) => Effect.sync(() => state.isOver = true)
)

const OK = Effect.sync(() => HttpServerResponse.empty())

/** Behind the gate are requests that run until `end`, some that wait for others until then, and some that spin. */
const gated = Effect.gen(function*() {
  const latch = yield* Latch.make()
  const seen = { running: 0, waiting: 0, spun: new Array<string>() }
  const held = (name: "running" | "waiting", wait: Effect.Effect<void>) =>
    Effect.sync(() => seen[name]++).pipe(Effect.andThen(wait), Effect.andThen(OK))
  const routes = HttpRouter.addAll([
    HttpRouter.route("*", "/", OK),
    HttpRouter.route("GET", "/health/live", OK),
    HttpRouter.route("GET", "/running", held("running", latch.await)),
    HttpRouter.route("GET", "/waiting", held("waiting", waitingForOthers(latch.await))),
    HttpRouter.route("GET", "/spin", (request) =>
      Effect.sync(() => {
        const [, millis = ""] = request.url.split("?")
        seen.spun.push(millis)
        spinFor(Number(millis))
        return HttpServerResponse.empty()
      }))
  ])
  const handler = yield* HttpRouter.toHttpEffect(Layer.merge(gateLayer, routes))
  const context = yield* Effect.context<never>()
  const handle = HttpEffect.toWebHandlerWith<never, HttpServerRequest.HttpServerRequest | Scope.Scope>(context)(
    handler,
    yield* requestTelemetry
  )
  const call = (path: string, method = "GET") =>
    handle(new Request(`http://localhost${path}`, { method })).then(({ status }) => status)
  return {
    call,
    seen,
    end: latch.open,
    status: Effect.promise(() => call("/")),
    writeStatus: Effect.promise(() => call("/", "POST"))
  }
}).pipe(
  Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({
    MAX_RUNNING_REQUESTS: "8",
    BASE_URL: "http://localhost:3000"
  }))),
  Effect.provideService(References.MinimumLogLevel, "None")
)

const times = <A>(count: number, act: () => A) => Array.from({ length: count }, act)

const untilStatus = (status: Effect.Effect<number>, wanted: number) =>
  Effect.repeat(status, { until: (found) => found === wanted })

/** Leaves the event loop time between two requests, which a busy machine takes longer over. */
const untilTaken = (status: Effect.Effect<number>) =>
  Effect.repeat(status, { schedule: Schedule.spaced("200 millis"), until: (found) => found === 204 })

it.live("a busy process that works on its most requests refuses more, but not its health, until some have ended", () =>
  Effect.gen(function*() {
    const { call, end, seen, status, writeStatus } = yield* gated
    yield* busyLoop
    const calls = times(7, () => call("/running"))
    yield* until(Effect.sync(() => seen.running === 7))
    assert.deepStrictEqual(new Set(yield* Effect.all(times(40, () => status))), new Set([204]))
    calls.push(call("/running"))
    yield* untilStatus(status, 503)
    assert.strictEqual(yield* writeStatus, 503)
    assert.strictEqual(yield* Effect.promise(() => call("/health/live")), 204)
    yield* end
    assert.deepStrictEqual(new Set(yield* Effect.promise(() => Promise.all(calls))), new Set([204]))
    assert.deepStrictEqual([yield* status, yield* writeStatus], [204, 204])
  }).pipe(Effect.scoped))

it.live("requests that wait for others do not count", () =>
  Effect.gen(function*() {
    const { call, end, seen, status } = yield* gated
    yield* busyLoop
    const calls = new Array<Promise<number>>()
    while (calls.length < 20) {
      calls.push(call("/waiting"))
      yield* until(Effect.sync(() => seen.waiting === calls.length))
    }
    assert.deepStrictEqual(new Set(yield* Effect.all(times(40, () => status))), new Set([204]))
    yield* end
    assert.deepStrictEqual(new Set(yield* Effect.promise(() => Promise.all(calls))), new Set([204]))
  }).pipe(Effect.scoped))

it.live("a busy process refuses requests where the queue for the database is late", () =>
  Effect.gen(function*() {
    const database = { lateness: 1 }
    const { status, writeStatus } = yield* Effect.provideService(gated, QueueLateness, () => database.lateness)
    yield* Effect.forEach([status, writeStatus], untilTaken)
    yield* busyLoop
    yield* untilStatus(status, 503)
    assert.strictEqual(yield* writeStatus, 503)
    database.lateness = 0.49
    assert.deepStrictEqual([yield* status, yield* writeStatus], [204, 204])
  }).pipe(Effect.scoped))

it.live("a busy process takes reads where only transactions wait for the database", () =>
  Effect.gen(function*() {
    const { status, writeStatus } = yield* Effect.provideService(gated, QueueLateness, (isRead) => isRead ? 0 : 1)
    yield* busyLoop
    yield* untilStatus(writeStatus, 503)
    assert.deepStrictEqual([yield* status, yield* writeStatus], [204, 503])
  }).pipe(Effect.scoped))

it.live("a process whose event loop has time takes as many as come", () =>
  Effect.gen(function*() {
    const { call, end, seen, status } = yield* gated
    const calls = new Array<Promise<number>>()
    const another = Effect.andThen(Effect.sleep("20 millis"), Effect.sync(() => calls.push(call("/running"))))
    yield* Effect.repeat(another, { until: () => seen.running === 20 })
    yield* untilStatus(status, 204)
    yield* end
    yield* Effect.promise(() => Promise.all(calls))
  }).pipe(Effect.scoped))

it.live("a request that uses the slice of an iteration is the last to start in it, and the others start in order", () =>
  Effect.gen(function*() {
    const { call, seen } = yield* gated
    // Each takes longer than a slice, or nothing of it.
    const durations = ["8", "8", "8", "0", "0", "8", "0"]
    const calls = durations.map((millis) => call(`/spin?${millis}`))
    for (const started of [1, 2, 3]) {
      assert.lengthOf(seen.spun, started)
      yield* Effect.promise(() => nextIteration())
    }
    assert.deepStrictEqual(new Set(yield* Effect.promise(() => Promise.all(calls))), new Set([204]))
    assert.deepStrictEqual(seen.spun, durations)
  }).pipe(Effect.scoped))

layer(TestServer.layer({ MAX_RUNNING_REQUESTS: "1" }), { excludeTestServices: true })("a busy process", (it) => {
  it.effect("does not count requests whose body has not arrived", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      yield* busyLoop
      const uploads = yield* Effect.replicateEffect(
        partlySent("POST /api/v1/auth/login-email", "{", { "Content-Length": "100" }),
        3
      )
      const statuses = yield* Effect.replicateEffect(Effect.map(visitor.get("/routes"), ({ status }) => status), 20)
      assert.deepStrictEqual(new Set(statuses), new Set([401]))
      assert.deepStrictEqual(uploads.map(({ received }) => received()), times(3, () => "HTTP/1.1 100 Continue\r\n\r\n"))
    }).pipe(Effect.scoped))
})
