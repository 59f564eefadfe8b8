import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger, References, Schema } from "effect"
import { jsonLogger } from "../../src/layers/Logging.ts"
import { ConnectionTimeouts } from "../../src/layers/NodeServer.ts"
import { anonymous, signedIn } from "../support/Actors.ts"
import { JSON_TYPE, type RawAnswer, rawExchange, requestHead, sendRaw } from "../support/RawHttp.ts"
import { created, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const ErrorBody = Schema.fromJsonString(Schema.Struct({
  statusCode: Schema.Int,
  code: Schema.String,
  message: Schema.NonEmptyString,
  details: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json))
}))

const bodyOf = Schema.decodeUnknownSync(ErrorBody, { onExcessProperty: "error" })

const headersOf = ({ head }: RawAnswer) => {
  const [, ...lines] = head.split("\r\n")
  return Object.fromEntries(lines.map((line) => [
    line.slice(0, line.indexOf(":")).toLowerCase(),
    line.slice(line.indexOf(":") + 1).trim()
  ]))
}

const Line = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({
  message: Schema.Unknown,
  traceId: Schema.optionalKey(Schema.String),
  annotations: Schema.Record(Schema.String, Schema.Unknown)
})))

const written: Array<string> = []

const recording = Layer.merge(
  Logger.layer([Logger.map(jsonLogger, (line) => written.push(line))]),
  Layer.succeed(References.MinimumLogLevel, "Info")
)

const requestLines = () => written.map((line) => Line(line)).filter(({ message }) => message === "request")

const COUNT = /^http_server_requests_total\{method="(\w+)",route="([^"]+)",status="(\w+)"\} (\d+)$/gm

const seriesOf = (method: string, route: string, status: string, count: number): readonly [string, number] => [
  `${method} ${route} ${status}`,
  count
]

/** Returns how often requests were counted, by method, route and status. */
const counts = Effect.map(
  Effect.flatMap(anonymous, (visitor) => visitor.get("//metrics")),
  ({ text }) =>
    new Map(
      [...text.matchAll(COUNT)].map(([, method = "", route = "", status = "", count]) =>
        seriesOf(method, route, status, Number(count))
      )
    )
)

const CLOSE = "Connection: close\r\n"

const LOGIN = "/api/v1/auth/login-email"

const login = (headers: string, rest = "") =>
  `POST ${LOGIN} HTTP/1.1\r\nHost: localhost\r\n${CLOSE}Content-Type: application/json\r\n${headers}\r\n${rest}`

const get = (headers: string) => `GET /health HTTP/1.1\r\n${headers}\r\n`

interface Refused {
  readonly name: string
  readonly raw: string
  readonly status: number
  readonly code?: string
  readonly message: RegExp
  readonly method?: string
  readonly route?: string
}

const MALFORMED = /not well-formed HTTP\/1\.1/

const HOST = /^header\.Host: /

