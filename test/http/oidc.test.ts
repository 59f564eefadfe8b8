import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Schema, Struct } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { anonymous, newEmail, signedInAs, withHeaders } from "../support/Actors.ts"
import { CertifiedProvider, CLIENT } from "../support/CertifiedProvider.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"

const BASE_URL = "http://localhost:3000"

const REDIRECT_URI = `${BASE_URL}/api/v1/auth/oidc/oidc/callback`

/** Providers differ in what they send. */
const WAYS = {
  Keycloak: {
    path: "/realms/club",
    redirectUri: REDIRECT_URI,
    alg: "RS256",
    authentication: "client_secret_post",
    hasAddressInToken: true,
    more: { session_state: "6d1c9e35-1f9c-4b6f-a1f7-7b7d3a1b2c3d" }
  },
  Authentik: {
    path: "/application/o/club/",
    redirectUri: REDIRECT_URI,
    alg: "ES256",
    authentication: "client_secret_post",
    hasAddressInToken: true
  },
  "a provider that says the address at its UserInfo endpoint only": {
    path: "",
    redirectUri: REDIRECT_URI,
    alg: "RS256",
    authentication: "client_secret_basic",
    hasAddressInToken: false
  }
} as const

const serverFor = (way: keyof typeof WAYS, settings: Readonly<Record<string, string>> = {}) =>
  Layer.unwrap(
    Effect.map(CertifiedProvider, ({ issuer }) =>
      TestServer.layer({
        BASE_URL,
        APP_URL: "https://app.example.com/",
        OIDC_ISSUER: issuer,
        OIDC_CLIENT_ID: CLIENT.id,
        OIDC_CLIENT_SECRET: CLIENT.secret,
        OIDC_NAME: "The <club>",
        ...settings
      }))
  ).pipe(Layer.provideMerge(CertifiedProvider.layer(WAYS[way])))

const cookiesIn = ({ headers }: Answer) =>
  Object.fromEntries(headers.getSetCookie().map((cookie) => [cookie.split("=")[0], cookie]))

const sent = (cookie = "") => cookie.split(";")[0] ?? ""

/** Signs in as a browser does, as the person that the provider finds there. */
const signIn = Effect.fnUntraced(function*(query = "") {
  yield* TestClock.setTime(Date.now())
  const start = yield* (yield* anonymous).get(`/auth/oidc/oidc/start${query}`)
  assert.strictEqual(start.status, 303, start.text)
  const callback = yield* (yield* CertifiedProvider).visit(start.headers.get("location") ?? "")
  assert.strictEqual(`${callback.origin}${callback.pathname}`, REDIRECT_URI)
  const cookie = sent(cookiesIn(start)["__Host-service_sign_in"])
  const browser = yield* withHeaders({ cookie, "sec-fetch-site": "cross-site" })
  const path = `/auth/oidc/oidc/callback${callback.search}`
  return { start, path, browser, answer: yield* browser.get(path) }
})

const SignedIn = Schema.Struct({ id: Schema.Int, email: Schema.String, name: Schema.String })

const userOf = Effect.fnUntraced(function*(answer: Answer) {
  const session = yield* withHeaders({ cookie: sent(cookiesIn(answer)["__Host-service_session"]) })
  return yield* Schema.decodeUnknownEffect(SignedIn)((yield* session.get("/users/me")).body)
})

const newPerson = (members: object = {}) => ({
  sub: crypto.randomUUID(),
  email: newEmail(),
  email_verified: true,
  name: "Ada Rider",
  ...members
})

for (const way of Struct.keys(WAYS)) {
  layer(serverFor(way))(`sign-in by redirect to ${way}`, (it) => {
    it.effect("makes an account, finds it again, and leads back", () =>
      Effect.gen(function*() {
        const provider = yield* CertifiedProvider
        const person = newPerson()
        yield* provider.nextIs(person)
        const first = yield* signIn()
        assert.strictEqual(first.answer.status, 303, first.answer.text)
        assert.strictEqual(first.answer.headers.get("location"), "https://app.example.com/")
        assert.match(cookiesIn(first.answer)["__Host-service_sign_in"] ?? "", /^[^=]+=; Max-Age=0;/)
        const user = yield* userOf(first.answer)
        assert.deepInclude(user, { email: person.email, name: person.name })
        yield* provider.nextIs({ ...person, email: newEmail() })
        const again = yield* signIn(`?return=${encodeURIComponent("/me/revoke-tokens")}`)
        assert.strictEqual(again.answer.headers.get("location"), `${BASE_URL}/me/revoke-tokens`)
        assert.deepStrictEqual(yield* userOf(again.answer), user)
        const sql = yield* SqlClient.SqlClient
        const [identity] = yield* sql`SELECT issuer, subject FROM identities WHERE user_id = ${user.id}`
        assert.deepStrictEqual(identity, { issuer: provider.issuer, subject: person.sub })
      }))

    it.effect("links the account with the address only where that is verified", () =>
      Effect.gen(function*() {
        const provider = yield* CertifiedProvider
        const rider = yield* signedInAs({})
        for (const email_verified of [false, "false", undefined]) {
          yield* provider.nextIs(newPerson({ email: rider.email, email_verified }))
          const { answer } = yield* signIn()
          assert.strictEqual(answer.status, 403)
          assert.include(answer.text, "The identity provider has not verified the email address.")
        }
        yield* provider.nextIs(newPerson({ email: rider.email, email_verified: "true" }))
        assert.strictEqual((yield* userOf((yield* signIn()).answer)).id, rider.id)
        yield* provider.nextIs(newPerson({ email: rider.email }))
        const another = (yield* signIn()).answer
        assert.strictEqual(another.status, 409)
        assert.include(another.text, "linked to another identity")
      }))

    it.effect("takes each code once", () =>
      Effect.gen(function*() {
        yield* (yield* CertifiedProvider).nextIs(newPerson())
        const { answer, browser, path } = yield* signIn()
        assert.strictEqual(answer.status, 303)
        const again = yield* browser.get(path)
        assert.strictEqual(again.status, 401)
        assert.include(again.text, "The sign-in was not accepted.")
        assert.notProperty(cookiesIn(again), "__Host-service_session")
      }))
  })
}

