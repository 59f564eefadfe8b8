import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { SignJWT, UnsecuredJWT } from "jose"
import { anonymous, newEmail, withHeaders } from "../support/Actors.ts"
import { HTTP_FAULTS } from "../support/HttpFaults.ts"
import { answering, hangUp } from "../support/Identities.ts"
import { ada, CLIENT_ID, DISCOVERY, NOW, OpenIdProvider } from "../support/OpenIdProvider.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const SECRET = "canary-client-secret"

const serverLayer = Layer.unwrap(
  Effect.map(OpenIdProvider, ({ url }) =>
    TestServer.layer({
      APP_URL: "https://app.example.com/start",
      CORS_ORIGINS: "https://planner.example.com",
      OIDC_PREFIXES: "OIDC,CLUB_2,CLUB_3",
      OIDC_ISSUER: url,
      OIDC_CLIENT_ID: CLIENT_ID,
      OIDC_CLIENT_SECRET: SECRET,
      OIDC_NAME: "The club",
      CLUB_2_ISSUER: `${url}/second`,
      CLUB_2_CLIENT_ID: CLIENT_ID,
      CLUB_2_CLIENT_SECRET: SECRET,
      CLUB_3_ISSUER: `${url}/third`,
      CLUB_3_CLIENT_ID: CLIENT_ID,
      CLUB_3_CLIENT_SECRET: SECRET
    }))
).pipe(Layer.provideMerge(OpenIdProvider.layer))

const COOKIE = "__Host-service_sign_in"

const cookieIn = ({ headers }: Answer, name: string) =>
  headers.getSetCookie().find((cookie) => cookie.startsWith(`${name}=`))?.split(";")[0]

/** Begins a sign-in as a browser does. */
const begun = Effect.fnUntraced(function*(query = "", provider = "oidc") {
  const answer = yield* (yield* anonymous).get(`/auth/oidc/${provider}/start${query}`)
  assert.strictEqual(answer.status, 303, answer.text)
  const { searchParams } = new URL(answer.headers.get("location") ?? "")
  return {
    cookie: cookieIn(answer, COOKIE) ?? "",
    state: searchParams.get("state") ?? "",
    nonce: searchParams.get("nonce") ?? "",
    challenge: searchParams.get("code_challenge")
  }
})

type Begun = Effect.Success<ReturnType<typeof begun>>

const returned = (
  { cookie }: Pick<Begun, "cookie">,
  query: Readonly<Record<string, string>> | string,
  provider = "oidc"
) =>
  Effect.flatMap(
    withHeaders(cookie === "" ? {} : { cookie }),
    (browser) => browser.get(`/auth/oidc/${provider}/callback?${new URLSearchParams(query)}`)
  )

/** The token endpoint gives this for the next codes. */
const tokens = (id_token: string) =>
  answering(
    200,
    JSON.stringify({ access_token: "canary-access-token", token_type: "Bearer", expires_in: 300, id_token })
  )

const person = () => ({ sub: crypto.randomUUID(), email: newEmail() })

/** A code is exchanged for an ID token with these claims. */
const exchanged = Effect.fnUntraced(function*(
  { nonce }: Begun,
  claims: Readonly<Record<string, unknown>> = {},
  header: Readonly<Record<string, unknown>> = {}
) {
  const provider = yield* OpenIdProvider
  const token = yield* provider.token({ nonce, ...person(), ...claims }, undefined, header)
  yield* provider.misbehave("/token", tokens(token))
})

/** Responds with the document of one more issuer of the same provider. */
const documentOf = (url: string, issuer: string, members: object = {}) =>
  answering(
    200,
    JSON.stringify({
      issuer,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      jwks_uri: `${url}/jwks`,
      ...members
    })
  )

const accounts = Effect.map(
  SqlClient.SqlClient.use((sql) => sql<{ count: number }>`SELECT count(*)::int AS count FROM users`),
  ([row]) => row?.count
)

