import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Socket } from "node:net"
import { INLINE_BYTES } from "../../src/services/admission/HeavyWork.ts"
import { anonymous, signedIn } from "../support/Actors.ts"
import { HTTP_FAULTS, type HttpFault } from "../support/HttpFaults.ts"
import { ask, fresh, line, serverLayer, TRIP } from "../support/RoutingCalls.ts"
import { type Behaviour, json, refusal, StandInEngine } from "../support/StandInEngine.ts"
import { until } from "../support/Waiting.ts"

const SHORT_TRACE = { activity: "walk", shape: [{ lat: 0, lon: 10 }, { lat: 0, lon: 10.01 }] }

const matchOf = (body: unknown) =>
  Effect.flatMap(anonymous, (visitor) => visitor.post("/routing/trace-attributes", body))

const withShape = (shape: string) =>
  json({ trip: { ...TRIP.trip, legs: TRIP.trip.legs.map((leg) => ({ ...leg, shape })) } })

const garbage: ReadonlyArray<readonly [string, Behaviour]> = [
  ["HTML", (_request, response) => void response.end("<html>canary</html>")],
  ["half of a JSON", (_request, response) => void response.end(`{"trip":{"legs":[`)],
  ["another shape", json({ trip: { legs: [] }, canary: true })],
  ["a redirect", (_request, response) => void response.writeHead(302, { location: "http://127.0.0.1:1/canary" }).end()],
  ["an error of its own", json({ error: "canary" }, 500)],
  ["too few legs", json({ trip: { ...TRIP.trip, legs: TRIP.trip.legs.slice(1) } })],
  ["too many legs", json({ trip: { ...TRIP.trip, legs: [...TRIP.trip.legs, ...TRIP.trip.legs] } })],
  ["a line without a point", withShape("")],
  ["a line that leaves the earth", withShape(line([47, 9], [4700, 9]))],
  ["far too much", json({ ...TRIP, filler: "x".repeat(5 * 1024 * 1024) })],
  [
    "far too much of unknown length",
    (_request, response) => void response.write(" ".repeat(5 * 1024 * 1024), () => response.end(JSON.stringify(TRIP)))
  ]
]

layer(serverLayer(), { excludeTestServices: true })("an engine whose status hangs", (it) => {
  it.effect("is away to probes, which do not wait for it", () =>
    Effect.gen(function*() {
      yield* (yield* StandInEngine).setMapDate(undefined)
      const visitor = yield* anonymous
      assert.deepStrictEqual((yield* visitor.get("//health/ready")).body, {
        status: "ok",
        database: "ok",
        routingEngine: { status: "away" }
      })
    }))

  it.effect("or responds with nonsense is unavailable as well", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const engine = yield* StandInEngine
      for (const date of [8.65e12, -1]) {
        yield* engine.setMapDate(date)
        const before = yield* engine.statusCalls
        const probed = Effect.andThen(visitor.get("//health/ready"), engine.statusCalls)
        yield* until(Effect.map(probed, (calls) => calls > before))
        const { body } = yield* visitor.get("//health/ready")
        assert.deepStrictEqual(body, { status: "ok", database: "ok", routingEngine: { status: "away" } }, String(date))
      }
    }))
})