layer(serverFor("Keycloak", { SIGNUP_ENABLED: "false" }))("sign-in by redirect", (it) => {
  it.effect("sends the provider what binds the response to this browser, and keeps that in a cookie", () =>
    Effect.gen(function*() {
      yield* (yield* CertifiedProvider).nextIs(newPerson())
      const { start } = yield* signIn()
      const { searchParams } = new URL(start.headers.get("location") ?? "")
      const { code_challenge, nonce, state, ...rest } = Object.fromEntries(searchParams)
      assert.deepStrictEqual(rest, {
        client_id: CLIENT.id,
        response_type: "code",
        redirect_uri: REDIRECT_URI,
        scope: "openid email profile",
        code_challenge_method: "S256"
      })
      for (const random of [code_challenge, nonce, state]) assert.match(random ?? "", /^[\w-]{43}$/)
      const cookie = cookiesIn(start)["__Host-service_sign_in"]
      assert.match(cookie ?? "", /; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/)
      assert.strictEqual(start.headers.get("cache-control"), "no-store")
      assert.strictEqual(start.headers.get("referrer-policy"), "no-referrer")
    }))

  it.effect("makes no account where sign-up is closed, and says so on a page", () =>
    Effect.gen(function*() {
      yield* (yield* CertifiedProvider).nextIs(newPerson())
      const { answer } = yield* signIn()
      assert.strictEqual(answer.status, 403)
      assert.include(answer.text, "Sign-up is closed here: ask an administrator for an invitation.")
      assert.include(answer.text, "href=\"start\"")
    }))

  it.effect("is listed for front ends of any origin, and on the pages that ask for a sign-in", () =>
    Effect.gen(function*() {
      const page = yield* withHeaders({ origin: "https://elsewhere.example", "sec-fetch-site": "cross-site" })
      const { body, headers } = yield* page.get("/auth/providers")
      assert.deepStrictEqual(body, [
        { id: "oidc", name: "The <club>", startUrl: `${BASE_URL}/api/v1/auth/oidc/oidc/start` }
      ])
      assert.strictEqual(headers.get("access-control-allow-origin"), "*")
      const condition = { headers: { "if-none-match": headers.get("etag") ?? "" } }
      assert.strictEqual((yield* page.call("GET", "/auth/providers", condition)).status, 304)
      const visitor = yield* anonymous
      for (const path of ["/me/cancel-deletion", "/me/revoke-tokens"]) {
        const href = `../api/v1/auth/oidc/oidc/start?return=${encodeURIComponent(path)}`
        const { text } = yield* visitor.get(`/${path}`)
        assert.include(text, `<a href="${href}">Sign in by The &lt;club&gt;</a>`)
        assert.strictEqual((yield* visitor.get(`//${href.slice(3)}`)).status, 303)
      }
      assert.strictEqual((yield* visitor.post("/auth/oidc/oidc/start")).status, 405)
    }))
})

describe("without a provider", () => {
  layer(TestServer.layer())((it) => {
    it.effect("there is none in the list, and none to sign in by", () =>
      Effect.gen(function*() {
        const visitor = yield* anonymous
        assert.deepStrictEqual((yield* visitor.get("/auth/providers")).body, [])
        assert.strictEqual((yield* visitor.get("/auth/oidc/oidc/start")).status, 404)
      }))
  })

  layer(TestServer.layer({
    PROVIDER_SIGN_IN_ENABLED: "false",
    OIDC_ISSUER: "http://127.0.0.1:9",
    OIDC_CLIENT_ID: CLIENT.id,
    OIDC_CLIENT_SECRET: CLIENT.secret
  }))((it) => {
    it.effect("that is allowed, it is 403 with the reason", () =>
      Effect.gen(function*() {
        const visitor = yield* anonymous
        assert.deepStrictEqual((yield* visitor.get("/auth/providers")).body, [])
        const { status, text } = yield* visitor.get("/auth/oidc/oidc/start")
        assert.strictEqual(status, 403)
        assert.include(text, "Sign-in by an identity provider is switched off here: sign in by email.")
      }))
  })
})
