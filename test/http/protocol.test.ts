import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { request } from "node:http"
import { SocketTimeouts } from "../../src/layers/SocketTimeouts.ts"
import { anonymous, newEmail, signedIn, withHeaders } from "../support/Actors.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { requestHead, sendRaw } from "../support/RawHttp.ts"
import { created, newRoute } from "../support/Routes.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"

const isError = Schema.is(Schema.Struct({
  statusCode: Schema.Int,
  code: Schema.Literals([
    "VALIDATION_FAILED",
    "NOT_FOUND",
    "UNAUTHORIZED",
    "FORBIDDEN",
    "CONFLICT",
    "PRECONDITION_REQUIRED",
    "RATE_LIMITED",
    "INTERNAL"
  ]),
  message: Schema.NonEmptyString,
  details: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json))
}))

const parseJson = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Json))

const assertError = (body: unknown, status: number, code: string, label: string) => {
  assert.isTrue(isError(body), `${label}: ${JSON.stringify(body)}`)
  assert.deepInclude(body, { statusCode: status, code }, label)
}

const JSON_TYPE = { "content-type": "application/json" }

const KIB = 1024

/** A sign-in body of exactly so many bytes. */
const loginOfSize = (size: number) => {
  const [head, tail] = [`{"email":"a@example.com","password":"x","filler":"`, `"}`]
  return head + "x".repeat(size - head.length - tail.length) + tail
}

