import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { ConnectionTimeouts } from "../../src/layers/NodeServer.ts"
import { anonymous, newEmail, signedIn, withHeaders } from "../support/Actors.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { JSON_TYPE, requestHead, sendRaw } from "../support/RawHttp.ts"
import { newRoute } from "../support/Routes.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"

const KIB = 1024

layer(TestServer.layer())("the protocol", (it) => {
  it.effect("a request that could be read in two ways is refused and its connection closed", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const both = requestHead("POST /api/v1/auth/login-email", {
        "Transfer-Encoding": "chunked",
        "Content-Length": "4"
      })
      const requests = [
        `${both}0\r\n\r\n`,
        requestHead("POST /api/v1/auth/login-email", { "Transfer-Encoding": "chunked, identity" }),
        "GET /health HTTP/1.1\nHost: localhost\n\n",
        "GET /health HTTP/1.1\r\nHost: localhost\r\nX-A: b\u0000c\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: localhost\r\nX-A: b\r\n c\r\n\r\n",
        `GET /${"x".repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`
      ]
      for (const text of requests) {
        const { status } = yield* sendRaw(origin, text)
        assert.include([400, 414, 431], status, JSON.stringify(text.slice(0, 80)))
      }
      assert.strictEqual((yield* sendRaw(origin, requestHead("GET /health/live"))).status, 200)
    }))

  it.effect("a HEAD has the headers of its GET and no body", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const sent = (line: string) =>
        Effect.map(
          sendRaw(origin, requestHead(line, { Origin: "https://example.com" })),
          ({ body, head }) => ({ body, head: head.replaceAll(/^(?:date|x-request-id): .*$/gim, "") })
        )
      const live = yield* sent("GET /health/live")
      assert.strictEqual(live.body, "{\"status\":\"ok\"}")
      assert.deepStrictEqual({ ...live, body: "" }, yield* sent("HEAD /health/live"))
      assert.match((yield* sent("POST /health/live")).head, /^HTTP\/1\.1 405/)
      const [page, head] = yield* Effect.forEach(["GET", "HEAD"], (method) =>
        sendRaw(origin, requestHead(`${method} /nope`, { Accept: "text/html" })))
      const typeAndLength = /^content-(?:type|length): .*$/gim
      assert.deepStrictEqual(head?.head.match(typeAndLength), page?.head.match(typeAndLength))
    }))

  it.effect("every response is JSON, hardened, and stored by no cache", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const rider = yield* signedIn
      const answers = yield* Effect.all([
        visitor.get("//health", { headers: { accept: "text/html" } }),
        visitor.get("/nothing", { headers: { accept: "image/png" } }),
        visitor.get("/routes"),
        rider.get("/users/me"),
        rider.post("/routes", {})
      ])
      for (const { headers } of answers) {
        assert.match(headers.get("content-type") ?? "", /^application\/json/)
        assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
        assert.strictEqual(headers.get("referrer-policy"), "no-referrer")
        assert.strictEqual(headers.get("content-security-policy"), "default-src 'none'; frame-ancestors 'none'")
        assert.strictEqual(headers.get("cache-control"), "no-store")
        assert.isNull(headers.get("x-powered-by"))
        assert.isNull(headers.get("server"))
        assert.isNull(headers.get("strict-transport-security"))
      }
      for (const { headers } of [answers[2], answers[3]]) {
        assert.include(headers.get("vary") ?? "", "Authorization, Cookie")
      }
    }))

  it.effect("no header of a request decides where a mailed link points", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const email = newEmail()
      const body = JSON.stringify({ email, password: "a long enough password" })
      const text = requestHead("POST /api/v1/auth/signup-email", {
        ...JSON_TYPE,
        "X-Forwarded-Host": "evil.example",
        "X-Forwarded-Proto": "https",
        "Content-Length": String(body.length)
      }).replace("Host: localhost", "Host: evil.example")
      assert.strictEqual((yield* sendRaw(origin, text, body)).status, 201)
      const mailbox = yield* Mailbox
      yield* mailbox.tokenFor(email)
      assert.notInclude(JSON.stringify((yield* mailbox.mailsTo(email)).map(({ text }) => text)), "evil.example")
    }))

  it.effect("an Authorization header of any form is a session's or 401", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const status = (authorization: string) =>
        Effect.flatMap(
          withHeaders({ authorization }),
          (caller) => Effect.map(caller.get("/users/me"), (answer: Answer) => answer.status)
        )
      for (const scheme of ["Bearer", "bearer", "BEARER", "Bearer "]) {
        assert.strictEqual(yield* status(`${scheme} ${rider.token}`), 200, scheme)
      }
      const refused = [
        "",
        "Bearer",
        "Bearer ",
        "bearer",
        `Basic ${rider.token}`,
        `Bearer\t${rider.token}`,
        `Bearer ${rider.token} x`,
        `Bearer, ${rider.token}`,
        rider.token,
        `Token ${rider.token}`,
        `Bearer ${"x".repeat(8 * KIB)}`,
        "Bearer \u00e9",
        `Bearer ${rider.token}, Bearer ${rider.token}`,
        "Bearer null",
        "Bearer ../../etc",
        "Bearer service_pat_x"
      ]
      for (const authorization of refused) {
        assert.strictEqual(yield* status(authorization), 401, authorization.slice(0, 80))
      }
    }))

  it.effect("a Cookie header of any form is a session's or none", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const status = (cookie: string) =>
        Effect.flatMap(withHeaders({ cookie }), (caller) =>
          Effect.map(caller.get("/users/me"), (answer: Answer) => answer.status))
      assert.strictEqual(yield* status(`a=b; ${rider.cookie}; c=%zz; __proto__=x; =; ;`), 200)
      for (
        const cookie of [
          "",
          ";",
          "=",
          "%",
          "__proto__=x",
          "__Host-service_session=",
          "__Host-service_session",
          `x=${"y".repeat(6000)}`
        ]
      ) {
        assert.strictEqual(yield* status(cookie), 401, cookie.slice(0, 60))
      }
    }))

  it.effect("an unknown parameter of a list is refused, with those that are known", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      for (
        const list of [
          "/routes",
          "/routes/deleted",
          "/routes/public",
          `/routes/by-user/${rider.id}`,
          "/collections",
          "/me/sessions",
          "/auth/tokens"
        ]
      ) {
        const { body, status } = yield* rider.get(`${list}?limit=1&tagg=x&__proto__=x`)
        assert.strictEqual(status, 400, list)
        const text = JSON.stringify(body)
        assert.include(text, "\"path\":\"query.tagg\"")
        assert.include(text, "Unknown parameter: Expected one of ")
        assert.include(text, "limit, offset")
        assert.strictEqual((yield* rider.get(`${list}?limit=1`)).status, 200, list)
      }
    }))

  it.effect("clients that go away in the middle leave the service as it was", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const rider = yield* signedIn
      const abort = (path: string) =>
        Effect.promise(async () => {
          const controller = new AbortController()
          setTimeout(() => controller.abort(), 3)
          const headers = { cookie: rider.cookie }
          await fetch(`${origin}/api/v1${path}`, { headers, signal: controller.signal }).catch(() => undefined)
        })
      for (let round = 0; round < 20; round++) {
        yield* Effect.all(Array.from({ length: 20 }, () => abort("/routes")), { concurrency: "unbounded" })
      }
      const answers = yield* Effect.all(Array.from({ length: 20 }, () => rider.get("/routes")), {
        concurrency: "unbounded"
      })
      assert.isTrue(answers.every(({ status }) => status === 200))
    }))
})