const TABLE: ReadonlyArray<Refused> = [
  { name: "no request line", raw: "\r\n\r\nrubbish\r\n\r\n", status: 400, message: MALFORMED },
  { name: "a request line of one word", raw: "GET\r\n\r\n", status: 400, message: MALFORMED },
  { name: "no path", raw: "GET  HTTP/1.1\r\nHost: a\r\n\r\n", status: 400, message: MALFORMED },
  { name: "no HTTP", raw: "GET / FTP/1.1\r\nHost: a\r\n\r\n", status: 400, message: MALFORMED },
  { name: "a method in lower case", raw: "get / HTTP/1.1\r\nHost: a\r\n\r\n", status: 400, message: MALFORMED },
  { name: "a TLS handshake", raw: "\u0016\u0003\u0001\u0002\u0000\u0001", status: 400, message: MALFORMED },
  { name: "the preface of HTTP/2", raw: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", status: 400, message: MALFORMED },
  { name: "a header without a name", raw: get("Host: a\r\n: b\r\n"), status: 400, message: MALFORMED },
  {
    name: "a header with a control character",
    raw: get("Host: a\r\nX: b\u0000c\r\n"),
    status: 400,
    message: MALFORMED
  },
  { name: "lines without a carriage return", raw: "GET / HTTP/1.1\nHost: a\n\n", status: 400, message: MALFORMED },
  {
    name: "another version",
    raw: "GET /health HTTP/2.0\r\nHost: a\r\n\r\n",
    status: 400,
    message: /Expected HTTP\/1\.1 or HTTP\/1\.0, not HTTP\/2\.0/,
    method: "GET"
  },
  { name: "no Host", raw: get(CLOSE), status: 400, message: HOST, method: "GET" },
  { name: "two Hosts", raw: get("Host: a\r\nHost: b\r\n"), status: 400, message: HOST, method: "GET" },
  { name: "the same Host twice", raw: get("Host: a\r\nhost: a\r\n"), status: 400, message: HOST, method: "GET" },
  {
    name: "a second Host behind a thousand headers",
    raw: get(`Host: a\r\n${"a:\r\n".repeat(1500)}Host: b\r\n`),
    status: 400,
    message: HOST,
    method: "GET"
  },
  ...["", "a b", "a,b", "a/b", "user@a", "a:b", "a:99999", "[::1", "http://a", "1.2.3.256", "a?b", "ä"].map((host) => ({
    name: `Host "${host}"`,
    raw: get(`Host: ${host}\r\n`),
    status: 400,
    message: HOST,
    method: "GET"
  })),
  {
    name: "two lengths",
    raw: login("Content-Length: 2\r\nContent-Length: 3\r\n", "{} "),
    status: 400,
    message: MALFORMED
  },
  { name: "a negative length", raw: login("Content-Length: -2\r\n", "{}"), status: 400, message: MALFORMED },
  {
    name: "a length beside chunks",
    raw: login("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
    status: 400,
    message: MALFORMED
  },
  ...["gzip", "identity", "gzip, chunked"].map((coding) => ({
    name: `the transfer coding ${coding}`,
    raw: login(`Transfer-Encoding: ${coding}\r\n`, "0\r\n\r\n"),
    status: 501,
    code: "INTERNAL",
    message: /^Transfer-Encoding: only "chunked" is implemented$/,
    method: "POST"
  })),
  {
    name: "chunks that are not the last coding",
    raw: login("Transfer-Encoding: chunked, identity\r\n"),
    status: 400,
    message: MALFORMED
  },
  ...["zz\r\n", "5\r\nabcdefgh\r\n0\r\n\r\n", "fffffffffffffffff\r\n", `1;${"x".repeat(20_000)}\r\na\r\n`].map((
    rest
  ) => ({
    name: `the chunk ${JSON.stringify(rest.slice(0, 20))}`,
    raw: login("Transfer-Encoding: chunked\r\n", rest),
    status: 400,
    message: /its chunks are malformed/,
    method: "POST",
    route: LOGIN
  })),
  {
    name: "headers of 16 KiB",
    raw: get(`Host: a\r\nX: ${"y".repeat(16 * 1024)}\r\n`),
    status: 431,
    message: /at most 16384 bytes/
  },
  {
    name: "a path of 16 KiB",
    raw: `GET /${"x".repeat(16 * 1024)} HTTP/1.1\r\n`,
    status: 431,
    message: /at most 16384/
  },
  ...["200-ok", "100-continue, x"].map((expectation) => ({
    name: `the expectation ${expectation}`,
    raw: login(`Expect: ${expectation}\r\nContent-Length: 2\r\n`, "{}"),
    status: 417,
    message: /^Expect: only "100-continue" is implemented$/,
    method: "POST"
  })),
  {
    name: "CONNECT",
    raw: "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n",
    status: 404,
    code: "NOT_FOUND",
    message: /CONNECT/
  }
]

const assertUsual = (name: string, answer: RawAnswer, status: number, code: string) => {
  const body = bodyOf(answer.body)
  assert.deepStrictEqual([answer.status, body.statusCode, body.code], [status, status, code], name)
  const headers = headersOf(answer)
  assert.deepInclude(headers, {
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(answer.body)),
    "connection": "close",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "strict-transport-security": "max-age=63072000"
  }, name)
  return body
}

layer(
  TestServer.layer({ BASE_URL: "https://api.example.com" }).pipe(Layer.provideMerge(recording)),
  { excludeTestServices: true }
)("a request that is refused before its path is looked at", (it) => {
  it.effect("gets its error in the one shape, is logged and counted, and its connection is closed", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      for (
        const { code = "VALIDATION_FAILED", message, method = "_OTHER", name, raw, route = "unmatched", status }
          of TABLE
      ) {
        const series = `${method} ${route} ${Math.floor(status / 100)}xx`
        const before = (yield* counts).get(series) ?? 0
        const lines = requestLines().length
        const answer = yield* sendRaw(origin, Buffer.from(raw, "latin1"))
        const body = assertUsual(name, answer, status, code)
        assert.match(body.message, message, name)
        yield* until(Effect.sync(() => requestLines().length > lines))
        const [line, ...others] = requestLines().slice(lines)
        assert.isEmpty(others, name)
        const { durationMs, ...rest } = line?.annotations ?? {}
        const error = { code, client: "127.0.0.0/24" }
        assert.deepStrictEqual(rest, { method, route, status, bytes: answer.body.length, ...error }, name)
        assert.isNumber(durationMs)
        if (status >= 500) assert.strictEqual(body.details?.["traceId"], line?.traceId, name)
        assert.strictEqual((yield* counts).get(series), before + 1, name)
      }
    }))

  it.effect("is refused in its turn: a request before it on the connection gets its response first", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const text =
        "GET /api/v1/nothing HTTP/1.1\r\nHost: a\r\n\r\nGET /health/ready HTTP/1.1\r\nHost: a\r\n\r\nrubbish\r\n\r\n"
      const { body, head } = yield* sendRaw(origin, text)
      const statuses = [...`${head}\r\n\r\n${body}`.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status)
      assert.deepStrictEqual(statuses, ["404", "200", "400"])
    }))

  it.effect("is none of these: an ordinary Host, with or without a port, or none in HTTP/1.0", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      for (
        const host of [
          "localhost",
          "a-b.example:3000",
          "127.0.0.1:80",
          "[::1]:3000",
          "some_service",
          "a:",
          "A.Example."
        ]
      ) {
        const raw = `GET /health/live HTTP/1.1\r\nHost: ${host}\r\n${CLOSE}\r\n`
        assert.strictEqual((yield* sendRaw(origin, raw)).status, 200, host)
      }
      assert.strictEqual((yield* sendRaw(origin, "GET /health/live HTTP/1.0\r\n\r\n")).status, 200)
    }))
})

