import { NodeHttpClient } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Cause, ConfigProvider, Effect, Fiber, Layer, Logger, Redacted, type Scope, Tracer } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { exportSPKI, importJWK, SignJWT, UnsecuredJWT } from "jose"
import type { RequestListener } from "node:http"
import type { Socket } from "node:net"
import { inspect } from "node:util"
import { IdentityProvider } from "../../src/services/provider/IdentityProvider.ts"
import { HTTP_FAULTS } from "../support/HttpFaults.ts"
import { ada, CLIENT_ID, DISCOVERY, NOW, OpenIdProvider } from "../support/OpenIdProvider.ts"
import { until } from "../support/Waiting.ts"

const CLIENT_SECRET = "client-secret-of-tests-32-characters"

const SECONDS = NOW / 1000

const identityLayer = (settings: Readonly<Record<string, string>>) =>
  IdentityProvider.layer.pipe(
    Layer.provide(NodeHttpClient.layerUndici),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(settings)))
  )

const trusting = (issuer: string) =>
  identityLayer({ GOOGLE_ISSUER: issuer, GOOGLE_CLIENT_ID: CLIENT_ID, GOOGLE_CLIENT_SECRET: CLIENT_SECRET })

const world = Layer.unwrap(Effect.map(OpenIdProvider, ({ url }) => trusting(url))).pipe(
  Layer.provideMerge(OpenIdProvider.layer)
)

/** A test with a provider and a service of its own, since both remember. */
const fact = <E>(
  sentence: string,
  test: () => Effect.Effect<unknown, E, IdentityProvider | OpenIdProvider | Scope.Scope>
) => it.effect(sentence, () => TestClock.setTime(NOW).pipe(Effect.andThen(Effect.suspend(test)), Effect.provide(world)))

const withCode = (code: string) => IdentityProvider.use(({ identify }) => identify({ code: Redacted.make(code) }))

const withToken = (token: string) => IdentityProvider.use(({ identify }) => identify({ idToken: Redacted.make(token) }))

const tagOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.match(effect, { onFailure: ({ _tag }) => _tag, onSuccess: () => "accepted" })

const outcome = (token: string) => tagOf(withToken(token))

const outcomeOf = Effect.fnUntraced(
  function*(claims: Readonly<Record<string, unknown>>, header: Readonly<Record<string, unknown>> = {}) {
    const provider = yield* OpenIdProvider
    return yield* outcome(yield* provider.token(claims, undefined, header))
  }
)

const answering =
  (status: number, body: string | Uint8Array, headers: Record<string, string> = {}): RequestListener =>
  (
    _,
    response
  ) => {
    response.writeHead(status, headers).end(body)
  }

const hangUp: RequestListener = ({ socket }) => {
  socket.destroy()
}

describe("whom a credential identifies", () => {
  fact("a code is exchanged for who signed in", () =>
    Effect.gen(function*() {
      const provider = yield* OpenIdProvider
      const identity = yield* withCode("4/0AX4XfWh-a.code")
      assert.deepStrictEqual(identity, {
        issuer: provider.url,
        subject: ada.sub,
        email: ada.email,
        name: ada.name,
        picture: ada.picture
      })
      assert.deepStrictEqual({ ...provider.forms[0] }, {
        grant_type: "authorization_code",
        code: "4/0AX4XfWh-a.code",
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        redirect_uri: "postmessage"
      })
    }))

  fact("an ID token identifies as it is, also in the place of a code", () =>
    Effect.gen(function*() {
      const provider = yield* OpenIdProvider
      const token = yield* provider.token()
      const identity = yield* withToken(token)
      assert.strictEqual(identity.subject, ada.sub)
      assert.deepStrictEqual(yield* withCode(token), identity)
      assert.strictEqual(provider.hits("/token"), 0)
    }))

  fact("a code of three parts that is no JWT is a code", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* withCode("b2f1.9c3e.77aa")).subject, ada.sub)
    }))

  fact("ES256 is as good as RS256", () =>
    Effect.gen(function*() {
      const provider = yield* OpenIdProvider
      const key = yield* provider.newKey("ES256")
      assert.strictEqual((yield* withToken(yield* provider.token({}, key))).subject, ada.sub)
    }))

  fact("a name is cleaned and cut, and a picture that is no plain https URL is left out", () =>
    Effect.gen(function*() {
      const provider = yield* OpenIdProvider
      const nameFrom = (name: unknown) =>
        provider.token({ name }).pipe(Effect.flatMap(withToken), Effect.map((identity) => identity.name))
      assert.strictEqual(yield* nameFrom("  A\u0000d\u0007a\n "), "Ada")
      assert.strictEqual(yield* nameFrom("🚲".repeat(101)), "🚲".repeat(100))
      assert.strictEqual(yield* nameFrom("\u0000 "), undefined)
      assert.strictEqual(yield* nameFrom(undefined), undefined)
      assert.strictEqual(yield* nameFrom({ first: "Ada" }), undefined)
      const pictureFrom = (picture: unknown) =>
        provider.token({ picture }).pipe(Effect.flatMap(withToken), Effect.map((identity) => identity.picture))
      const longest = `https://example.com/${"a".repeat(2028)}`
      assert.strictEqual(yield* pictureFrom(longest), longest)
      const refused = [
        `${longest}a`,
        "http://example.com/a.png",
        "https://ada:secret@example.com/a.png",
        "javascript:alert(1)",
        "data:image/png;base64,AAAA",
        "/a.png",
        7,
        undefined
      ]
      for (const picture of refused) assert.strictEqual(yield* pictureFrom(picture), undefined)
    }))
})

