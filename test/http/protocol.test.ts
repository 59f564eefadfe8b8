import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { request } from "node:http"
import { anonymous, signedIn } from "../support/Actors.ts"
import { JSON_TYPE, requestHead, sendRaw } from "../support/RawHttp.ts"
import { created, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"

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

/** Makes a sign-in body of exactly so many bytes. */
const loginOfSize = (size: number) => {
  const [head, tail] = [`{"email":"a@example.com","password":"x","filler":"`, `"}`]
  return head + "x".repeat(size - head.length - tail.length) + tail
}

const KIB = 1024

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
      const query = yield* sendRaw(origin, requestHead("GET /robots.txt?a=%3B;#"))
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

  it.effect("what is no JSON is refused as such, with and without a session", () =>
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

  it.effect("a body is read as JSON in UTF-8 if its content type says so, and only then", () =>
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
        "application/json;charset=\"UTF-8\"",
        "application/json;",
        "application/json; charset=utf8",
        "application/json; charset=us-ascii",
        "application/json; version=1",
        "application/json; profile=\"a;b\"; charset=utf-8",
        "application/json;charset=utf-8;"
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
        { "content-type": "application/json; version=1; charset=\"utf-16\"" },
        { "content-type": "application/json; charset=utf-8x" },
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
      const head = (headers: Readonly<Record<string, string>>) =>
        requestHead("POST /api/v1/auth/login-email", { ...JSON_TYPE, ...headers })
      const declared = yield* sendRaw(origin, head({ "Content-Length": String(1024 * KIB * KIB) }), "{")
      assert.strictEqual(declared.status, 413)
      const megabyte = Buffer.alloc(KIB * KIB, "x")
      const chunks = Array.from({ length: 64 }, () => [`${megabyte.length.toString(16)}\r\n`, megabyte, "\r\n"]).flat()
      const chunked = yield* sendRaw(origin, head({ "Transfer-Encoding": "chunked" }), ...chunks)
      assert.include([413, undefined], chunked.status)
    }))

  it.effect("a body shorter than declared is not acted upon", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const rider = yield* signedIn
      const body = JSON.stringify(newRoute({}))
      const length = body.length + 10
      const headers = { ...JSON_TYPE, "cookie": rider.cookie, "content-length": length, "expect": "100-continue" }
      yield* Effect.callback<void>((resume) => {
        const sent = request(`${origin}/api/v1/routes`, { method: "POST", headers })
        sent.on("close", () => resume(Effect.void)).on("error", () => undefined)
        sent.on("continue", () => sent.write(body, () => sent.destroy())).flushHeaders()
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
})
