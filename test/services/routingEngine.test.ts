import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect, Fiber, Layer, Metric, Result } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { RoutingEngine } from "../../src/services/routing/Engine.ts"

type Call = Parameters<RoutingEngine["Service"]["call"]>[0]

/** Runs with an engine of these responses, and metrics of its own. */
const withEngine = <A, E>(
  respond: (url: URL) => Effect.Effect<Response>,
  test: Effect.Effect<A, E, RoutingEngine>
) => {
  const client = HttpClient.make((request, url) =>
    Effect.map(respond(url), (response) => HttpClientResponse.fromWeb(request, response))
  )
  return test.pipe(
    Effect.provide(RoutingEngine.layer.pipe(Layer.provide([
      Layer.succeed(HttpClient.HttpClient, client),
      ConfigProvider.layer(ConfigProvider.fromUnknown({ ROUTING_ENGINE_URL: "http://engine.example.com/valhalla" }))
    ]))),
    Effect.provideService(Metric.MetricRegistry, new Map())
  )
}

const call = (path: Call = "route") =>
  RoutingEngine.use((engine) => engine.call(path, "{}", (text) => Effect.succeed(text)))

const status = RoutingEngine.use((engine) => engine.status)

const failureOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.result(effect), (result) => Result.isFailure(result) ? result.failure : undefined)

const tagOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(failureOf(effect), (failure) => failure?._tag)

const refusing = (code: unknown, filler = 0) => () =>
  Effect.sync(() => new Response(JSON.stringify({ error_code: code, filler: "x".repeat(filler) }), { status: 400 }))

const figures = Effect.map(Metric.snapshot, (metrics) => {
  const named = new Map<string, number>()
  for (const metric of metrics) {
    const name = [metric.id.replace("routing_engine_", ""), ...Object.values(metric.attributes ?? {})].join(" ")
    if (metric.type === "Counter") named.set(name, Number(metric.state.count))
    if (metric.type === "Gauge") named.set(name, Number(metric.state.value))
  }
  return Object.fromEntries(named)
})

it.effect("a refusal of the engine is what a client can act on, our own fault, or a fault of the engine", () =>
  Effect.gen(function*() {
    const refusals = [
      [99, "UpstreamUnusable", {}],
      [100, "EngineMisused", {}],
      [149, "EngineMisused", {}],
      [150, "BeyondEngine", { limit: "locations" }],
      [151, "UpstreamUnusable", {}],
      [153, "BeyondEngine", { limit: "points" }],
      [154, "BeyondEngine", { limit: "distance" }],
      [158, "BeyondEngine", { limit: "bounds" }],
      [170, "NoPath", { of: "locations" }],
      [171, "NoRoad", {}],
      [172, "BeyondEngine", { limit: "gaps" }],
      [442, "NoPath", { of: "locations" }],
      [443, "NoPath", { of: "trace" }],
      [444, "NoPath", { of: "trace" }],
      [445, "UpstreamUnusable", {}],
      ["171", "UpstreamUnusable", {}]
    ] as const
    for (const [code, tag, members] of refusals) {
      const failure = yield* withEngine(refusing(code), failureOf(call()))
      assert.deepInclude(failure, { _tag: tag, ...members }, String(code))
    }
    const overhead = JSON.stringify({ error_code: 171, filler: "" }).length
    assert.strictEqual(yield* withEngine(refusing(171, 65_536 - overhead), tagOf(call())), "NoRoad")
    assert.strictEqual(yield* withEngine(refusing(171, 65_537 - overhead), tagOf(call())), "UpstreamUnusable")
  }))

it.effect("a call goes to its path below the address of the engine, and accepts as many bytes as it needs", () =>
  Effect.gen(function*() {
    const mib = 1_048_576
    const limits = [
      ["directions", "route", 12 * mib],
      ["height", "height", mib],
      ["locate", "locate", mib],
      ["route", "route", 4 * mib],
      ["trace_attributes", "trace_attributes", 16 * mib]
    ] as const
    for (const [path, last, most] of limits) {
      const asked: Array<string> = []
      const declaring = (length: number) => (url: URL) =>
        Effect.sync(() => {
          asked.push(url.href)
          return new Response("[]", { headers: { "content-length": String(length) } })
        })
      assert.strictEqual(yield* withEngine(declaring(most), call(path)), "[]")
      assert.strictEqual(yield* withEngine(declaring(most + 1), tagOf(call(path))), "UpstreamUnusable")
      assert.strictEqual(asked[0], `http://engine.example.com/valhalla/${last}`)
    }
  }))