describe("tokens that are refused", () => {
  fact("those not meant for us", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* outcomeOf({ aud: "another client" }), "Unauthorized")
      assert.strictEqual(yield* outcomeOf({ aud: undefined }), "Unauthorized")
      assert.strictEqual(yield* outcomeOf({ aud: [] }), "Unauthorized")
      assert.strictEqual(yield* outcomeOf({ aud: [CLIENT_ID] }), "accepted")
      assert.strictEqual(yield* outcomeOf({ aud: [CLIENT_ID, "another client"] }), "Unauthorized")
      assert.strictEqual(
        yield* outcomeOf({ aud: [CLIENT_ID, "another client"], azp: "another client" }),
        "Unauthorized"
      )
      assert.strictEqual(yield* outcomeOf({ aud: [CLIENT_ID, "another client"], azp: CLIENT_ID }), "accepted")
      assert.strictEqual(yield* outcomeOf({ aud: ["another client"], azp: CLIENT_ID }), "Unauthorized")
      assert.strictEqual(yield* outcomeOf({ aud: CLIENT_ID, azp: "our app" }), "accepted")
    }))

  fact("those of another issuer", () =>
    Effect.gen(function*() {
      const provider = yield* OpenIdProvider
      const wrong = ["https://accounts.google.com", "accounts.google.com", `${provider.url}/`, "", undefined]
      for (const iss of wrong) assert.strictEqual(yield* outcomeOf({ iss }), "Unauthorized", iss)
    }))

  fact("those before and after their time", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* outcomeOf({ exp: SECONDS + 1 }), "accepted")
      assert.strictEqual(yield* outcomeOf({ exp: SECONDS }), "Unauthorized")
      assert.strictEqual(yield* outcomeOf({ exp: undefined }), "Unauthorized")
      assert.strictEqual(yield* outcomeOf({ iat: SECONDS + 60 }), "accepted")
      assert.strictEqual(yield* outcomeOf({ iat: SECONDS + 61 }), "Unauthorized")
      assert.strictEqual(yield* outcomeOf({ iat: undefined }), "Unauthorized")
      assert.strictEqual(yield* outcomeOf({ nbf: SECONDS + 61 }), "Unauthorized")
      assert.strictEqual(yield* outcomeOf({ exp: SECONDS + 86_400 }), "accepted")
      assert.strictEqual(yield* outcomeOf({ exp: SECONDS + 86_401 }), "Unauthorized")
    }))

  fact("one that was good, once the clock has gone on", () =>
    Effect.gen(function*() {
      const provider = yield* OpenIdProvider
      const token = yield* provider.token()
      yield* TestClock.adjust("59 minutes")
      yield* TestClock.adjust("59 seconds")
      assert.strictEqual(yield* outcome(token), "accepted")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* outcome(token), "Unauthorized")
    }))

  fact("those without a subject or an address", () =>
    Effect.gen(function*() {
      for (const sub of [undefined, "", "s".repeat(256), "a\u0000b"]) {
        assert.strictEqual(yield* outcomeOf({ sub }), "Unauthorized")
      }
      assert.strictEqual(yield* outcomeOf({ sub: "s".repeat(255) }), "accepted")
      for (const email of [undefined, "", "ada", 7]) assert.strictEqual(yield* outcomeOf({ email }), "Unauthorized")
    }))

  fact("those whose address the provider has not verified, as forbidden", () =>
    Effect.gen(function*() {
      for (const email_verified of [false, "false", undefined, null, 1, "yes"]) {
        assert.strictEqual(yield* outcomeOf({ email_verified }), "Forbidden")
      }
      assert.strictEqual(yield* outcomeOf({ email_verified: "true" }), "accepted")
    }))

  fact("those with no signature, or one that everybody can make", () =>
    Effect.gen(function*() {
      const provider = yield* OpenIdProvider
      const [key] = yield* provider.keys
      const claims = { ...ada, iss: provider.url, aud: CLIENT_ID, iat: SECONDS, exp: SECONDS + 3600 }
      const shared = (secret: string) =>
        Effect.promise(() =>
          new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: key?.kid ?? "" })
            .sign(new TextEncoder().encode(secret))
        )
      const publicKey = yield* Effect.promise(async () => {
        const imported = await importJWK({ kty: "RSA", n: String(key?.n), e: String(key?.e) }, "RS256")
        return imported instanceof Uint8Array ? "" : exportSPKI(imported)
      })
      assert.match(publicKey, /BEGIN PUBLIC KEY/)
      const unsigned = new UnsecuredJWT(claims).encode()
      const [head, body, signature] = (yield* provider.token()).split(".")
      const forged = Buffer.from(JSON.stringify({ ...claims, email: "eve@example.com" })).toString("base64url")
      const tokens = [
        unsigned,
        `${unsigned}${signature}`,
        yield* shared(publicKey),
        yield* shared(CLIENT_SECRET),
        `${head}.${forged}.${signature}`,
        `${head}.${body}.`,
        `${head}.${body}`,
        `${head}.${body}.${signature}.${signature}`,
        "a.b.c",
        "",
        "x".repeat(100_000)
      ]
      for (const token of tokens) assert.strictEqual(yield* outcome(token), "Unauthorized", token.slice(0, 100))
      assert.strictEqual(yield* tagOf(withCode(unsigned)), "Unauthorized")
      assert.strictEqual(provider.hits("/token"), 0)
    }))

  fact("those signed by the provider in a way that we did not agree to", () =>
    Effect.gen(function*() {
      const provider = yield* OpenIdProvider
      const [key] = yield* provider.keys
      const { e, kid = "", kty, n } = { ...key }
      yield* provider.misbehave("/jwks", answering(200, JSON.stringify({ keys: [{ e, kid, kty, n }] })))
      const signed = (alg: "RS256" | "RS512" | "PS256") =>
        Effect.flatMap(provider.token({}, { ...key, kid, alg }, { alg }), outcome)
      assert.strictEqual(yield* signed("RS256"), "accepted")
      assert.strictEqual(yield* signed("RS512"), "Unauthorized")
      assert.strictEqual(yield* signed("PS256"), "Unauthorized")
      assert.strictEqual(yield* outcomeOf({}, { crit: ["ext"], ext: 1 }), "Unauthorized")
    }))

  fact("those signed with another's key, wherever the header says that it is", () =>
    Effect.gen(function*() {
      const provider = yield* OpenIdProvider
      const [key] = yield* provider.keys
      const foreign = yield* Effect.provide(
        Effect.flatMap(OpenIdProvider, ({ keys }) => Effect.map(keys, (all) => all[0])),
        Layer.fresh(OpenIdProvider.layer)
      )
      const jwk = { kty: foreign?.kty, n: foreign?.n, e: foreign?.e }
      const url = `${provider.url}/attack`
      for (const header of [{}, { jwk }, { jku: url }, { x5u: url }]) {
        const token = yield* provider.token({}, foreign, { kid: key?.kid, ...header })
        assert.strictEqual(yield* outcome(token), "Unauthorized")
      }
      assert.strictEqual(yield* outcomeOf({}, { jwk, jku: url, x5u: url }), "accepted")
      assert.strictEqual(provider.hits("/attack"), 0)
    }))

  fact("a code that the provider does not take", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(withCode("spent"))
      assert.deepStrictEqual([error._tag, error.message], ["Unauthorized", "The sign-in was not accepted"])
    }))
})

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
      assert.strictEqual(yield* outcome(token), "Unauthorized")
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
      assert.deepStrictEqual(new Set(outcomes), new Set(["Unauthorized"]))
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
      assert.strictEqual(yield* outcomeOf({}, { kid: "unknown" }), "Unavailable")
      assert.strictEqual(provider.hits("/jwks"), 2)
      yield* provider.behave("/jwks")
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual(yield* outcome(token), "accepted")
      assert.strictEqual(yield* outcomeOf({}, { kid: "unknown" }), "Unauthorized")
      assert.strictEqual(provider.hits("/jwks"), 3)
    }))

  fact("of other kinds are ignored, but there must be one that we can use", () =>
    Effect.gen(function*() {
      const provider = yield* OpenIdProvider
      const token = yield* provider.token()
      const { e, kid, kty, n } = { ...(yield* provider.keys)[0] }
      const others = [{ kty: "OKP", crv: "Ed25519", x: "AA" }, { kty: "oct", k: "AAAA", kid }, null, "key"]
      yield* provider.misbehave("/jwks", answering(200, JSON.stringify({ keys: others })))
      assert.strictEqual(yield* outcome(token), "BadGateway")
      yield* provider.misbehave("/jwks", answering(200, JSON.stringify({ keys: [...others, { kty, n, e, kid }] })))
      assert.strictEqual(yield* outcome(token), "accepted")
    }))
})

