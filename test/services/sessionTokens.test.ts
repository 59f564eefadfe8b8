import { assert, layer } from "@effect/vitest"
import { ConfigProvider, Duration, Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { SessionId, UserId } from "../../src/schema/Ids.ts"
import { SESSION_TOKEN_LIFETIME } from "../../src/schema/Limits.ts"
import { SessionTokens } from "../../src/services/accounts/Sessions.ts"

const CLAIMS = {
  sub: UserId.make(1),
  sid: SessionId.make("01890a5d-ac96-774b-bcce-b302099a8057"),
  role: "user",
  units: "metric"
} as const

const tokensOf = (secret: string) =>
  SessionTokens.layer.pipe(
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ JWT_SECRET: secret.padEnd(32, "x") })))
  )

layer(tokensOf("ours"))("a session token", (it) => {
  it.effect("is the same for a session within a second, and another for other claims", () =>
    Effect.gen(function*() {
      const { sign } = yield* SessionTokens
      const token = yield* sign(CLAIMS)
      assert.strictEqual(yield* sign(CLAIMS), token)
      assert.notStrictEqual(yield* sign({ ...CLAIMS, units: "imperial" }), token)
      yield* TestClock.adjust("1 second")
      assert.notStrictEqual(yield* sign(CLAIMS), token)
    }))

  it.effect("is verified until it expires, also where it is known", () =>
    Effect.gen(function*() {
      const { sign, verify } = yield* SessionTokens
      const token = yield* sign(CLAIMS)
      assert.deepStrictEqual(yield* verify(token), Option.some(CLAIMS))
      yield* TestClock.adjust(Duration.subtract(SESSION_TOKEN_LIFETIME, Duration.seconds(1)))
      assert.deepStrictEqual(yield* verify(token), Option.some(CLAIMS))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* verify(token), Option.none())
    }))

  it.effect("says in whole seconds when it was issued and when it expires, and is not accepted from then on", () =>
    Effect.gen(function*() {
      const { sign, verify } = yield* SessionTokens
      yield* TestClock.setTime(Date.parse("2026-01-01T00:00:00.999Z"))
      const token = yield* sign(CLAIMS)
      const { exp, iat } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString())
      assert.deepStrictEqual([iat, exp], [1_767_225_600, 1_767_226_500])
      yield* TestClock.adjust("899 seconds")
      assert.deepStrictEqual(yield* verify(token), Option.some(CLAIMS))
      yield* TestClock.adjust("1 milli")
      assert.deepStrictEqual(yield* verify(token), Option.none())
    }))

  it.effect("of another secret, or changed, is refused beside one that is known", () =>
    Effect.gen(function*() {
      const { sign, verify } = yield* SessionTokens
      const token = yield* sign(CLAIMS)
      const foreign = yield* Effect.provide(SessionTokens.use(({ sign }) => sign(CLAIMS)), tokensOf("theirs"), {
        local: true
      })
      const [head, body, signature = ""] = token.split(".")
      const changed = [head, body, `${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`].join(".")
      for (const wrong of [foreign, changed, `${token}.`, ""]) {
        assert.deepStrictEqual(yield* verify(wrong), Option.none())
        assert.deepStrictEqual(yield* verify(wrong), Option.none())
      }
    }))
})