layer(
  TestServer.layer({ BASE_URL: "https://api.example.com" }).pipe(
    Layer.provideMerge(recording),
    Layer.provide(Layer.succeed(ConnectionTimeouts, { ...ConnectionTimeouts.defaultValue(), headers: 200 }))
  ),
  { excludeTestServices: true }
)("a request whose headers do not arrive in time", (it) => {
  it.effect("is refused with 408, logged and counted", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const lines = requestLines().length
      const answer = yield* sendRaw(origin, "GET /health HTTP/1.1\r\nHost: loc")
      const body = assertUsual("408", answer, 408, "VALIDATION_FAILED")
      assert.strictEqual(body.message, "The request line and headers did not arrive in time")
      assert.deepInclude(requestLines()[lines]?.annotations, { method: "_OTHER", route: "unmatched", status: 408 })
      assert.strictEqual((yield* counts).get("_OTHER unmatched 4xx"), 1)
    }))

  it.effect("is served if they did while the process had no time to read them", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const answer = yield* rawExchange(origin, (socket) => {
        socket.write("GET /health/live HTTP/1.1\r\n")
        // Timers are next after an immediate, and sockets after them.
        const keepBusy = () => {
          socket.write(`Host: localhost\r\n${CLOSE}\r\n`)
          const until = performance.now() + 600
          while (performance.now() < until);
        }
        setTimeout(() => setImmediate(keepBusy), 50)
      })
      assert.strictEqual(answer.status, 200)
    }))
})

