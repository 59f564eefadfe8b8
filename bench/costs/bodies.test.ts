import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { ROUTE_BODY_LIMIT } from "../../src/http/api/Requests.ts"
import { signedIn } from "../../test/support/Actors.ts"
import { connection, MIB } from "../../test/support/Connections.ts"
import { MATCH, matching, pointAt, withEngine } from "../../test/support/LongTrace.ts"
import {
  assertWithin,
  costOf,
  leastCostOf,
  positionsOf,
  processorTimeOf,
  workBoundBy
} from "../../test/support/ProcessorTime.ts"
import { JSON_TYPE, requestHead, sendRaw } from "../../test/support/RawHttp.ts"
import { StandInEngine } from "../../test/support/StandInEngine.ts"
import { TestServer } from "../../test/support/TestServer.ts"
import { until } from "../../test/support/Waiting.ts"

const TRIES = 5

const listed = (count: number, at: (index: number) => string) => Array.from({ length: count }, (_, n) => at(n)).join()

/** What `JSON.parse` takes in this thread, but not less than the clock can tell. */
const parseTime = (json: string) => Math.max(10, processorTimeOf(() => JSON.parse(json))[0])

/**
 * Returns the result of an effect. Asserts that it takes this thread less than twice the time of parsing, and all threads less than
 * ten times that time. The least of several turns counts, since other programs on the same cores add to a turn.
 */
const cheap = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  parsing: () => number,
  least = { parsing: Infinity, here: Infinity, inAll: Infinity },
  turns = TRIES
): Effect.Effect<A, E, R> =>
  Effect.gen(function*() {
    const parsed = parsing()
    const cost = yield* costOf(effect)
    const now = {
      parsing: Math.min(least.parsing, parsed),
      here: Math.min(least.here, cost.here),
      inAll: Math.min(least.inAll, cost.inAll)
    }
    const isCheap = now.here < 2 * now.parsing && now.inAll < 10 * now.parsing
    if (!isCheap && turns > 1) return yield* cheap(effect, parsing, now, turns - 1)
    assert.isBelow(now.here, 2 * now.parsing)
    assert.isBelow(now.inAll, 10 * now.parsing)
    return cost.value
  })

const positions = listed(99_999, (n) => `[${9 + n / 100_000},${47 + n / 200_000},411.5]`)

const bodyOf = (members: string) => `{"name":"x","waypoints":[{"coord":[1,2]}],${members}}`

layer(TestServer.layer())("a long body of a route", (it) => {
  it.effect(
    "costs this thread less than twice its parsing, and all threads less than ten times that, when it is refused",
    () =>
      Effect.gen(function*() {
        const rider = yield* signedIn
        const raw = bodyOf(`"geometry":[${positions},[200,0]]`)
        const send = rider.post("/routes", undefined, { raw, headers: JSON_TYPE })
        for (const _ of [1, 2, 3]) yield* send
        assert.strictEqual((yield* cheap(send, () => parseTime(raw))).status, 400)
      }),
    60_000
  )

  it.effect("costs this thread less than twice its parsing when most of it is ignored", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const raw = bodyOf(`"extra":[${positions}],"tags":["A b"]`)
      const stored = yield* Effect.replicateEffect(
        costOf(rider.post("/routes", undefined, { raw, headers: JSON_TYPE })),
        TRIES
      )
      assert.isBelow(Math.min(...stored.map(({ here }) => here)), 2 * parseTime(raw))
    }), 60_000)

  it.effect("costs at most ten times JSON.parse of as much, in however many pieces 8 MiB arrive", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const [head, tail] = [`<gpx version="1.1"><name>`, `</name></gpx>`]
      const entities = "&amp;".repeat((ROUTE_BODY_LIMIT - head.length - tail.length) / 5)
      const body = Buffer.from(head + entities + tail)
      const headers = { "Content-Type": "application/gpx+xml", "Cookie": rider.cookie }
      const sendSlowly = Effect.gen(function*() {
        const { closed, received, socket } = yield* connection
        socket.write(requestHead("POST /api/v1/routes/import?duplicates=allow", {
          ...headers,
          "Content-Length": String(body.length),
          "Expect": "100-continue"
        }))
        yield* until(Effect.sync(() => received().startsWith("HTTP/1.1 100 ")))
        for (let start = 0; start < body.length; start += MIB / 8) {
          yield* Effect.callback<void>((resume) =>
            void socket.write(body.subarray(start, start + MIB / 8), () => resume(Effect.void))
          )
          yield* TestClock.adjust("400 millis")
        }
        yield* closed
        return /HTTP\/1\.1 (?!100)(\d{3})/.exec(received())?.[1]
      }).pipe(Effect.scoped)
      const bound = workBoundBy(positionsOf(body.length))
      const { inAll, value } = yield* leastCostOf(sendSlowly, bound)
      assert.strictEqual(value, "400")
      assertWithin(inAll, bound)
    }))

  it.effect("far over its limit takes no memory", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const before = process.memoryUsage().rss
      const head = requestHead("POST /api/v1/auth/login-email", { ...JSON_TYPE, "Transfer-Encoding": "chunked" })
      const megabyte = Buffer.alloc(MIB, "x")
      const chunks = Array.from({ length: 64 }, () => [`${megabyte.length.toString(16)}\r\n`, megabyte, "\r\n"]).flat()
      assert.include([413, undefined], (yield* sendRaw(origin, head, ...chunks)).status)
      assert.isBelow(process.memoryUsage().rss - before, 128 * MIB)
    }))
})

const POINTS = 50_000

const TRACE = `{"activity":"cycle","shape":[${listed(POINTS, pointAt)}]}`

/** A response whose text nobody reads: what that takes is the client's. */
const unread = (raw: string) =>
  Effect.flatMap(TestServer, ({ origin }) =>
    Effect.promise(async () => {
      const response = await fetch(`${origin}/api/v1/routing/trace-attributes`, {
        method: "POST",
        headers: JSON_TYPE,
        body: raw
      })
      return { status: response.status, bytes: (await response.arrayBuffer()).byteLength }
    }))

layer(withEngine)("a long trace", (it) => {
  it.effect(
    "of 50,000 points costs this thread less than twice the parsing of what comes and goes, and all threads ten times",
    () =>
      Effect.gen(function*() {
        yield* (yield* StandInEngine).behave(matching)
        for (const _ of [1, 2, 3]) yield* unread(TRACE)
        // The engine's responses, and about as much that is sent.
        const accepted = yield* cheap(unread(TRACE), () => parseTime(TRACE) + 2 * 4 * parseTime(MATCH))
        assert.strictEqual(accepted.status, 200)
        assert.isAbove(accepted.bytes, 5_000_000)
        const broken = TRACE.replace(/\}\]/, `,"time":"1"}]`)
        for (const _ of [1, 2, 3]) yield* unread(broken)
        const refused = yield* cheap(unread(broken), () => parseTime(TRACE))
        assert.strictEqual(refused.status, 400)
      }),
    60_000
  )
})