describe("a provider in trouble", () => {
  fact("is unavailable when it is down, and at once back when it is back", () =>
    Effect.gen(function*() {
      const provider = yield* OpenIdProvider
      yield* provider.misbehave(DISCOVERY, hangUp)
      assert.strictEqual(yield* tagOf(withCode("a code")), "Unavailable")
      yield* provider.behave(DISCOVERY)
      yield* provider.misbehave("/jwks", hangUp)
      assert.strictEqual(yield* tagOf(withCode("a code")), "Unavailable")
      yield* provider.behave("/jwks")
      assert.strictEqual(yield* tagOf(withCode("a code")), "accepted")
      yield* provider.stop
      assert.strictEqual(yield* tagOf(withCode("a code")), "Unavailable")
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
          assert.strictEqual(yield* Fiber.join(signIn), "GatewayTimeout")
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
            const expected = { drip: "GatewayTimeout", dripHeaders: "GatewayTimeout", endless: "BadGateway" }
            assert.strictEqual(yield* Fiber.join(signIn), fault === "notHttp" ? "Unavailable" : expected[fault])
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
        // Good for every path, were it not for its status or size.
        const good = (size: number) => {
          const padding = size - JSON.stringify({ ...rest, padding: "" }).length
          return JSON.stringify({ ...rest, padding: "x".repeat(padding) })
        }
        const elsewhere = { location: `${provider.url}/elsewhere` }
        const useless: ReadonlyArray<RequestListener> = [
          answering(500, good(5000)),
          answering(302, good(5000), elsewhere),
          answering(307, good(5000), elsewhere),
          answering(200, good(2 ** 20 + 1)),
          answering(200, good(2 ** 21)),
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
          assert.strictEqual(yield* tagOf(withCode("a code")), "BadGateway", String(index))
        }
        assert.strictEqual(provider.hits("/elsewhere"), 0)
        yield* provider.misbehave(path, answering(503, good(5000)))
        assert.strictEqual(yield* tagOf(withCode("a code")), "Unavailable")
        yield* provider.misbehave(path, answering(200, good(2 ** 20)))
        assert.strictEqual(yield* tagOf(withCode("a code")), "accepted")
      }))
  }

  fact(
    "has the answers of its own documents refused as useless, but that to a code as ours to know",
    () =>
      Effect.gen(function*() {
        const provider = yield* OpenIdProvider
        for (
          const [path, expected] of [[DISCOVERY, "BadGateway"], ["/jwks", "BadGateway"], [
            "/token",
            "Unauthorized"
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
      assert.strictEqual(yield* tagOf(withCode("a code")), "Unavailable")
      assert.strictEqual(yield* outcome(yield* provider.token()), "accepted")
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(new Set(yield* Fiber.joinAll(crowd)), new Set(["GatewayTimeout"]))
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
        assert.strictEqual(yield* outcomeOf({}), "BadGateway")
      }
      yield* provider.misbehave(DISCOVERY, document(`${provider.url}/`))
      assert.strictEqual(yield* outcomeOf({}), "Unauthorized")
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

describe("Google", () => {
  it.effect("is the provider by default, and may leave out the scheme of its name", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(NOW)
      const provider = yield* OpenIdProvider
      const asked: Array<string> = []
      const google = JSON.stringify({
        issuer: "https://accounts.google.com",
        token_endpoint: `${provider.url}/token`,
        jwks_uri: `${provider.url}/jwks`
      })
      const standIn = Layer.effect(
        HttpClient.HttpClient,
        Effect.map(
          HttpClient.HttpClient,
          HttpClient.transform((effect, request) => {
            asked.push(request.url)
            return request.url.startsWith("https://accounts.google.com/")
              ? Effect.succeed(HttpClientResponse.fromWeb(request, new Response(google)))
              : effect
          })
        )
      ).pipe(Layer.provide(NodeHttpClient.layerUndici))
      const service = IdentityProvider.layer.pipe(
        Layer.provide(standIn),
        Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({
          GOOGLE_CLIENT_ID: CLIENT_ID,
          GOOGLE_CLIENT_SECRET: CLIENT_SECRET
        })))
      )
      const issuers = yield* Effect.forEach(["https://accounts.google.com", "accounts.google.com"], (iss) =>
        provider.token({ iss }).pipe(Effect.flatMap(withToken), Effect.map(({ issuer }) => issuer))).pipe(
          Effect.provide(service)
        )
      assert.deepStrictEqual(issuers, ["https://accounts.google.com", "https://accounts.google.com"])
      assert.strictEqual(asked[0], `https://accounts.google.com${DISCOVERY}`)
    }).pipe(Effect.provide(OpenIdProvider.layer)))

  it.effect("is not asked where the service is not its client", () =>
    Effect.gen(function*() {
      for (
        const settings of [{}, { GOOGLE_CLIENT_ID: CLIENT_ID }, { GOOGLE_CLIENT_ID: "", GOOGLE_CLIENT_SECRET: "" }]
      ) {
        const error = yield* Effect.flip(withCode("a code")).pipe(
          Effect.provide(Layer.fresh(identityLayer(settings)))
        )
        assert.strictEqual(error._tag, "Unavailable")
        assert.strictEqual(error.message, "Sign-in by an identity provider is not configured")
      }
    }))
})

describe("secrets", () => {
  fact("stand in no error, log or span", () =>
    Effect.gen(function*() {
      const provider = yield* OpenIdProvider
      const code = "a-code-that-is-nobodys-business"
      const token = yield* provider.token({ aud: "another client" })
      const spans: Array<Tracer.NativeSpan> = []
      const logs: Array<unknown> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(span)
          return span
        }
      })
      const observed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
        Effect.exit(effect).pipe(
          Effect.withTracer(tracer),
          Effect.provide(Logger.layer([Logger.make((entry) => void logs.push(entry.message, entry.cause))]))
        )
      const faults = [
        answering(400, `{"error":"invalid_grant","code":"${code}"}`),
        answering(401, `{"error":"invalid_client","secret":"${CLIENT_SECRET}"}`),
        answering(500, code),
        answering(200, code),
        answering(200, JSON.stringify({ id_token: [token] })),
        hangUp
      ]
      const exits = [yield* observed(withToken(token)), yield* observed(withCode(token))]
      for (const fault of faults) {
        yield* provider.misbehave("/token", fault)
        exits.push(yield* observed(withCode(code)))
      }
      const ends = spans.map(({ status }) => status._tag === "Ended" ? status.exit : undefined)
      const causes = [...exits, ...ends].flatMap((exit) => exit?._tag === "Failure" ? [Cause.pretty(exit.cause)] : [])
      const seen = inspect(
        [exits, causes, logs, spans.map(({ attributes, events, name }) => [name, attributes, events])],
        { depth: 20, maxStringLength: null, maxArrayLength: null, showHidden: true }
      )
      assert.isTrue(exits.every((exit) => exit._tag === "Failure"))
      assert.isTrue(spans.some(({ name }) => name === "IdentityProvider.identify"))
      assert.isAbove(logs.length, 0)
      for (const secret of [code, token, token.split(".")[2] ?? token, CLIENT_SECRET]) {
        assert.notInclude(seen, secret)
      }
    }))
})
