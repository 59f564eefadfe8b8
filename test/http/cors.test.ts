import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Api } from "../../src/http/api/Api.ts"
import { SameSite } from "../../src/http/api/Requests.ts"
import { declaredEndpoints } from "../../src/http/openapi/Declared.ts"
import { anonymous, signedIn, withHeaders } from "../support/Actors.ts"
import { requestHead, sendRaw } from "../support/RawHttp.ts"
import { idOf, newRoute, shareTokenOf } from "../support/Routes.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"
import { mint, scriptOf } from "../support/Tokens.ts"

const LISTED = "https://app.example.com"

const STRANGER = "https://evil.example"

const endpoints = Object.values(Api.groups).flatMap((group) => Object.values(group.endpoints))

const OTHERS = [
  STRANGER,
  "http://app.example.com",
  "https://app.example.com.evil.example",
  "https://evilapp.example.com",
  "null",
  "https://app.example.com:8443",
  "https://APP.example.com.",
  "*"
]

const permissions = ({ headers }: Pick<Answer, "headers">) => ({
  origin: headers.get("access-control-allow-origin"),
  credentials: headers.get("access-control-allow-credentials")
})

const ANYONE = { origin: "*", credentials: null }

const NOBODY = { origin: null, credentials: null }

const names = (headers: Headers, name: string) => (headers.get(name) ?? "").toLowerCase().split(", ")

const pathOf = (path: string) => path.replace(/:(id|linkId|routeId|ref|userId|handle)/g, "999999999")

layer(TestServer.layer())("other origins, where none is listed", (it) => {
  it.effect("may read every response to a request without a cookie, never with credentials", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const nobody = yield* anonymous
      for (const { method, path } of endpoints) {
        const answer = yield* nobody.call(method, `/${pathOf(path)}`, { headers: { origin: STRANGER } })
        assert.deepStrictEqual(permissions(answer), ANYONE, `${method} ${path}`)
        assert.include(names(answer.headers, "vary"), "cookie", `${method} ${path}`)
      }
      const paths = ["//", "//nothing", "//robots.txt", "//oembed?url=x", "//r/unknown", "//api", "//health/live"]
      for (const path of paths) {
        for (const headers of [{ origin: "null" }, {}]) {
          assert.deepStrictEqual(permissions(yield* nobody.get(path, { headers })), ANYONE, path)
        }
      }
      const malformed = yield* sendRaw(origin, requestHead("GET /health", { Origin: STRANGER, "Content-Length": "x" }))
      assert.include(malformed.head.toLowerCase(), "access-control-allow-origin: *")
    }))

  it.effect("may send what they need by a preflight to every endpoint, without a credential, for a day", () =>
    Effect.gen(function*() {
      const nobody = yield* anonymous
      const wanted = ["authorization", "if-match", "idempotency-key", "x-service-confirm", "content-type"]
      for (const { method, path } of endpoints) {
        const answer = yield* nobody.call("OPTIONS", `/${pathOf(path)}`, {
          headers: {
            origin: STRANGER,
            "access-control-request-method": method,
            "access-control-request-headers": wanted.join(",")
          }
        })
        assert.strictEqual(answer.status, 204, path)
        assert.deepStrictEqual(permissions(answer), ANYONE, path)
        assert.include(names(answer.headers, "access-control-allow-methods"), method.toLowerCase())
        assert.includeMembers(names(answer.headers, "access-control-allow-headers"), wanted)
        assert.strictEqual(answer.headers.get("access-control-max-age"), "86400")
        assert.strictEqual(answer.text, "")
      }
      assert.strictEqual((yield* nobody.call("OPTIONS", "/routes", { headers: { origin: STRANGER } })).status, 405)
    }))

  it.effect("read and write with a bearer token, and see the headers that they need", () =>
    Effect.gen(function*() {
      const script = yield* scriptOf(yield* signedIn, "write")
      const made = yield* script.post("/routes", newRoute({}), { headers: { origin: STRANGER } })
      assert.strictEqual(made.status, 201)
      assert.deepStrictEqual(permissions(made), ANYONE)
      assert.includeMembers(names(made.headers, "access-control-expose-headers"), [
        "etag",
        "link",
        "location",
        "ratelimit",
        "retry-after",
        "x-access-token",
        "x-total-count"
      ])
    }))

  it.effect("have no use of a cookie: a read ignores it and leaves it, a write is 403", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const id = idOf((yield* rider.post("/routes", newRoute({}))).body)
      const shown = idOf((yield* rider.post("/routes", newRoute({ visibility: "public" }))).body)
      for (const origin of OTHERS) {
        const headers = { origin }
        const reads = yield* Effect.forEach(
          ["/users/me", `/routes/${id}`, `/routes/${shown}`, "/routes/public", "/routes"],
          (path) => rider.get(path, { headers })
        )
        assert.deepStrictEqual(reads.map(({ status }) => status), [401, 404, 200, 200, 401], origin)
        const writes = [
          yield* rider.post("/routes", newRoute({}), { headers }),
          yield* rider.delete(`/routes/${id}`, { headers }),
          yield* rider.post("/auth/logout", undefined, { headers })
        ]
        assert.deepStrictEqual(writes.map(({ status }) => status), [403, 403, 403], origin)
        for (const answer of [...reads, ...writes]) assert.deepStrictEqual(permissions(answer), NOBODY, origin)
        for (const answer of reads) assert.isNull(answer.headers.get("set-cookie"), origin)
      }
      assert.strictEqual((yield* rider.get("/users/me")).status, 200)
      const own = { origin: "http://localhost:3000", "sec-fetch-site": "same-origin" }
      assert.strictEqual((yield* rider.get("/users/me", { headers: own })).status, 200)
      assert.strictEqual((yield* rider.get("/users/me", { headers: { "sec-fetch-site": "cross-site" } })).status, 200)
    }))

  it.effect("leave an ended session's cookie as it is", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* rider.post("/auth/logout")
      const stale = yield* withHeaders({ cookie: rider.cookie })
      for (const path of ["/routes/public", "/routes/999999999"]) {
        assert.isNull((yield* stale.get(path, { headers: { origin: STRANGER } })).headers.get("set-cookie"), path)
        assert.isNotNull((yield* stale.get(path)).headers.get("set-cookie"), path)
      }
      const write = yield* stale.post("/routes", newRoute({}), { headers: { origin: STRANGER } })
      assert.deepStrictEqual([write.status, write.headers.get("set-cookie")], [403, null])
    }))

  it.effect("read no metrics, which the network of the browser would open", () =>
    Effect.gen(function*() {
      const nobody = yield* anonymous
      assert.strictEqual((yield* nobody.get("//metrics")).status, 200)
      assert.strictEqual((yield* nobody.get("//metrics", { headers: { origin: STRANGER } })).status, 404)
    }))
})

