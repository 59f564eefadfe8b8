import { NodeHttpClient } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Cause, ConfigProvider, Effect, Layer, Logger, Tracer } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { exportSPKI, importJWK, SignJWT, UnsecuredJWT } from "jose"
import { inspect } from "node:util"
import { IdentityProvider } from "../../src/services/accounts/Provider.ts"
import {
  answering,
  CLIENT_SECRET,
  fact,
  hangUp,
  identityLayer,
  outcome,
  outcomeOf,
  SECONDS,
  tagOf,
  withCode,
  withToken
} from "../support/Identities.ts"
import { ada, CLIENT_ID, DISCOVERY, NOW, OpenIdProvider } from "../support/OpenIdProvider.ts"

describe("the user of a credential", () => {
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
      assert.strictEqual(yield* nameFrom("\u202EA\u200Bda\uFEFF"), "Ada")
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
      assert.strictEqual(yield* outcomeOf({ aud: "another client" }), "SignInRefused")
      assert.strictEqual(yield* outcomeOf({ aud: undefined }), "SignInRefused")
      assert.strictEqual(yield* outcomeOf({ aud: [] }), "SignInRefused")
      assert.strictEqual(yield* outcomeOf({ aud: [CLIENT_ID] }), "accepted")
      assert.strictEqual(yield* outcomeOf({ aud: [CLIENT_ID, "another client"] }), "SignInRefused")
      assert.strictEqual(
        yield* outcomeOf({ aud: [CLIENT_ID, "another client"], azp: "another client" }),
        "SignInRefused"
      )
      assert.strictEqual(yield* outcomeOf({ aud: [CLIENT_ID, "another client"], azp: CLIENT_ID }), "accepted")
      assert.strictEqual(yield* outcomeOf({ aud: ["another client"], azp: CLIENT_ID }), "SignInRefused")
      assert.strictEqual(yield* outcomeOf({ aud: CLIENT_ID, azp: "our app" }), "accepted")
    }))

  fact("those of another issuer", () =>
    Effect.gen(function*() {
      const provider = yield* OpenIdProvider
      const wrong = ["https://accounts.google.com", "accounts.google.com", `${provider.url}/`, "", undefined]
      for (const iss of wrong) assert.strictEqual(yield* outcomeOf({ iss }), "SignInRefused", iss)
    }))

  fact("those before and after their time", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* outcomeOf({ exp: SECONDS + 1 }), "accepted")
      assert.strictEqual(yield* outcomeOf({ exp: SECONDS }), "SignInRefused")
      assert.strictEqual(yield* outcomeOf({ exp: undefined }), "SignInRefused")
      assert.strictEqual(yield* outcomeOf({ iat: SECONDS + 60 }), "accepted")
      assert.strictEqual(yield* outcomeOf({ iat: SECONDS + 61 }), "SignInRefused")
      assert.strictEqual(yield* outcomeOf({ iat: undefined }), "SignInRefused")
      assert.strictEqual(yield* outcomeOf({ nbf: SECONDS + 61 }), "SignInRefused")
      assert.strictEqual(yield* outcomeOf({ exp: SECONDS + 86_400 }), "accepted")
      assert.strictEqual(yield* outcomeOf({ exp: SECONDS + 86_401 }), "SignInRefused")
    }))

  fact("one that was good, once the clock has gone on", () =>
    Effect.gen(function*() {
      const provider = yield* OpenIdProvider
      const token = yield* provider.token()
      yield* TestClock.adjust("59 minutes")
      yield* TestClock.adjust("59 seconds")
      assert.strictEqual(yield* outcome(token), "accepted")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* outcome(token), "SignInRefused")
    }))

  fact("those without a subject or an address", () =>
    Effect.gen(function*() {
      for (const sub of [undefined, "", "s".repeat(256), "a\u0000b"]) {
        assert.strictEqual(yield* outcomeOf({ sub }), "SignInRefused")
      }
      assert.strictEqual(yield* outcomeOf({ sub: "s".repeat(255) }), "accepted")
      for (const email of [undefined, "", "ada", 7]) assert.strictEqual(yield* outcomeOf({ email }), "SignInRefused")
    }))

  fact("those whose address the provider has not verified, as forbidden", () =>
    Effect.gen(function*() {
      for (const email_verified of [false, "false", undefined, null, 1, "yes"]) {
        assert.strictEqual(yield* outcomeOf({ email_verified }), "ProviderEmailUnverified")
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
      for (const token of tokens) assert.strictEqual(yield* outcome(token), "SignInRefused", token.slice(0, 100))
      assert.strictEqual(yield* tagOf(withCode(unsigned)), "SignInRefused")
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
      assert.strictEqual(yield* signed("RS512"), "SignInRefused")
      assert.strictEqual(yield* signed("PS256"), "SignInRefused")
      assert.strictEqual(yield* outcomeOf({}, { crit: ["ext"], ext: 1 }), "SignInRefused")
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
        assert.strictEqual(yield* outcome(token), "SignInRefused")
      }
      assert.strictEqual(yield* outcomeOf({}, { jwk, jku: url, x5u: url }), "accepted")
      assert.strictEqual(provider.hits("/attack"), 0)
    }))

  fact("a code that the provider does not take", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* Effect.flip(withCode("spent")))._tag, "SignInRefused")
    }))

  fact("a code, with a warning where the provider refuses the service and not the code", () =>
    Effect.gen(function*() {
      const provider = yield* OpenIdProvider
      const logs: Array<unknown> = []
      const recording = Logger.layer([Logger.make(({ message }) => void logs.push(message))])
      for (const [status, warnings] of [[400, []], [401, ["code exchange refused"]]] as const) {
        yield* provider.misbehave("/token", answering(status, "{}"))
        assert.strictEqual((yield* Effect.provide(Effect.flip(withCode("a code")), recording))._tag, "SignInRefused")
        assert.deepStrictEqual<unknown>(logs.flat(), warnings)
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
        assert.strictEqual(error._tag, "ProviderNotConfigured")
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
      assert.isAbove(spans.length, 0)
      assert.isAbove(logs.length, 0)
      for (const secret of [code, token, token.split(".")[2] ?? token, CLIENT_SECRET]) {
        assert.notInclude(seen, secret)
      }
    }))
})