layer(serverLayer({ ROUTING_ENGINE_TIMEOUT: "1 second" }), { excludeTestServices: true })(
  "an engine that fails",
  (it) => {
    it.effect("with garbage is 502, and none of it is seen", () =>
      Effect.gen(function*() {
        const engine = yield* StandInEngine
        for (const [n, [what, behaviour]] of garbage.entries()) {
          yield* engine.behave(behaviour)
          const answer = yield* ask(fresh(n))
          assert.deepInclude(answer.body, { statusCode: 502, code: "INTERNAL" }, what)
          assert.notInclude(answer.text, "canary")
          yield* engine.behave(json(TRIP))
          assert.strictEqual((yield* ask(fresh(n))).status, 200, what)
        }
      }))

    it.effect("logs where an operator finds the rest", () =>
      Effect.gen(function*() {
        yield* (yield* StandInEngine).behave(json({}, 500))
        const visitor = yield* anonymous
        const traceId = "0af7651916cd43dd8448eb211c80319c"
        const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` }
        const { body } = yield* visitor.post("/routing/route", fresh(50), { headers })
        assert.deepInclude(body, { statusCode: 502, details: { traceId } })
        yield* (yield* StandInEngine).behave(json(TRIP))
        assert.strictEqual((yield* ask(fresh(50))).status, 200)
      }))

    it.effect("for a moment is asked once more, and no more", () =>
      Effect.gen(function*() {
        const engine = yield* StandInEngine
        const calls = { count: 0 }
        const failing = (times: number): Behaviour => (request, response) => {
          calls.count += 1
          if (calls.count > times) json(TRIP)(request, response)
          else response.destroy()
        }
        yield* engine.behave(failing(1))
        assert.strictEqual((yield* ask(fresh(60))).status, 200)
        calls.count = 0
        yield* engine.behave(failing(2))
        assert.strictEqual((yield* ask(fresh(61))).status, 503)
        assert.strictEqual(calls.count, 2)
        yield* engine.behave(json({ error_code: 102 }, 503))
        assert.strictEqual((yield* ask(fresh(62))).status, 503)
        yield* engine.behave(json(TRIP))
        assert.strictEqual((yield* ask(fresh(62))).status, 200)
      }))

    it.effect("by being slow is 504 at our own deadline", () =>
      Effect.gen(function*() {
        const engine = yield* StandInEngine
        yield* engine.behave(() => undefined)
        assert.deepInclude((yield* ask(fresh(200))).body, { statusCode: 504, code: "INTERNAL" })
        yield* engine.behave(json(TRIP))
        assert.strictEqual((yield* ask(fresh(201))).status, 200)
      }))

    it.effect("by hanging in its search alone is reported without what that would have found", () =>
      Effect.gen(function*() {
        const engine = yield* StandInEngine
        yield* engine.behave((request, response) => {
          if (request.path !== "/locate") refusal(171)(request, response)
        })
        const answer = yield* ask(fresh(210))
        assert.deepInclude(answer.body, { statusCode: 404, details: { reason: "no_road_near_location" } })
      }))

    it.effect("again and again gets no calls for a while, then is tried again", () =>
      Effect.gen(function*() {
        const engine = yield* StandInEngine
        yield* engine.down
        for (let n = 0; n < 5; n++) assert.strictEqual((yield* ask(fresh(300 + n))).status, 503)
        yield* engine.up
        yield* engine.behave(json(TRIP))
        const before = engine.asked.length
        const refused = yield* ask(fresh(310))
        assert.deepStrictEqual([refused.status, refused.headers.get("retry-after")], [503, "5"])
        assert.strictEqual(engine.asked.length, before)
        const visitor = yield* anonymous
        assert.deepStrictEqual((yield* visitor.get("//health/ready")).body, {
          status: "ok",
          database: "ok",
          routingEngine: { status: "circuit-open" }
        })
        const rider = yield* signedIn
        assert.strictEqual((yield* rider.get("/routes")).status, 200)
        yield* until(Effect.map(ask(fresh(311)), ({ status }) => status === 200))
      }))
  }
)

// A busy machine takes more than a second to bring the calls of the crowd to the engine.
layer(serverLayer({ ROUTING_ENGINE_TIMEOUT: "3 seconds" }), { excludeTestServices: true })(
  "an engine that fails",
  (it) => {
    it.effect("by hanging, under load, refuses at once what it cannot serve", () =>
      Effect.gen(function*() {
        const engine = yield* StandInEngine
        const peak = { now: 0, count: 0 }
        yield* engine.behave((_request, response) => {
          peak.now += 1
          peak.count = Math.max(peak.count, peak.now)
          response.on("close", () => (peak.now -= 1))
        })
        const before = engine.asked.length
        const visitor = yield* anonymous
        const answers = yield* Effect.all(Array.from({ length: 300 }, (_, n) => ask(fresh(400 + n))), {
          concurrency: "unbounded"
        })
        const statuses = answers.map(({ status }) => status)
        assert.isTrue(statuses.every((status) => status === 503 || status === 504))
        const busy = answers.filter(({ status }) => status === 503)
        assert.isAtLeast(busy.length, 100)
        assert.isTrue(busy.some(({ headers, text }) => text.includes("is busy") && headers.get("retry-after") === "2"))
        assert.isBelow(engine.asked.length - before, 150)
        assert.strictEqual(peak.count, 32)
        assert.strictEqual((yield* visitor.get("/routes/public")).status, 200)
      }))
  }
)

const endsInTime = Effect.fnUntraced(function*(fault: HttpFault, statusCode: number, n: number) {
  const engine = yield* StandInEngine
  const sockets: Array<Socket> = []
  yield* engine.misbehave((request, response) => {
    sockets.push(request.socket)
    HTTP_FAULTS[fault](request, response)
  })
  const answers = yield* Effect.all([ask(fresh(70)), ask(fresh(71)), matchOf(SHORT_TRACE)], {
    concurrency: "unbounded"
  })
  for (const { body } of answers) assert.deepInclude(body, { statusCode, code: "INTERNAL" })
  yield* until(Effect.sync(() => sockets.every(({ destroyed }) => destroyed)))
  yield* engine.behave(json(TRIP))
  assert.strictEqual((yield* ask(fresh(72 + n))).status, 200)
})

layer(serverLayer({ ROUTING_ENGINE_TIMEOUT: "1 second" }), { excludeTestServices: true })(
  "an engine that responds slowly",
  (it) => {
    for (const [n, fault] of (["drip", "dripHeaders"] as const).entries()) {
      it.effect(`with ${fault} ends in time, and with it the connection`, () => endsInTime(fault, 504, n))
    }
  }
)

layer(serverLayer({ ROUTING_ENGINE_TIMEOUT: "25 seconds" }), { excludeTestServices: true })(
  "an engine that responds with nonsense",
  (it) => {
    for (const [n, [fault, status]] of ([["endless", 502], ["notHttp", 503]] as const).entries()) {
      it.effect(`with ${fault} ends in time, and with it the connection`, () => endsInTime(fault, status, n))
    }

    it.effect("with what is not JSON, to routes or to traces, is not called for a while", () =>
      Effect.gen(function*() {
        const engine = yield* StandInEngine
        const outcomes = Effect.map(
          Effect.flatMap(anonymous, (visitor) => visitor.get("//metrics")),
          ({ text }) => Number(/^routing_engine_calls_total\{outcome="bad_answer"\} (\d+)/m.exec(text)?.[1])
        )
        const isOpen = Effect.flatMap(anonymous, (visitor) =>
          Effect.map(visitor.get("//health/ready"), ({ text }) => text.includes("circuit-open")))
        const long = " ".repeat(INLINE_BYTES)
        const trace = matchOf(SHORT_TRACE)
        const nonsense = [
          ["<html>canary</html>", trace],
          [`{"trip":${long}`, ask(fresh(80))],
          [`{"shape":${long}`, trace]
        ] as const
        for (const [n, [text, call]] of nonsense.entries()) {
          const before = yield* outcomes
          yield* engine.behave((_request, response) =>
            void response.end(text)
          )
          assert.strictEqual((yield* call).status, 502)
          assert.strictEqual(yield* outcomes, before + 1)
          yield* engine.behave(json(TRIP))
          assert.strictEqual((yield* ask(fresh(81 + n))).status, 200)
        }
        yield* engine.behave((_request, response) => void response.end(`{"shape":${long}`))
        for (let calls = 0; calls < 5; calls++) assert.strictEqual((yield* trace).status, 502)
        assert.isTrue(yield* isOpen)
        assert.strictEqual((yield* trace).status, 503)
      }))
  }
)