it.effect("calls are counted by how they end, and the state of the circuit is one of three", () => {
  let respond: Effect.Effect<Response> = Effect.sync(() => new Response("{}"))
  return withEngine(
    () => Effect.suspend(() => respond),
    Effect.gen(function*() {
      const none = {
        "calls_total ok": 0,
        "calls_total abandoned": 0,
        "calls_total refused": 0,
        "calls_total bad_answer": 0,
        "calls_total timeout": 0,
        "calls_total unavailable": 0,
        calls_running: 0,
        calls_waiting: 0,
        "circuit_state closed": 1,
        "circuit_state open": 0,
        "circuit_state half_open": 0
      }
      assert.deepInclude(yield* figures, none)
      yield* call()
      respond = Effect.sync(() => new Response("{\"error_code\":171}", { status: 400 }))
      yield* tagOf(call())
      respond = Effect.never
      const abandoned = yield* Effect.forkChild(call(), { startImmediately: true })
      assert.deepInclude(yield* figures, { calls_running: 1, calls_waiting: 0 })
      yield* Fiber.interrupt(abandoned)
      const slow = yield* Effect.forkChild(tagOf(call()), { startImmediately: true })
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* Fiber.join(slow), "UpstreamSlow")
      respond = Effect.sync(() => new Response("", { status: 500 }))
      for (let calls = 0; calls < 4; calls++) assert.strictEqual(yield* tagOf(call()), "UpstreamUnusable")
      assert.strictEqual(yield* tagOf(call()), "UpstreamAway", "five failures open the circuit")
      yield* TestClock.adjust("1 second")
      assert.deepInclude(yield* figures, {
        "calls_total ok": 1,
        "calls_total abandoned": 1,
        "calls_total refused": 1,
        "calls_total bad_answer": 4,
        "calls_total timeout": 1,
        "calls_total unavailable": 1,
        calls_running: 0,
        calls_waiting: 0,
        "circuit_state closed": 0,
        "circuit_state open": 1,
        "circuit_state half_open": 0
      })
    })
  )
})

it.effect("32 calls run at once and 64 wait, and a further one is refused", () =>
  withEngine(
    () => Effect.never,
    Effect.gen(function*() {
      const start = (count: number) =>
        Effect.forEach(
          Array.from({ length: count }),
          () => Effect.forkChild(call(), { startImmediately: true })
        )
      for (const _ of ["first", "again"]) {
        const calls = yield* start(96)
        assert.deepInclude(yield* figures, { calls_running: 32, calls_waiting: 64 })
        assert.strictEqual(yield* tagOf(call()), "EngineBusy")
        yield* Fiber.interruptAll(calls)
        assert.deepInclude(yield* figures, { calls_running: 0, calls_waiting: 0 })
      }
    })
  ))

it.effect("the state of the engine is kept for 30 seconds, and for one if it has none within 300 milliseconds", () => {
  const asked: Array<string> = []
  let date: number | undefined = 0
  return withEngine(
    ({ pathname }) =>
      Effect.suspend(() => {
        asked.push(pathname)
        const response = Response.json({ version: "3.9.1", tileset_last_modified: date })
        return date === undefined ? Effect.never : Effect.succeed(response)
      }),
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* status, { status: "ok", version: "3.9.1", tiles: "1970-01-01T00:00:00.000Z" })
      date = 1_800_000_000
      yield* TestClock.adjust("29 seconds")
      assert.include(yield* status, { tiles: "1970-01-01T00:00:00.000Z" })
      yield* TestClock.adjust("1 second")
      assert.include(yield* status, { tiles: "2027-01-15T08:00:00.000Z" })
      assert.deepStrictEqual(asked, ["/valhalla/status", "/valhalla/status"])

      date = undefined
      yield* TestClock.adjust("30 seconds")
      const hanging = yield* Effect.forkChild(status, { startImmediately: true })
      yield* TestClock.adjust("299 millis")
      assert.isUndefined(hanging.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* Fiber.join(hanging), { status: "away" })
      date = 8_640_000_000_000
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual(yield* status, { status: "away" })
      yield* TestClock.adjust("1 millis")
      assert.include(yield* status, { tiles: "+275760-09-13T00:00:00.000Z" })
      date += 1
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(yield* status, { status: "away" })
    })
  )
})