layer(TestServer.layer({ BASE_URL: "https://api.example.com" }))("a service by https", (it) => {
  it.effect("strict transport security follows from an https address", () =>
    Effect.gen(function*() {
      const { headers } = yield* (yield* anonymous).get("//health")
      assert.match(headers.get("strict-transport-security") ?? "", /max-age=\d{8}/)
    }))
})

layer(TestServer.layer({ BASE_URL: "https://example.com/rides/", API_DOCS_ENABLED: "true" }))(
  "a service below a path of its host",
  (it) => {
    it.effect("has that path in each address that it gives", () =>
      Effect.gen(function*() {
        const rider = yield* signedIn
        const { headers } = yield* rider.post("/routes", newRoute({}))
        assert.match(headers.get("location") ?? "", /^\/rides\/api\/v1\/routes\/\d+$/)
        const list = yield* rider.get("/routes?offset=0")
        assert.match(list.headers.get("link") ?? "", /^<https:\/\/example\.com\/rides\/api\/v1\/routes\?/)
        const { text } = yield* rider.get("//api/openapi.json")
        assert.include(text, "\"servers\":[{\"url\":\"https://example.com/rides\"")
      }))
  }
)

layer(
  TestServer.layer().pipe(
    Layer.provide(Layer.succeed(ConnectionTimeouts, { headers: 60_000, keepAlive: 60_000, idle: 300 }))
  ),
  {
    excludeTestServices: true
  }
)(
  "a connection on which nothing moves",
  (it) => {
    it.effect("is closed, before any other limit would", () =>
      Effect.gen(function*() {
        const { origin } = yield* TestServer
        const { status } = yield* sendRaw(origin, "GET / HTTP/1.1\r\nHost")
        assert.isUndefined(status, "the timeout of headers is 408")
      }))
  }
)