layer(TestServer.layer({ CORS_ORIGINS: `${LISTED}, http://localhost:5173` }))("listed origins", (it) => {
  it.effect("have credentials, to the letter; all others are as where none is listed", () =>
    Effect.gen(function*() {
      const nobody = yield* anonymous
      for (const origin of [LISTED, "http://localhost:5173"]) {
        const answer = yield* nobody.get("//health", { headers: { origin } })
        assert.deepStrictEqual(permissions(answer), { origin, credentials: "true" })
        assert.includeMembers(names(answer.headers, "vary"), ["origin", "cookie"])
      }
      for (const origin of OTHERS) {
        const answer = yield* nobody.get("//health", { headers: { origin } })
        assert.deepStrictEqual(permissions(answer), ANYONE, origin)
        assert.includeMembers(names(answer.headers, "vary"), ["origin", "cookie"])
      }
    }))

  it.effect("read and write with a cookie, after a preflight that grants credentials", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const headers = { origin: LISTED, "sec-fetch-site": "cross-site" }
      const preflight = yield* (yield* anonymous).call("OPTIONS", "/routes", {
        headers: { ...headers, "access-control-request-method": "POST" }
      })
      assert.strictEqual(preflight.status, 204)
      const answers = [
        preflight,
        yield* rider.get("/users/me", { headers }),
        yield* rider.post("/routes", newRoute({}), { headers }),
        yield* rider.delete("/routes/999999999", { headers })
      ]
      assert.deepStrictEqual(answers.map(({ status }) => status), [204, 200, 201, 404])
      for (const answer of answers) assert.deepStrictEqual(permissions(answer), { origin: LISTED, credentials: "true" })
    }))
})

/**
 * Each call has a parameter that no endpoint has, so that anyone who is admitted gets 400, and nothing is stored or
 * deleted.
 */
const STRAY = "cors_matrix=1"

const calls = [...declaredEndpoints().values()].filter(({ endpoint }) => endpoint.path.startsWith("/api/v1/"))

const isRead = (method: string) => method === "GET"

/** Tells whether the endpoint refuses a cookie of another origin that is not listed. */
const usesCookies = ({ callers }: (typeof calls)[number]) => ["caller", "session", "visitor"].includes(callers.kind)

const ORIGINS = { own: "http://localhost:3000", listed: LISTED, foreign: STRANGER, opaque: "null" }

layer(TestServer.layer({ CORS_ORIGINS: LISTED }))("every operation", (it) => {
  it.effect("of every origin with every credential: who may read the response, and who may write", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const nobody = yield* anonymous
      const { token } = yield* mint(rider, "write")
      const share = shareTokenOf((yield* rider.post("/routes", newRoute({ visibility: "unlisted" }))).body)
      const authorization = `Bearer ${token}`
      const { cookie } = rider
      const credentials: Readonly<Record<string, Readonly<Record<string, string>>>> = {
        none: {},
        token: { authorization },
        cookie: { cookie },
        share: {},
        both: { authorization, cookie }
      }
      assert.isAbove(calls.length, 75)
      for (const declared of calls) {
        const { endpoint: { method, path }, middleware } = declared
        const isAuth = middleware.has(SameSite.key)
        const statuses = new Map<string, number>()
        for (const [who, headers] of Object.entries(credentials)) {
          if (who === "share" && !path.includes(":ref")) continue
          const at = who === "share" ? path.replace(":ref", share) : path
          for (const [from, origin] of Object.entries(ORIGINS)) {
            const cell = `${method} ${path} with ${who} from ${from}`
            const answer = yield* nobody.call(method, `/${pathOf(at)}?${STRAY}`, {
              headers: { ...headers, origin },
              ...(isRead(method) || method === "DELETE" ? {} : { body: {} })
            })
            const isOther = from === "foreign" || from === "opaque"
            const unlisted = "cookie" in headers ? NOBODY : ANYONE
            const expected = from === "listed" ? { origin, credentials: "true" } : unlisted
            assert.deepStrictEqual(permissions(answer), expected, cell)
            statuses.set(`${who} ${from}`, answer.status)
            const isIgnored = who === "cookie" && isOther && usesCookies(declared)
            const status = isOther && isAuth || isIgnored && !isRead(method)
              ? 403
              : statuses.get(isIgnored ? "none own" : `${who} own`)
            assert.strictEqual(answer.status, status, cell)
            if (isIgnored) assert.isNull(answer.headers.get("set-cookie"), cell)
          }
        }
        assert.include([400, 401, 403], statuses.get("none own"), `${method} ${path}`)
      }
      assert.strictEqual((yield* rider.get("/users/me")).status, 200)
    }))
})
