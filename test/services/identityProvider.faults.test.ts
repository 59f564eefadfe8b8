import { assert, describe } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import type { RequestListener } from "node:http"
import type { Socket } from "node:net"
import { HTTP_FAULTS } from "../support/HttpFaults.ts"
import {
  answering,
  fact,
  hangUp,
  outcome,
  outcomeOf,
  SECONDS,
  tagOf,
  trusting,
  withCode,
  withToken
} from "../support/Identities.ts"
import { DISCOVERY, OpenIdProvider } from "../support/OpenIdProvider.ts"
import { until } from "../support/Waiting.ts"

describe("the provider's keys", () => {
  fact(
    "are fetched at the first use, once for all who come at a time, and kept for 10 minutes",
    () =>
      Effect.gen(function*() {
        const provider = yield* OpenIdProvider
        const token = yield* provider.token({ exp: SECONDS + 7200 })
        assert.strictEqual(provider.hits(DISCOVERY), 0)
        yield* Effect.all(Array.from({ length: 50 }, () => withToken(token)), { concurrency: "unbounded" })
        yield* TestClock.adjust("599 seconds")
        yield* withToken(token)
        assert.deepStrictEqual([provider.hits(DISCOVERY), provider.hits("/jwks")], [1, 1])
        yield* TestClock.adjust("1 second")
        yield* withToken(token)
        assert.deepStrictEqual([provider.hits(DISCOVERY), provider.hits("/jwks")], [1, 2])
        yield* TestClock.adjust("50 minutes")
        yield* withToken(token)
        assert.strictEqual(provider.hits(DISCOVERY), 2)
      })
  )

  fact("a new one works once the 30 seconds are over in which we do not ask again", () =>
    Effect.gen(function*() {
      const provider = yield* OpenIdProvider
      yield* withToken(yield* provider.token())
      const token = yield* provider.token({}, yield* provider.newKey("ES256"))
      yield* TestClock.adjust("29 seconds")
      assert.strictEqual(yield* outcome(token), "SignInRefused")
      assert.strictEqual(provider.hits("/jwks"), 1)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* outcome(token), "accepted")
      assert.strictEqual(provider.hits("/jwks"), 2)
    }))

  fact("a flood of unknown ones is one fetch", () =>
    Effect.gen(function*() {
      const provider = yield* OpenIdProvider
      yield* withToken(yield* provider.token())
      yield* TestClock.adjust("1 minute")
      const flood = yield* Effect.forEach(Array.from({ length: 50 }, (_, kid) => ({ kid: `${kid}` })), (header) =>
        provider.token({}, undefined, header))
      const outcomes = yield* Effect.forEach(flood, outcome, { concurrency: 10 })
      assert.deepStrictEqual(new Set(outcomes), new Set(["SignInRefused"]))
      assert.strictEqual(provider.hits("/jwks"), 2)
    }))

  fact("go on while the provider does not give them out, but are asked for again", () =>
    Effect.gen(function*() {
      const provider = yield* OpenIdProvider
      yield* withToken(yield* provider.token())
      yield* provider.misbehave("/jwks", hangUp)
      yield* TestClock.adjust("11 minutes")
      const token = yield* provider.token()
      assert.strictEqual(yield* outcome(token), "accepted")
      assert.strictEqual(yield* outcome(token), "accepted")
      assert.strictEqual(yield* outcomeOf({}, { kid: "unknown" }), "UpstreamAway")
      assert.strictEqual(provider.hits("/jwks"), 2)
      yield* provider.behave("/jwks")
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual(yield* outcome(token), "accepted")
      assert.strictEqual(yield* outcomeOf({}, { kid: "unknown" }), "SignInRefused")
      assert.strictEqual(provider.hits("/jwks"), 3)
    }))

  fact("of other kinds are ignored, but there must be one that we can use", () =>
    Effect.gen(function*() {
      const provider = yield* OpenIdProvider
      const token = yield* provider.token()
      const { e, kid, kty, n } = { ...(yield* provider.keys)[0] }
      const others = [{ kty: "OKP", crv: "Ed25519", x: "AA" }, { kty: "oct", k: "AAAA", kid }, null, "key"]
      yield* provider.misbehave("/jwks", answering(200, JSON.stringify({ keys: others })))
      assert.strictEqual(yield* outcome(token), "UpstreamUnusable")
      yield* provider.misbehave("/jwks", answering(200, JSON.stringify({ keys: [...others, { kty, n, e, kid }] })))
      assert.strictEqual(yield* outcome(token), "accepted")
    }))
})