/** The page of a sign-in that failed has no secret, sets no session and makes no account. */
const assertRefused = Effect.fnUntraced(
  function*(title: string, answer: Answer, status: number, words: string | RegExp) {
    assert.strictEqual(answer.status, status, `${title}: ${answer.text}`)
    assert.strictEqual(answer.headers.get("content-type"), "text/html; charset=utf-8", title)
    assert.strictEqual(answer.headers.get("cache-control"), "no-store", title)
    assert.isUndefined(cookieIn(answer, "__Host-service_session"), title)
    assert.match(answer.text, /<p class="error" id="error" role="alert">/, title)
    assert.match(answer.text, typeof words === "string" ? new RegExp(words) : words, title)
    for (const secret of ["canary", "eyJ"]) assert.notInclude(answer.text, secret, title)
    assert.strictEqual(yield* accounts, 0, title)
  }
)

/** Returns the cookie with another last character. */
const changed = (cookie: string) => cookie.replace(/.$/, (last) => last === "A" ? "B" : "A")

const BEGIN_AGAIN = "was not begun in this browser"
const NOT_ACCEPTED = "The sign-in was not accepted"
const UNVERIFIED = "has not verified the email address"

layer(serverLayer)("a sign-in by redirect", (it) => {
  it.effect("is refused with what belongs to another sign-in, browser or provider", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(NOW)
      const one = yield* begun()
      const other = yield* begun()
      yield* exchanged(one)
      const { cookie, state } = one
      const code = "canary-code"
      const cases = [
        ["a wrong state", returned(one, { code, state: other.state }), 401, NOT_ACCEPTED],
        ["no state", returned(one, { code }), 401, NOT_ACCEPTED],
        ["two states", returned(one, `code=a&state=${state}&state=${state}`), 401, NOT_ACCEPTED],
        ["two codes", returned(one, `code=a&code=b&state=${state}`), 401, NOT_ACCEPTED],
        ["no code", returned(one, { state }), 401, NOT_ACCEPTED],
        ["nothing", returned(one, {}), 401, NOT_ACCEPTED],
        ["an ID token in the address", returned(one, { id_token: "a.b.c", state }), 401, NOT_ACCEPTED],
        ["no cookie", returned({ cookie: "" }, { code, state }), 401, BEGIN_AGAIN],
        ["the cookie of another sign-in", returned(other, { code, state }), 401, NOT_ACCEPTED],
        ["an empty cookie", returned({ cookie: `${COOKIE}=` }, { code, state }), 401, BEGIN_AGAIN],
        ["a changed cookie", returned({ cookie: changed(cookie) }, { code, state }), 401, BEGIN_AGAIN],
        ["the cookie of another provider", returned(one, { code, state }, "club-2"), 401, BEGIN_AGAIN],
        ["another issuer", returned(one, { code, state, iss: "https://evil.example" }), 401, NOT_ACCEPTED],
        ["the refusal of the user", returned(one, { error: "access_denied", state }), 401, "did not sign you in"],
        ["the refusal of another sign-in", returned(one, { error: "access_denied", state: "x" }), 401, NOT_ACCEPTED],
        ["an unknown provider", returned(one, { code, state }, "nobody"), 401, BEGIN_AGAIN]
      ] as const
      for (const [title, answer, status, words] of cases) yield* assertRefused(title, yield* answer, status, words)
      yield* TestClock.adjust("10 minutes")
      yield* assertRefused("after ten minutes", yield* returned(one, { code, state }), 401, BEGIN_AGAIN)
      assert.strictEqual((yield* OpenIdProvider).hits("/token"), 0)
    }))

  it.effect("is refused with an ID token that is not for it", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(NOW)
      const now = NOW / 1000
      const cases: ReadonlyArray<readonly [string, Readonly<Record<string, unknown>>, (typeof UNVERIFIED)?]> = [
        ["another nonce", { nonce: "x" }],
        ["no nonce", { nonce: undefined }],
        ["another issuer", { iss: "https://evil.example" }],
        ["no issuer", { iss: undefined }],
        ["another audience", { aud: "another client" }],
        ["no audience", { aud: undefined }],
        ["several audiences", { aud: [CLIENT_ID, "another client"] }],
        ["several audiences, for another", { aud: [CLIENT_ID, "another client"], azp: "another client" }],
        ["an expired token", { exp: now }],
        ["a token without an end", { exp: undefined }],
        ["a token of a clock that is 61 seconds ahead", { iat: now + 61 }],
        ["a token that is not valid yet", { nbf: now + 120 }],
        ["no subject", { sub: undefined }],
        ["a malformed address", { email: "ada" }],
        ["an unverified address", { email_verified: false }, UNVERIFIED],
        ["an address that a text calls unverified", { email_verified: "false" }, UNVERIFIED],
        ["an address that a number calls verified", { email_verified: 1 }, UNVERIFIED]
      ]
      for (const [title, claims, words = NOT_ACCEPTED] of cases) {
        const one = yield* begun()
        yield* exchanged(one, claims)
        const answer = yield* returned(one, { code: "canary-code", state: one.state })
        yield* assertRefused(title, answer, words === UNVERIFIED ? 403 : 401, words)
      }
    }))

  it.effect("is accepted with what providers do otherwise", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(NOW)
      const now = NOW / 1000
      const cases = [
        {},
        { aud: [CLIENT_ID] },
        { aud: [CLIENT_ID, "another client"], azp: CLIENT_ID },
        { iat: now + 60, nbf: now + 50 },
        { exp: now + 1 },
        { exp: now + 30 * 86_400 },
        { email_verified: "true" },
        { typ: "ID", session_state: "x", amr: ["pwd", "mfa"], groups: ["riders"] }
      ]
      for (const claims of cases) {
        const one = yield* begun()
        yield* exchanged(one, claims)
        const answer = yield* returned(one, { code: "a-code", state: one.state, session_state: "x", scope: "openid" })
        assert.strictEqual(answer.status, 303, `${JSON.stringify(claims)}: ${answer.text}`)
      }
      yield* SqlClient.SqlClient.use((sql) => sql`DELETE FROM users`)
    }))

  it.effect("takes an address that the ID token lacks from the UserInfo endpoint, with the same checks", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(NOW)
      const provider = yield* OpenIdProvider
      const email = newEmail()
      const signIn = Effect.fnUntraced(function*(claims: object, info: object) {
        const one = yield* begun()
        yield* exchanged(one, { sub: "1", email: undefined, email_verified: undefined, ...claims })
        yield* provider.misbehave("/userinfo", answering(200, JSON.stringify(info)))
        return yield* returned(one, { code: "canary-code", state: one.state })
      })
      const verified = { email, email_verified: true }
      const cases = [
        ["another subject", {}, { sub: "2", ...verified }, 401, NOT_ACCEPTED],
        ["no subject", {}, verified, 401, NOT_ACCEPTED],
        ["no address", {}, { sub: "1", email_verified: true }, 401, NOT_ACCEPTED],
        ["an unverified address", {}, { sub: "1", email }, 403, UNVERIFIED],
        [
          "one document's address with the word of another",
          { email_verified: true },
          { sub: "1", email },
          403,
          UNVERIFIED
        ],
        ["the same the other way round", { email }, { sub: "1", email_verified: true }, 401, NOT_ACCEPTED]
      ] as const
      for (const [title, claims, info, status, words] of cases) {
        yield* assertRefused(title, yield* signIn(claims, info), status, words)
      }
      assert.strictEqual((yield* signIn({}, { sub: "1", ...verified })).status, 303)
      yield* provider.behave("/userinfo")
      yield* SqlClient.SqlClient.use((sql) => sql`DELETE FROM users`)
    }))

  it.effect("is refused with an ID token that the provider did not sign by a key that it publishes", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(NOW)
      const provider = yield* OpenIdProvider
      const foreign = yield* Effect.provide(
        Effect.flatMap(OpenIdProvider, ({ keys }) => Effect.map(keys, ([key]) => key)),
        Layer.fresh(OpenIdProvider.layer)
      )
      const forged = Effect.fnUntraced(function*({ nonce }: Begun) {
        const claims = {
          ...ada,
          nonce,
          iss: provider.url,
          aud: CLIENT_ID,
          iat: NOW / 1000,
          exp: NOW / 1000 + 3600
        }
        const [kid] = (yield* provider.keys).map((key) => key.kid)
        const good = yield* provider.token({ nonce })
        const [head, , signature] = good.split(".")
        const body = Buffer.from(JSON.stringify({ ...claims, email: "eve@example.com" })).toString("base64url")
        const bySecret = yield* Effect.promise(() =>
          new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(new TextEncoder().encode(SECRET))
        )
        return [
          new UnsecuredJWT(claims).encode(),
          bySecret,
          `${head}.${body}.${signature}`,
          `${head}.${body}.`,
          yield* provider.token({ nonce }, foreign, { kid }),
          yield* provider.token({ nonce }, foreign),
          "not a token"
        ]
      })
      for (let index = 0; index < 7; index++) {
        const one = yield* begun()
        yield* provider.misbehave("/token", tokens((yield* forged(one))[index] ?? ""))
        const answer = yield* returned(one, { code: "canary-code", state: one.state })
        yield* assertRefused(`forgery ${index}`, answer, 401, NOT_ACCEPTED)
      }
    }))

  it.effect("ends its request to the provider when the browser hangs up", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(NOW)
      const provider = yield* OpenIdProvider
      const { origin } = yield* TestServer
      const { cookie, state } = yield* begun()
      const open = new Set<unknown>()
      yield* provider.misbehave("/token", (_, response) => {
        open.add(response)
        response.on("close", () => open.delete(response))
      })
      const before = provider.hits("/token")
      for (let count = 1; count <= 40; count++) {
        const browser = new AbortController()
        const left = fetch(`${origin}/api/v1/auth/oidc/oidc/callback?code=canary-code&state=${state}`, {
          headers: { cookie },
          signal: browser.signal
        }).catch(() => undefined)
        yield* until(Effect.sync(() => provider.hits("/token") === before + count))
        browser.abort()
        yield* Effect.promise(() => left)
      }
      yield* until(Effect.sync(() => open.size === 0))
      yield* provider.behave("/token")
    }))

  it.effect("ends on a page when the provider fails, and works when it is back", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(NOW)
      const provider = yield* OpenIdProvider
      const json = { "content-type": "application/json" }
      const elsewhere = { location: `${provider.url}/elsewhere` }
      const cases = [
        ["a code that was used", answering(400, `{"error":"invalid_grant","error_description":"canary"}`, json), 401],
        ["another client secret", answering(401, `{"error":"invalid_client"}`, json), 401],
        ["no ID token", answering(200, `{"access_token":"canary","token_type":"Bearer"}`, json), 401],
        ["no JSON", answering(200, "<html>canary"), 401],
        ["an internal error", answering(500, "canary"), 502],
        ["a redirect", answering(307, "", elsewhere), 502],
        ["maintenance", answering(503, "canary"), 503],
        ["no response", hangUp, 503],
        ["a response without an end", HTTP_FAULTS.endless, 502]
      ] as const
      for (const [title, fault, status] of cases) {
        const one = yield* begun()
        yield* provider.misbehave("/token", fault)
        const answer = yield* returned(one, { code: "canary-code", state: one.state })
        yield* assertRefused(title, answer, status, status === 401 ? NOT_ACCEPTED : "The identity provider")
      }
      assert.strictEqual(provider.hits("/elsewhere"), 0)
      yield* SqlClient.SqlClient.use((sql) => sql`DELETE FROM users`)
    }))

  it.effect("asks for the keys of a provider once, and again after a failure", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(NOW)
      const provider = yield* OpenIdProvider
      const iss = `${provider.url}/third`
      yield* provider.misbehave(`/third${DISCOVERY}`, documentOf(provider.url, iss))
      const signIn = Effect.gen(function*() {
        const one = yield* begun("", "club-3")
        yield* exchanged(one, { iss })
        return yield* returned(one, { code: "canary-code", state: one.state }, "club-3")
      })
      yield* provider.misbehave("/jwks", answering(500, "canary"))
      yield* assertRefused("no keys", yield* signIn, 502, "The identity provider")
      yield* provider.behave("/jwks")
      const before = provider.hits("/jwks")
      for (let times = 0; times < 3; times++) assert.strictEqual((yield* signIn).status, 303)
      assert.strictEqual(provider.hits("/jwks"), before + 1)
      yield* SqlClient.SqlClient.use((sql) => sql`DELETE FROM users`)
    }))

  it.effect("waits five seconds for the provider", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(NOW)
      const provider = yield* OpenIdProvider
      const one = yield* begun()
      const before = provider.hits("/token")
      yield* provider.misbehave("/token", HTTP_FAULTS.hang)
      const answer = yield* Effect.forkChild(returned(one, { code: "canary-code", state: one.state }))
      yield* until(Effect.sync(() => provider.hits("/token") > before))
      yield* TestClock.adjust("5 seconds")
      yield* assertRefused("a hang", yield* Fiber.join(answer), 504, "The identity provider did not respond in time")
    }))

  it.effect("does not begin at a provider that is unknown, away, or calls itself otherwise", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(NOW)
      const provider = yield* OpenIdProvider
      const visitor = yield* anonymous
      const path = `/second${DISCOVERY}`
      const document = (members: object) => documentOf(provider.url, `${provider.url}/second`, members)
      const start = visitor.get("/auth/oidc/club-2/start")
      yield* assertRefused("unknown", yield* visitor.get("/auth/oidc/nobody/start"), 404, "No such identity provider")
      const cases = [
        ["away", hangUp, 503],
        ["no document", answering(404, "{}"), 502],
        ["another issuer", document({ issuer: provider.url }), 502],
        ["a longer issuer", document({ issuer: `${provider.url}/second/more` }), 502],
        ["nowhere to sign in", document({ authorization_endpoint: undefined }), 502]
      ] as const
      for (const [title, fault, status] of cases) {
        yield* provider.misbehave(path, fault)
        yield* assertRefused(title, yield* start, status, "The identity provider")
      }
      yield* provider.misbehave(path, document({ issuer: `${provider.url}/second/` }))
      assert.strictEqual((yield* start).status, 303)
    }))

  it.effect("leads back to this service and its front ends, and nowhere else", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(NOW)
      const visitor = yield* anonymous
      const open = [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/\t/evil.example",
        "https:evil.example",
        "javascript:alert(1)",
        "data:text/html,x",
        "blob:http://localhost:3000/x",
        "http://localhost:3000.evil.example/",
        "http://localhost:3000@evil.example/",
        "http://evil.example@localhost:3000/",
        "https://localhost:3000/",
        "https://app.example.com.evil.example/",
        "https://sub.app.example.com/",
        "http://[",
        "",
        `/${"x".repeat(2000)}`
      ]
      for (const address of open) {
        const answer = yield* visitor.get(`/auth/oidc/oidc/start?${new URLSearchParams({ return: address })}`)
        yield* assertRefused(address, answer, 400, "return: Expected a path of this service")
        assert.isNull(answer.headers.get("location"))
      }
      for (const query of ["return=/a&return=/b", "returnTo=/a", "return=/a&next=/b"]) {
        assert.strictEqual((yield* visitor.get(`/auth/oidc/oidc/start?${query}`)).status, 400, query)
      }
      const allowed = [
        ["/me/cancel-deletion?a=b#c", "http://localhost:3000/me/cancel-deletion?a=b#c"],
        ["http://localhost:3000/x", "http://localhost:3000/x"],
        [`/${"x".repeat(1999)}`, `http://localhost:3000/${"x".repeat(1999)}`],
        ["https://app.example.com/x", "https://app.example.com/x"],
        ["https://planner.example.com", "https://planner.example.com/"]
      ] as const
      for (const [address, expected] of allowed) {
        const one = yield* begun(`?${new URLSearchParams({ return: address })}`)
        yield* exchanged(one)
        const answer = yield* returned(one, { code: "a-code", state: one.state })
        assert.deepStrictEqual([answer.status, answer.headers.get("location")], [303, expected], answer.text)
      }
      const sql = yield* SqlClient.SqlClient
      yield* sql`DELETE FROM users`
    }))
})