layer(TestServer.layer())("a request that is out of the ordinary", (it) => {
  it.effect("with an unusual method is refused with the methods of its path, or without a path", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const methods = ["PROPFIND", "PURGE", "SEARCH", "M-SEARCH", "LOCK", "MKCOL", "REPORT", "LINK", "QUERY", "TRACE"]
      for (const method of methods) {
        const known = yield* sendRaw(origin, requestHead(`${method} /api/v1/routes/1`))
        assert.strictEqual(known.status, 405, method)
        assert.deepInclude(bodyOf(known.body), { statusCode: 405, code: "NOT_FOUND" }, method)
        const allowed = headersOf(known)["allow"]?.split(", ").toSorted()
        assert.deepStrictEqual(allowed, ["DELETE", "GET", "HEAD", "PATCH"], method)
        const docs = yield* sendRaw(origin, requestHead(`${method} /api`))
        assert.deepStrictEqual([docs.status, headersOf(docs)["allow"]], [405, "GET, HEAD"], method)
        const unknown = yield* sendRaw(origin, requestHead(`${method} /api/v1/nothing`))
        assert.strictEqual(unknown.status, 404, method)
        assert.deepInclude(bodyOf(unknown.body), { statusCode: 404, code: "NOT_FOUND" }, method)
      }
    }))

  it.effect("that offers to upgrade is served without, body and all", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const body = `{"email":"a@example.com","password":"x"}`
      for (const protocol of ["h2c", "websocket"]) {
        const head = requestHead(`POST ${LOGIN}`, {
          "Content-Type": "application/json",
          "Content-Length": String(body.length),
          "Upgrade": protocol
        }).replace("Connection: close", "Connection: Upgrade, HTTP2-Settings, close")
        assert.strictEqual((yield* sendRaw(origin, head, body)).status, 401, protocol)
        const chunked = head.replace(/Content-Length: \d+/, "Transfer-Encoding: chunked")
        const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
        assert.strictEqual((yield* sendRaw(origin, chunked, chunks)).status, 401, protocol)
        const read = requestHead("GET /health/live", { Upgrade: protocol })
        assert.strictEqual((yield* sendRaw(origin, read.replace("close", "Upgrade, close"))).status, 200, protocol)
      }
    }))

  it.effect("that expects 100 Continue gets it, and then the response", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const body = `{"email":"a@example.com","password":"x"}`
      const head = requestHead(`POST ${LOGIN}`, {
        "Content-Type": "application/json",
        "Content-Length": String(body.length),
        "Expect": "100-Continue"
      })
      const answer = yield* sendRaw(origin, head, body)
      assert.strictEqual(answer.status, 100)
      assert.match(answer.body, /^HTTP\/1\.1 401 /)
    }))

  it.effect("whose chunks are refused before they have ended closes its connection, and says so", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const head = requestHead("POST /api/v1/routes", { ...JSON_TYPE, "Transfer-Encoding": "chunked" })
      const answer = yield* sendRaw(origin, head.replace("Connection: close\r\n", ""), "2\r\n{}\r\n")
      assert.match(answer.head, /^HTTP\/1\.1 401 /)
      assert.strictEqual(headersOf(answer)["connection"], "close")
    }))

  it.effect("with an entity tag is compared weakly", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { id } = created((yield* rider.post("/routes", newRoute({}))).body)
      const { headers } = yield* rider.get(`/routes/${id}`)
      const etag = headers.get("etag") ?? ""
      const strong = etag.replace(/^W\//, "")
      assert.match(etag, /^W\/"/)
      const status = (tags: string) =>
        Effect.map(rider.get(`/routes/${id}`, { headers: { "if-none-match": tags } }), ({ status }) => status)
      for (const tags of [etag, strong, `"x", ${strong}`, `W/"x",${etag}`, "*"]) {
        assert.strictEqual(yield* status(tags), 304, tags)
      }
      for (const tags of [`"x"`, `w/${strong}`, strong.replaceAll("\"", "")]) {
        assert.strictEqual(yield* status(tags), 200, tags)
      }
    }))
})