layer(TestServer.layer())("the protocol", (it) => {
  it.effect("a path that is not in the contract to the letter is not found", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const paths = [
        "/nothing",
        "/api/",
        "/api/v1",
        "/api/v1/",
        "/api/v2/routes",
        "/API/V1/routes",
        "/api/v1/Routes",
        "/api/v1/routes/",
        "//api/v1/routes",
        "/api/v1//routes",
        "/api/v1/users/../routes",
        "/api/v1/%2e%2e/health",
        "/api/v1/users%2fme",
        "/api/v1/routes/1/2",
        "/health/",
        "/health/other",
        "/%",
        "/%zz",
        "/api/v1/routes/%ff",
        "/api/v1/routes/__proto__",
        "/constructor",
        "/api/v1/users/me/..%5c",
        "/health/live;x",
        "/health;x=1",
        "/health/liv%65",
        "/%68ealth",
        "/health#x",
        "/metrics;x",
        "/%6detrics",
        "/api/v1/routes/public;x=1",
        "/api/v1/%72outes/public",
        "/api/v1/routes/publi%63?gate=public"
      ]
      for (const path of paths) {
        const answer = yield* sendRaw(origin, requestHead(`GET ${path}`))
        assert.strictEqual(answer.status, 404, path)
        assertError(parseJson(answer.body), 404, "NOT_FOUND", path)
        assert.match(answer.head, /content-type: application\/json/i, path)
      }
      for (const method of ["POST", "OPTIONS", "DELETE"]) {
        assert.strictEqual((yield* sendRaw(origin, requestHead(`${method} /health/live;x`))).status, 404, method)
      }
      const query = yield* sendRaw(origin, requestHead("GET /health/live?a=%3B;#"))
      assert.strictEqual(query.status, 200)
    }))

  it.effect("a path of the contract with another method names those it has", () =>
    Effect.gen(function*() {
      const { call } = yield* TestServer
      const cases = [
        ["PUT", "/routes", "GET, HEAD, POST"],
        ["DELETE", "/routes", "GET, HEAD, POST"],
        ["POST", "/routes/1", "DELETE, GET, HEAD, PATCH"],
        ["PUT", "/routes/1", "DELETE, GET, HEAD, PATCH"],
        ["GET", "/auth/login-email", "POST"],
        ["HEAD", "/auth/login-email", "POST"],
        ["PATCH", "/users/profile", "GET, HEAD"],
        ["POST", "//health/ready", "GET, HEAD"]
      ] as const
      for (const [method, path, allowed] of cases) {
        const answer = yield* call(method, path)
        assert.strictEqual(answer.status, 405, `${method} ${path}`)
        assert.strictEqual((answer.headers.get("allow") ?? "").split(", ").toSorted().join(", "), allowed)
        if (method !== "HEAD") assertError(answer.body, 405, "NOT_FOUND", path)
      }
    }))

  it.effect("HEAD is GET without its body", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { call } = yield* TestServer
      const get = yield* rider.get("/routes")
      const head = yield* call("HEAD", "/routes", { headers: { cookie: rider.cookie } })
      assert.strictEqual(head.status, 200)
      assert.strictEqual(head.text, "")
      for (const name of ["x-total-count", "link", "content-type"]) {
        assert.strictEqual(head.headers.get(name), get.headers.get(name), name)
      }
      assert.strictEqual((yield* call("HEAD", "/nothing")).status, 404)
    }))

  it.effect("what is no JSON is refused as such, whoever sends it", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const texts = [
        "",
        " ",
        "{",
        "}",
        "[",
        "]",
        "nul",
        "NULL",
        "True",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "{\"a\":}",
        "{:1}",
        "{,}",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{'a':1}",
        "{a:1}",
        "\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\t\"",
        "\"a\nb\"",
        "01",
        "+1",
        "1.",
        ".5",
        "1e",
        "-",
        "0x10",
        "NaN",
        "Infinity",
        "-Infinity",
        "[1]]",
        "{}{}",
        "{} x",
        "// c\n{}",
        "{/**/}",
        "undefined",
        "\u00a0{}",
        "\u0000",
        "{\"a\":1",
        "[\"a",
        "#{}",
        "<a/>",
        "a=b&c=d",
        "\\",
        "[\\u0041]",
        "\ufeff{}"
      ]
      for (const raw of texts) {
        const answer = yield* visitor.post("/auth/login-email", undefined, { raw, headers: JSON_TYPE })
        assert.strictEqual(answer.status, 400, JSON.stringify(raw))
        assertError(answer.body, 400, "VALIDATION_FAILED", JSON.stringify(raw))
      }
    }))

  it.effect("JSON of another shape is refused with the paths that do not fit", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const texts = [
        "null",
        "true",
        "1",
        "-0",
        "1e400",
        "123456789012345678901234567890",
        "\"text\"",
        "[]",
        "{}",
        "[[]]",
        "[{}]",
        `{"email":null,"password":null}`,
        `{"email":{},"password":[]}`,
        `{"email":1e999,"password":-1e999}`
      ]
      for (const raw of texts) {
        const answer = yield* visitor.post("/auth/login-email", undefined, { raw, headers: JSON_TYPE })
        assert.strictEqual(answer.status, 400, raw)
        assertError(answer.body, 400, "VALIDATION_FAILED", raw)
      }
    }))

  it.effect("of a key that is there twice the last counts", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const raw = `{"name":"x","waypoints":[{"coord":[1,2]}],"visibility":"private","visibility":"unlisted"}`
      const answer = yield* rider.post("/routes", undefined, { raw, headers: JSON_TYPE })
      assert.strictEqual(created(answer.body)["visibility"], "unlisted")
    }))

  it.effect("a body is taken as JSON in UTF-8 when it says so, and only then", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const raw = new TextEncoder().encode(`{"email":"a@example.com","password":"x"}`)
      const send = (headers: Readonly<Record<string, string>>) =>
        Effect.map(
          visitor.post("/auth/login-email", undefined, { raw, headers }),
          ({ body, status }) => ({ body, status })
        )
      const accepted = [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        "application/json;charset=\"UTF-8\""
      ]
      for (const type of accepted) assert.strictEqual((yield* send({ "content-type": type })).status, 401, type)
      const refused = [
        {},
        { "content-type": "" },
        { "content-type": "text/plain" },
        { "content-type": "application/x-www-form-urlencoded" },
        { "content-type": "multipart/form-data; boundary=x" },
        { "content-type": "application/vnd.api+json" },
        { "content-type": "application/json; charset=utf-16" },
        { "content-type": "application/jsonp" },
        { "content-type": "text/plain, application/json" },
        { "content-type": "application/json", "content-encoding": "gzip" },
        { "content-type": "application/json", "content-encoding": "br" }
      ]
      for (const headers of refused) {
        const { body, status } = yield* send(headers)
        assert.strictEqual(status, 415, JSON.stringify(headers))
        assertError(body, 415, "VALIDATION_FAILED", JSON.stringify(headers))
      }
    }))

  it.effect("bytes that are not UTF-8 are refused, not replaced", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      for (const broken of [[0xff], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80]]) {
        const raw = Buffer.concat([
          Buffer.from(`{"email":"`),
          Buffer.from(broken),
          Buffer.from(`@b.cc","password":"x"}`)
        ])
        const answer = yield* visitor.post("/auth/login-email", undefined, {
          raw: new Uint8Array(raw),
          headers: JSON_TYPE
        })
        assert.strictEqual(answer.status, 400)
        assertError(answer.body, 400, "VALIDATION_FAILED", "utf-8")
      }
    }))

  it.effect("a body may have as many bytes as its limit, declared or in chunks, and not one more", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const visitor = yield* anonymous
      const limit = 64 * KIB
      const declared = (size: number) =>
        visitor.post("/auth/login-email", undefined, { raw: loginOfSize(size), headers: JSON_TYPE })
      assert.strictEqual((yield* declared(limit - 1)).status, 401)
      assert.strictEqual((yield* declared(limit)).status, 401)
      const over = yield* declared(limit + 1)
      assert.strictEqual(over.status, 413)
      assert.deepInclude(over.body, { code: "VALIDATION_FAILED", details: { limitBytes: limit } })

      const chunked = (size: number) => {
        const body = loginOfSize(size)
        const head = requestHead("POST /api/v1/auth/login-email", { ...JSON_TYPE, "Transfer-Encoding": "chunked" })
        return sendRaw(origin, head, `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`)
      }
      assert.strictEqual((yield* chunked(limit)).status, 401)
      const overInChunks = yield* chunked(limit + 1)
      assert.strictEqual(overInChunks.status, 413)
      assertError(parseJson(overInChunks.body), 413, "VALIDATION_FAILED", "chunked")
    }))

  it.effect("a body far over its limit is refused without being read", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const before = process.memoryUsage().rss
      const head = (headers: Readonly<Record<string, string>>) =>
        requestHead("POST /api/v1/auth/login-email", { ...JSON_TYPE, ...headers })
      const declared = yield* sendRaw(origin, head({ "Content-Length": String(1024 * KIB * KIB) }), "{")
      assert.strictEqual(declared.status, 413)
      const megabyte = Buffer.alloc(KIB * KIB, "x")
      const chunks = Array.from({ length: 64 }, () => [`${megabyte.length.toString(16)}\r\n`, megabyte, "\r\n"]).flat()
      const chunked = yield* sendRaw(origin, head({ "Transfer-Encoding": "chunked" }), ...chunks)
      assert.include([413, undefined], chunked.status)
      assert.isBelow(process.memoryUsage().rss - before, 128 * KIB * KIB)
    }))

  it.effect("a body shorter than declared is not acted upon", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const rider = yield* signedIn
      const body = JSON.stringify(newRoute({}))
      const headers = { ...JSON_TYPE, cookie: rider.cookie, "content-length": body.length + 10 }
      yield* Effect.callback<void>((resume) => {
        const sent = request(`${origin}/api/v1/routes`, { method: "POST", headers })
        sent.on("error", () => resume(Effect.void))
        sent.write(body)
        setTimeout(() => sent.destroy(), 50)
      })
      assert.strictEqual((yield* rider.get("/routes")).headers.get("x-total-count"), "0")
    }))

  it.effect("a body has at most 16 levels, in members that are ignored too", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      for (const [depth, status] of [[15, 201], [16, 400], [500_000, 400]] as const) {
        const nested = "[".repeat(depth) + "]".repeat(depth)
        const raw = `{"name":"x","waypoints":[{"coord":[1,2]}],"unknown":${nested}}`
        const answer = yield* rider.post("/routes", undefined, { raw, headers: JSON_TYPE })
        assert.strictEqual(answer.status, status, `unknown member, ${depth}`)
      }
      for (const depth of [15, 100, 10_000, 100_000, 500_000]) {
        const nested = "[".repeat(depth) + "]".repeat(depth)
        for (const member of ["geometry", "waypoints", "tags", "routingPreferences", "name"]) {
          const raw = `{"name":"x","waypoints":[{"coord":[1,2]}],"${member}":${nested}}`
          const answer = yield* rider.post("/routes", undefined, { raw, headers: JSON_TYPE })
          assert.strictEqual(answer.status, 400, `${member} ${depth}`)
          assertError(answer.body, 400, "VALIDATION_FAILED", member)
        }
      }
    }))

  it.effect("a very wide body is refused as quickly", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const wide = `{"name":"x","waypoints":[{"coord":[1,2]}],"routingPreferences":{${
        Array.from({ length: 200_000 }, (_, n) => `"k${n}":1`).join(",")
      }},"tags":[${Array.from({ length: 100_000 }, () => `"t"`).join(",")},"-"]}`
      const answer = yield* rider.post("/routes", undefined, { raw: wide, headers: JSON_TYPE })
      assert.strictEqual(answer.status, 400)
    }))

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

  it.effect("every answer is JSON, hardened, and kept by no cache", () =>
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

  it.effect("an unknown parameter of a list is refused, with those that are known; elsewhere it is ignored", () =>
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
        assert.include(text, "\"path\":\"tagg\"")
        assert.include(text, "Unknown parameter: Expected one of ")
        assert.include(text, "limit, offset")
        assert.strictEqual((yield* rider.get(`${list}?limit=1`)).status, 200, list)
      }
      const { id } = created((yield* rider.post("/routes", newRoute({}))).body)
      assert.strictEqual((yield* rider.get(`/routes/${id}?utm_source=x`)).status, 200)
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

layer(
  TestServer.layer({
    CORS_ORIGINS: "https://app.example.com, http://localhost:5173",
    BASE_URL: "https://api.example.com"
  })
)(
  "front ends on other origins",
  (it) => {
    it.effect("get CORS headers when they are listed, to the letter", () =>
      Effect.gen(function*() {
        const visitor = yield* anonymous
        const allowed = (origin: string) =>
          Effect.map(visitor.get("//health", { headers: { origin } }), ({ headers }) => ({
            origin: headers.get("access-control-allow-origin"),
            credentials: headers.get("access-control-allow-credentials"),
            vary: headers.get("vary")
          }))
        for (const origin of ["https://app.example.com", "http://localhost:5173"]) {
          assert.deepInclude(yield* allowed(origin), { origin, credentials: "true" })
          assert.include((yield* allowed(origin)).vary?.toLowerCase() ?? "", "origin")
        }
        const others = [
          "http://app.example.com",
          "https://app.example.com.evil.example",
          "https://evilapp.example.com",
          "null",
          "https://app.example.com:8443",
          "https://APP.example.com.",
          "*"
        ]
        for (const origin of others) assert.isNull((yield* allowed(origin)).origin, origin)
      }))

    it.effect("may ask before they send", () =>
      Effect.gen(function*() {
        const { call } = yield* TestServer
        const headers = {
          origin: "https://app.example.com",
          "access-control-request-method": "PATCH",
          "access-control-request-headers": "content-type"
        }
        const answer = yield* call("OPTIONS", "/routes/1", { headers })
        assert.strictEqual(answer.status, 204)
        assert.include(answer.headers.get("access-control-allow-methods") ?? "", "PATCH")
        assert.strictEqual(answer.headers.get("access-control-max-age"), "600")
      }))

    it.effect("strict transport security follows from an https address", () =>
      Effect.gen(function*() {
        const { headers } = yield* (yield* anonymous).get("//health")
        assert.match(headers.get("strict-transport-security") ?? "", /max-age=\d{8}/)
      }))
  }
)

layer(TestServer.layer())("without listed origins", (it) => {
  it.effect("no answer has a CORS header", () =>
    Effect.gen(function*() {
      const { headers } = yield* (yield* anonymous).get("//health", { headers: { origin: "https://a.example" } })
      assert.isNull(headers.get("access-control-allow-origin"))
    }))
})

layer(
  TestServer.layer().pipe(Layer.provide(Layer.succeed(SocketTimeouts, { headers: 5000, stalled: 300, idle: 300 }))),
  {
    excludeTestServices: true
  }
)(
  "a connection on which nothing moves",
  (it) => {
    it.effect("is closed, before any other limit would", () =>
      Effect.gen(function*() {
        const { origin } = yield* TestServer
        assert.isBelow((yield* sendRaw(origin, "GET / HTTP/1.1\r\nHost")).milliseconds, 4000)
      }))
  }
)