describe("a provider in trouble", () => {
  fact("is unavailable when it is down, and at once back when it is back", () =>
    Effect.gen(function*() {
      const provider = yield* OpenIdProvider
      yield* provider.misbehave(DISCOVERY, hangUp)
      assert.strictEqual(yield* tagOf(withCode("a code")), "UpstreamAway")
      yield* provider.behave(DISCOVERY)
      yield* provider.misbehave("/jwks", hangUp)
      assert.strictEqual(yield* tagOf(withCode("a code")), "UpstreamAway")
      yield* provider.behave("/jwks")
      assert.strictEqual(yield* tagOf(withCode("a code")), "accepted")
      yield* provider.stop
      assert.strictEqual(yield* tagOf(withCode("a code")), "UpstreamAway")
    }))

  for (const path of [DISCOVERY, "/token", "/jwks"]) {
    fact(`answers too late at ${path}`, () =>
      Effect.gen(function*() {
        const provider = yield* OpenIdProvider
        const slow: ReadonlyArray<RequestListener> = [
          () => undefined,
          (_, response) => void response.writeHead(200).write("{")
        ]
        for (const [index, listener] of slow.entries()) {
          yield* provider.misbehave(path, listener)
          const signIn = yield* Effect.forkChild(tagOf(withCode("a code")))
          yield* until(Effect.sync(() => provider.hits(path) === index + 1))
          yield* TestClock.adjust("4999 millis")
          assert.strictEqual(signIn.pollUnsafe(), undefined)
          yield* TestClock.adjust("1 millis")
          assert.strictEqual(yield* Fiber.join(signIn), "UpstreamSlow")
        }
      }))

    for (const fault of ["drip", "dripHeaders", "endless", "notHttp"] as const) {
      fact(
        `does ${fault} at ${path} for its timeout at most, and is used again when it is back`,
        () =>
          Effect.gen(function*() {
            const provider = yield* OpenIdProvider
            const sockets: Array<Socket> = []
            yield* provider.misbehave(path, (request, response) => {
              sockets.push(request.socket)
              HTTP_FAULTS[fault](request, response)
            })
            const signIn = yield* Effect.forkChild(tagOf(withCode("a code")))
            yield* until(Effect.sync(() => sockets.length > 0))
            if (fault.startsWith("drip")) yield* TestClock.adjust("5 seconds")
            const expected = { drip: "UpstreamSlow", dripHeaders: "UpstreamSlow", endless: "UpstreamUnusable" }
            assert.strictEqual(yield* Fiber.join(signIn), fault === "notHttp" ? "UpstreamAway" : expected[fault])
            yield* until(Effect.sync(() => sockets.every(({ destroyed }) => destroyed)))
            yield* provider.behave(path)
            assert.strictEqual(yield* tagOf(withCode("a code")), "accepted")
          })
      )
    }

    fact(`answers something useless at ${path}`, () =>
      Effect.gen(function*() {
        const provider = yield* OpenIdProvider
        const [key] = yield* provider.keys
        const { alg, e, kid, kty, n } = { ...key }
        const rest = {
          issuer: provider.url,
          token_endpoint: `${provider.url}/token`,
          jwks_uri: `${provider.url}/jwks`,
          id_token: yield* provider.token(),
          keys: [{ alg, e, kid, kty, n }]
        }
        // Every path would take the body, were it not for its status or size.
        const good = (size: number) => {
          const padding = size - JSON.stringify({ ...rest, padding: "" }).length
          return JSON.stringify({ ...rest, padding: "x".repeat(padding) })
        }
        const declared = (body: string) => answering(200, body, { "content-length": String(body.length) })
        const elsewhere = { location: `${provider.url}/elsewhere` }
        const useless: ReadonlyArray<RequestListener> = [
          answering(500, good(5000)),
          answering(300, good(5000)),
          answering(302, good(5000), elsewhere),
          answering(307, good(5000), elsewhere),
          declared(good(2 ** 20 + 1)),
          answering(200, good(2 ** 21)),
          answering(200, good(2 ** 17 + 1)),
          answering(200, "<html>", { "content-type": "text/html" }),
          answering(200, ""),
          answering(204, ""),
          answering(200, "null"),
          answering(200, "[]"),
          answering(200, JSON.stringify({ keys: {}, id_token: 7, issuer: provider.url })),
          answering(200, new Uint8Array([0xff, 0xfe])),
          (_, response) => {
            response.writeHead(200, { "content-length": "100" }).write("{", () => response.destroy())
          }
        ]
        for (const [index, listener] of useless.entries()) {
          yield* provider.misbehave(path, listener)
          assert.strictEqual(yield* tagOf(withCode("a code")), "UpstreamUnusable", String(index))
        }
        assert.strictEqual(provider.hits("/elsewhere"), 0)
        yield* provider.misbehave(path, answering(503, good(5000)))
        assert.strictEqual(yield* tagOf(withCode("a code")), "UpstreamAway")
        for (const largest of [declared(good(2 ** 20)), answering(200, good(2 ** 17))]) {
          yield* provider.misbehave(path, largest)
          assert.strictEqual(yield* tagOf(withCode("a code")), "accepted")
        }
      }))
  }

  fact(
    "has the answers of its own documents refused as useless, but that to a code as ours to know",
    () =>
      Effect.gen(function*() {
        const provider = yield* OpenIdProvider
        for (
          const [path, expected] of [[DISCOVERY, "UpstreamUnusable"], ["/jwks", "UpstreamUnusable"], [
            "/token",
            "SignInRefused"
          ]] as const
        ) {
          yield* provider.misbehave(path, answering(404, "{}"))
          assert.strictEqual(yield* tagOf(withCode("a code")), expected)
          yield* provider.behave(path)
        }
      })
  )

  fact("that hangs is sent 32 codes at once, and further ones are refused at once", () =>
    Effect.gen(function*() {
      const provider = yield* OpenIdProvider
      assert.strictEqual(yield* tagOf(withCode("a code")), "accepted")
      const before = provider.hits("/token")
      yield* provider.misbehave("/token", () => undefined)
      const crowd = yield* Effect.forEach(
        Array.from({ length: 32 }),
        () => Effect.forkChild(tagOf(withCode("a code")))
      )
      yield* until(Effect.sync(() => provider.hits("/token") === before + 32))
      // The clock stands still: what waited would never end.
      assert.strictEqual(yield* tagOf(withCode("a code")), "ProviderBusy")
      assert.strictEqual(yield* outcome(yield* provider.token()), "accepted")
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(new Set(yield* Fiber.joinAll(crowd)), new Set(["UpstreamSlow"]))
      yield* provider.behave("/token")
      assert.strictEqual(yield* tagOf(withCode("a code")), "accepted")
    }))

  fact("must call itself by the name that we have for it, with or without a final slash", () =>
    Effect.gen(function*() {
      const provider = yield* OpenIdProvider
      const document = (issuer: string) =>
        answering(
          200,
          JSON.stringify({ issuer, token_endpoint: `${provider.url}/token`, jwks_uri: `${provider.url}/jwks` })
        )
      for (const issuer of ["https://accounts.google.com", `${provider.url}/realm`, `${provider.url}//`, ""]) {
        yield* provider.misbehave(DISCOVERY, document(issuer))
        assert.strictEqual(yield* outcomeOf({}), "UpstreamUnusable")
      }
      yield* provider.misbehave(DISCOVERY, document(`${provider.url}/`))
      assert.strictEqual(yield* outcomeOf({}), "SignInRefused")
      assert.strictEqual(yield* outcomeOf({ iss: `${provider.url}/` }), "accepted")
    }))

  fact("may live below a path", () =>
    Effect.gen(function*() {
      const provider = yield* OpenIdProvider
      const issuer = `${provider.url}/realm`
      yield* provider.misbehave(
        `/realm${DISCOVERY}`,
        answering(
          200,
          JSON.stringify({ issuer, token_endpoint: `${provider.url}/token`, jwks_uri: `${provider.url}/jwks` })
        )
      )
      const token = yield* provider.token({ iss: issuer })
      for (const setting of [issuer, `${issuer}/`]) {
        assert.strictEqual(yield* Effect.provide(outcome(token), Layer.fresh(trusting(setting))), "accepted")
      }
    }))
})
