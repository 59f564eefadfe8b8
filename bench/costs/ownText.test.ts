import { assert, it } from "@effect/vitest"
import { ConfigProvider, Context, Duration, Effect, Layer, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { RateLimiter } from "effect/persistence"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { addressSubjects } from "../../src/http/request/ClientAddress.ts"
import { SessionId, UserId } from "../../src/schema/Ids.ts"
import { SessionTokens } from "../../src/services/accounts/Sessions.ts"
import { processCountersLayer } from "../../src/services/admission/RateLimits.ts"
import { ownText } from "../../src/services/operations/Keys.ts"
import { SECRETS } from "../../test/support/TestServer.ts"

setFlagsFromString("--expose-gc")

const collectGarbage: () => void = runInNewContext("gc")

const MIB = 1024 * 1024

/** Returns a part of a long text, such as a cookie of a header. */
const partOf = (part: string) => (" ".repeat(MIB) + part).slice(-part.length)

const COUNT = 64

/** Returns how many bytes the heap has grown by after work for each of `COUNT` texts. */
const keptBy = <R>(work: (n: number) => Effect.Effect<unknown, never, R>) =>
  Effect.gen(function*() {
    yield* work(0)
    collectGarbage()
    const before = process.memoryUsage().heapUsed
    for (let n = 1; n <= COUNT; n++) yield* work(n)
    collectGarbage()
    return process.memoryUsage().heapUsed - before
  })

const numbered = (n: number) => `somebody-${String(n).padStart(20, "0")}`

/** Less is kept than half of the long texts. */
const MOST_KEPT = COUNT * MIB / 2

it.effect("a part of a text is kept without the rest only as a text of its own", () =>
  Effect.gen(function*() {
    const parts: Array<string> = []
    const keep = (of: (text: string) => string) =>
      keptBy((n) => Effect.sync(() => void parts.push(of(partOf(numbered(n))))))
    assert.isAbove(yield* keep((text) => text), MOST_KEPT)
    assert.isBelow(yield* keep(ownText), MOST_KEPT)
    assert.lengthOf(parts, 2 * (COUNT + 1))
  }))

it.effect("a verified session token is known without the header that it came in", () =>
  Effect.gen(function*() {
    const config = ConfigProvider.layer(ConfigProvider.fromUnknown(SECRETS))
    const built = Layer.build(Layer.fresh(Layer.provide(SessionTokens.layer, config)))
    const tokens = Context.get(yield* built, SessionTokens)
    const others = Context.get(yield* built, SessionTokens)
    const sid = SessionId.make("00000000-0000-4000-8000-000000000000")
    const verify = Effect.fnUntraced(function*(n: number) {
      const token = yield* others.sign({ sub: UserId.make(n + 1), sid, role: "user", units: "metric" })
      assert.isTrue(Option.isSome(yield* tokens.verify(partOf(token))))
    })
    assert.isBelow(yield* keptBy(verify), MOST_KEPT)
  }).pipe(Effect.scoped))

it.effect("an address is known without the header that forwarded it", () =>
  Effect.gen(function*() {
    const request = HttpServerRequest.fromWeb(new Request("http://localhost"))
    const know = (n: number) =>
      Effect.sync(() =>
        addressSubjects(request.modify({ remoteAddress: Option.some(partOf(`2001:db8:1:2:3:4:5:${n}`)) }))
      )
    assert.isBelow(yield* keptBy(know), MOST_KEPT)
  }))

it.effect("a rate limit is counted without the body that named its subject", () =>
  Effect.gen(function*() {
    const store = Context.get(yield* Layer.build(processCountersLayer), RateLimiter.RateLimiterStore)
    const window = { tokens: 1, refillRate: Duration.minutes(1), limit: 5 }
    const count = (n: number) => Effect.orDie(store.fixedWindow({ key: partOf(numbered(n)), ...window }))
    assert.isBelow(yield* keptBy(count), MOST_KEPT)
  }).pipe(Effect.scoped))
