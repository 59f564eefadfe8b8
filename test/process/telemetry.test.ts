import { assert, layer } from "@effect/vitest"
import { Context, Deferred, Duration, Effect, Exit, Fiber, Layer, Option, Redacted, Tracer } from "effect"
import { SqlError } from "effect/sql"
import { hostname } from "node:os"
import manifest from "../../package.json" with { type: "json" }
import { collectorRequest, SpanBatch } from "../../src/layers/telemetry/CollectorExport.ts"
import { spanEncoder } from "../../src/layers/telemetry/SpanExport.ts"
import { databaseOf, samplingTracer, telemetryLayer } from "../../src/layers/telemetry/Tracing.ts"
import { NotFound, Unauthorized, Unavailable } from "../../src/schema/Errors.ts"
import { Missing, StaleVersion, UpstreamAway } from "../../src/services/DomainErrors.ts"
import { anonymous, signedUp, withHeaders } from "../support/Actors.ts"
import { Collector, type ExportedSpan } from "../support/Collector.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { newRoute, shareTokenOf } from "../support/Routes.ts"
import { configLayer, TestServer } from "../support/TestServer.ts"
import { mint, withToken } from "../support/Tokens.ts"
import { until, within } from "../support/Waiting.ts"

const TRACE = "0af7651916cd43dd8448eb211c80319c"
const PARENT = "b7ad6b7169203331"

class DatabaseUrl extends Context.Service<DatabaseUrl, string>()("test/DatabaseUrl") {
  static readonly layer = Layer.effect(DatabaseUrl, clonedDatabase)
}

/** Runs some work against a server that sends its traces to the collector; when it is over, all are there. */
const traced = <A, E>(
  work: Effect.Effect<A, E, TestServer | Mailbox>,
  settings: Readonly<Record<string, string>> = {}
) =>
  Effect.gen(function*() {
    const { url } = yield* Collector
    return yield* work.pipe(
      Effect.provide(TestServer.on(yield* DatabaseUrl, { OTEL_EXPORTER_OTLP_ENDPOINT: url, ...settings }))
    )
  })

/** The clients of these tests are our own proxies, whose traces are continued. */
const TRUSTING = { TRUSTED_PROXIES: "127.0.0.0/8" }

const inTrace = (traceparent: string) => withHeaders({ traceparent })

const spansNamed = (spans: ReadonlyArray<ExportedSpan>, name: string) => spans.filter((span) => span.name === name)

const callOnce = Effect.flatMap(anonymous, (visitor) => visitor.get("/routes/999999"))

const ERROR = 2

/** Spans are exported every few seconds. */
const EXPORT_LOOK = Duration.millis(250)

const aSpan = (
  options: {
    readonly kind?: Tracer.SpanKind
    readonly links?: Array<Tracer.SpanLink>
    readonly parent?: Option.Option<Tracer.AnySpan>
  } = {}
) =>
  new Tracer.NativeSpan({
    name: "a span",
    parent: Option.none(),
    annotations: Context.empty(),
    links: [],
    startTime: 1n,
    kind: "internal",
    sampled: true,
    ...options
  })

/** Makes a span in a trace whose flag says whether the caller samples it. */
const spanIn = (sampled: boolean) =>
  Effect.withSpan(Effect.void, "a span", { parent: Tracer.externalSpan({ traceId: TRACE, spanId: PARENT, sampled }) })

const onTracer = (settings: Readonly<Record<string, string>>) =>
  Effect.flatMap(Collector, ({ url }) =>
    Effect.andThen(spanIn(true), spanIn(false)).pipe(
      Effect.provide(Layer.provide(
        telemetryLayer,
        configLayer("postgres://127.0.0.1:1/none", { OTEL_EXPORTER_OTLP_ENDPOINT: url, ...settings })
      ))
    ))

const onCollector = Effect.provide(Collector.layer)

layer(DatabaseUrl.layer, { excludeTestServices: true })("traces", (it) => {
  it.effect("have a span for the request, and below it one for each statement", () =>
    Effect.gen(function*() {
      yield* traced(
        Effect.gen(function*() {
          const caller = yield* inTrace(`00-${TRACE}-${PARENT}-01`)
          assert.strictEqual((yield* caller.get("/routes/999999?geometry=none")).status, 404)
          const visitor = yield* anonymous
          yield* visitor.get("//health/ready")
          yield* visitor.get("//metrics")
          yield* visitor.get("/nowhere/canary-path")
        }),
        {
          ...TRUSTING,
          OTEL_SERVICE_NAME: "routes-of-a-test",
          OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test,a=b%20c"
        }
      )
      const collector = yield* Collector
      const spans = yield* collector.spans
      const ours = spans.filter(({ traceId }) => traceId === TRACE)
      const request = ours.find(({ parentSpanId }) => parentSpanId === PARENT)
      const statement = ours.find(({ parentSpanId }) => parentSpanId === request?.spanId)
      assert.strictEqual(ours.length, 2)
      if (request === undefined || statement === undefined) return assert.fail("there are spans missing")
      assert.strictEqual(request.name, "GET /api/v1/routes/{ref}")
      assert.strictEqual(request.kind, 2)
      assert.deepStrictEqual(request.attributes, {
        "app.code": "NOT_FOUND",
        "http.request.method": "GET",
        "http.route": "/api/v1/routes/{ref}",
        "http.response.status_code": 404,
        "url.scheme": "http"
      })
      assert.deepStrictEqual([request.status, request.events], [{ code: 0 }, []])
      const { "db.query.text": text, "db.namespace": database, "server.port": port, ...attributes } =
        statement.attributes
      assert.match(String(database), /^test_[0-9a-f]{32}$/)
      assert.match(String(port), /^\d+$/)
      assert.strictEqual(statement.name, `SELECT ${String(database)}`)
      assert.deepStrictEqual(attributes, {
        "db.operation.name": "SELECT",
        "db.system.name": "postgresql",
        "server.address": "127.0.0.1"
      })
      assert.include(String(text), "$1")
      assert.deepStrictEqual(spansNamed(spans, "GET").map(({ attributes }) => attributes), [
        {
          "app.code": "NOT_FOUND",
          "http.request.method": "GET",
          "http.response.status_code": 404,
          "http.route": "/*",
          "url.scheme": "http"
        }
      ])
      assert.deepStrictEqual(spans.filter(({ name }) => /health|metrics/i.test(name)), [])
      assert.deepInclude(yield* collector.resource, {
        "service.name": "routes-of-a-test",
        "service.version": manifest.version,
        "service.instance.id": `${hostname()}-${process.pid}`,
        "deployment.environment.name": "test",
        a: "b c"
      })
    }).pipe(onCollector))

  it.effect("hold no share token, address, password, credential, header or path", () =>
    Effect.gen(function*() {
      const secrets = yield* traced(Effect.gen(function*() {
        const rider = yield* signedUp
        const mail = yield* (yield* Mailbox).tokenFor(rider.email)
        const { token } = yield* mint(rider, "write")
        const made = yield* rider.post("/routes", newRoute({ visibility: "unlisted", name: "canary-name" }))
        const shareToken = shareTokenOf(made.body)
        const visitor = yield* withHeaders({
          "user-agent": "canary-agent",
          "x-forwarded-for": "203.0.113.77",
          cookie: "canary-cookie=1"
        })
        yield* visitor.get(`/routes/${shareToken}`)
        yield* visitor.get(`/routes/${shareToken}/gpx`)
        yield* visitor.get(`/nowhere/${shareToken}?token=canary-query`)
        yield* visitor.post("/auth/login-email", { email: rider.email, password: "canary-password" })
        yield* visitor.post("/auth/signup-email", { email: rider.email, password: "another canary-password" })
        yield* visitor.post("/auth/google", { code: "canary-code" })
        yield* visitor.get("/auth/oidc/canary/callback?code=canary-code&state=canary-state")
        yield* visitor.post("/routing/route", {
          activity: "cycle",
          preferences: {},
          locations: [{ lat: 47.123456, lon: 9 }, { lat: 47, lon: 9 }]
        })
        yield* visitor.call("PROPFIND", "/nowhere")
        yield* (yield* withToken(token)).get("/routes")
        yield* (yield* withToken("service_pat_canary")).get("/routes")
        yield* rider.post("/routes", newRoute({ name: "canary-name\u0000" }))
        return [shareToken, token, rider.email, rider.password, rider.token, mail, "203.0.113.77", "canary", "47.123"]
      }))
      const { requests, spans } = yield* Collector
      const sent = requests.map(({ body }) => body).join("\n")
      const callback = "GET /api/v1/auth/oidc/{provider}/callback"
      for (const name of ["GET /api/v1/routes/{ref}", "POST /api/v1/auth/login-email", callback, "POST", "HTTP"]) {
        assert.isAbove(spansNamed(yield* spans, name).length, 0, name)
      }
      for (const secret of secrets) assert.notInclude(sent, secret)
      const [failed] = spansNamed(yield* spans, "POST /api/v1/routing/route")
      assert.deepInclude(failed?.attributes, { "error.type": String(failed?.attributes["http.response.status_code"]) })
      assert.strictEqual(failed?.status.code, ERROR)
    }).pipe(onCollector))

  it("leave out whatever is not on the list, wherever in a span it is", () => {
    const linked = Tracer.externalSpan({ traceId: TRACE, spanId: PARENT })
    const span = aSpan({ links: [{ span: linked, attributes: { a: "canary" } }] })
    span.attribute("url.full", "https://example.com/canary")
    span.attribute("http.request.header.authorization", "canary")
    span.attribute("http.route", "/a/{b}")
    span.event("canary", 1n, { a: "canary" })
    const exported = spanEncoder(Option.none())(span, 2n, Exit.die(new TypeError("canary")))
    assert.deepStrictEqual(exported.attributes, [{ key: "http.route", value: { stringValue: "/a/{b}" } }])
    assert.deepStrictEqual(exported.status, { code: ERROR })
    assert.deepStrictEqual(exported.events.map(({ attributes, name }) => ({ name, attributes })), [
      { name: "exception", attributes: [{ key: "exception.type", value: { stringValue: "TypeError" } }] }
    ])
    assert.deepStrictEqual(exported.links.map(({ spanId, traceId }) => [traceId, spanId]), [[TRACE, PARENT]])
    assert.notInclude(JSON.stringify(exported), "canary")
  })

  it("name a statement by what it does and where, whatever it begins with", () => {
    const one = databaseOf(Redacted.make("postgres://db.example.com/routes"), false)
    assert.deepStrictEqual(databaseOf(Redacted.make("postgres://a,b/routes"), false), { name: "routes" })
    assert.deepStrictEqual(databaseOf(Redacted.make("postgres://a/routes"), true), { name: "routes" })
    const encode = spanEncoder(Option.some(one))
    const named = (text?: string) => {
      const span = aSpan({ kind: "client" })
      span.attribute("db.system.name", "postgresql")
      if (text !== undefined) span.attribute("db.query.text", text)
      const { attributes, name } = encode(span, 2n, Exit.void)
      assert.deepInclude(attributes, { key: "server.address", value: { stringValue: "db.example.com" } })
      return name
    }
    assert.strictEqual(named("\n  select 1"), "SELECT routes")
    assert.strictEqual(named("WITH a AS (INSERT INTO t VALUES ($1)) SELECT 1"), "INSERT routes")
    assert.strictEqual(named("with b AS (SELECT 1) SELECT 2"), "SELECT routes")
    assert.strictEqual(named(), "TRANSACTION routes")
  })

  it("have the beginning and the end of a long statement", () => {
    const span = aSpan({ kind: "client" })
    span.attribute("db.query.text", `SELECT ${"a, ".repeat(1000)} FROM routes`)
    const [text] = spanEncoder(Option.none())(span, 2n, Exit.void).attributes
    assert.match(String(text?.value.stringValue), /^SELECT (?=.{1022}$)[a, ]+ \.\.\. [a, ]+FROM routes$/)
  })

  it("have the code by which PostgreSQL refused a statement", () => {
    const cause = Object.assign(new Error("canary"), { code: "40001" })
    const reason = new SqlError.SerializationError({ cause, message: "canary" })
    const { attributes } = spanEncoder(Option.none())(aSpan(), 2n, Exit.fail(new SqlError.SqlError({ reason })))
    assert.deepStrictEqual(attributes, [{ key: "db.response.status_code", value: { stringValue: "40001" } }])
  })

  it("name a transaction by what its statements write, or else read", () => {
    const encode = spanEncoder(Option.some({ name: "routes", host: "db.example.com", port: 5432 }))
    const transactionOf = (...statements: ReadonlyArray<string>) => {
      const transaction = aSpan({ kind: "client" })
      transaction.attribute("db.system.name", "postgresql")
      for (const text of statements) {
        const span = aSpan({ kind: "client", parent: Option.some(transaction) })
        span.attribute("db.system.name", "postgresql")
        span.attribute("db.query.text", text)
        encode(span, 2n, Exit.void)
      }
      return encode(transaction, 2n, Exit.void).name
    }
    assert.strictEqual(
      transactionOf(
        "SELECT id FROM users WHERE id = $1 FOR UPDATE SKIP LOCKED",
        "INSERT INTO \"routes\" (a) VALUES ($1) ON CONFLICT (a) DO UPDATE SET a = $1",
        "WITH gone AS (DELETE FROM tokens WHERE a = $1 RETURNING id) UPDATE users u SET b = $2",
        "INSERT INTO routes (a) VALUES ($1)"
      ),
      "TRANSACTION INSERT routes, DELETE tokens, UPDATE users"
    )
    assert.strictEqual(transactionOf("SELECT 1 FROM routes r", "SELECT now()"), "TRANSACTION SELECT routes")
  })

  it("mark no span as failed for what the service refused, such as a 404, and those of its own failures", () => {
    const encode = spanEncoder(Option.none())
    const codeOf = (error: unknown) => encode(aSpan(), 2n, Exit.fail(error)).status.code
    const refusals = [
      new Missing({ kind: "route" }),
      new StaleVersion({ kind: "route", current: 2 }),
      new NotFound({ message: "No such route" }),
      new Unauthorized({
        message: "Sign in first, or send Authorization: Bearer and a token",
        details: { reason: "not_signed_in" }
      })
    ]
    for (const error of refusals) assert.notStrictEqual(codeOf(error), ERROR, error._tag)
    const failures = [
      new UpstreamAway({ name: "The routing engine" }),
      new Unavailable({ message: "busy" }),
      new TypeError("a fault")
    ]
    for (const error of failures) assert.strictEqual(codeOf(error), ERROR)
  })

  it.effect("mark neither a request nor its transaction as failed where nothing is there", () =>
    Effect.gen(function*() {
      yield* traced(Effect.gen(function*() {
        const rider = yield* signedUp
        assert.strictEqual((yield* rider.patch("/routes/999999", { name: "x" })).status, 404)
        assert.strictEqual((yield* rider.delete("/collections/999999")).status, 404)
        assert.strictEqual((yield* (yield* anonymous).get("/users/me")).status, 401)
      }))
      const spans = yield* (yield* Collector).spans
      assert.isAbove(spans.filter(({ name }) => name.startsWith("PATCH /api/v1/routes/")).length, 0)
      assert.isAbove(spans.filter(({ name }) => /^TRANSACTION (?:INSERT|UPDATE) \w/.test(name)).length, 0)
      assert.deepStrictEqual(spans.filter(({ status }) => status.code === ERROR).map(({ name }) => name), [])
    }).pipe(onCollector))

  it.effect("are sent to our own engine only", () =>
    Effect.gen(function*() {
      const { requests, url } = yield* Collector
      yield* traced(
        Effect.gen(function*() {
          const caller = yield* inTrace(`00-${TRACE}-${PARENT}-01`)
          yield* caller.post("/routing/route", {
            activity: "walk",
            preferences: {},
            locations: [{ lat: 47, lon: 9 }, { lat: 47.1, lon: 9 }]
          })
          yield* caller.post("/auth/google", { code: "a code" })
        }),
        { ...TRUSTING, ROUTING_ENGINE_URL: url, GOOGLE_ISSUER: url, GOOGLE_CLIENT_ID: "a", GOOGLE_CLIENT_SECRET: "b" }
      )
      const headersAt = (path: string) => requests.find((request) => request.path === path)?.headers
      assert.match(String(headersAt("/route")?.["traceparent"]), new RegExp(`^00-${TRACE}-`))
      const provider = headersAt("/.well-known/openid-configuration")
      assert.isDefined(provider)
      assert.isUndefined(provider?.["traceparent"])
      assert.isUndefined(provider?.["b3"])
      assert.isUndefined(headersAt("/status")?.["traceparent"])
    }).pipe(onCollector))

  it.effect("are sampled by the caller's flag, and exported with the headers that are set", () =>
    Effect.gen(function*() {
      const sending = (flag: string) =>
        Effect.flatMap(inTrace(`00-${TRACE}-${PARENT}-${flag}`), (it) => it.get("/nowhere"))
      const { requests, spans } = yield* Collector
      yield* traced(Effect.andThen(sending("01"), sending("00")), {
        ...TRUSTING,
        OTEL_EXPORTER_OTLP_HEADERS: "{\"authorization\":\"Basic a2V5\"}"
      })
      assert.lengthOf(spansNamed(yield* spans, "GET"), 1)
      for (const { headers } of requests) assert.strictEqual(headers.authorization, "Basic a2V5")
    }).pipe(onCollector))

  for (
    const [sampler, ratio, sampled, notSampled] of [
      ["always_on", "", 1, 1],
      ["always_off", "", 0, 0],
      ["traceidratio", "0", 0, 0],
      ["parentbased_traceidratio", "0", 1, 0],
      ["parentbased_always_off", "", 1, 0]
    ] as const
  ) {
    it.effect(`are sampled by ${sampler} ${ratio}`, () =>
      Effect.gen(function*() {
        yield* onTracer({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: ratio })
        assert.lengthOf(yield* (yield* Collector).spans, sampled + notSampled)
      }).pipe(onCollector))
  }

  it("are sampled by the last digits of the trace's id where there is a ratio", () => {
    const tracer = samplingTracer({ sampler: "traceidratio", ratio: 0.5 }, () => undefined)
    const isSampled = (traceId: string) => {
      const parent = Option.some(Tracer.externalSpan({ traceId, spanId: PARENT }))
      return tracer.span({ ...aSpan(), parent, root: false }).sampled
    }
    assert.isTrue(isSampled(`${TRACE.slice(8)}7fffffff`))
    assert.isFalse(isSampled(`${TRACE.slice(8)}80000000`))
  })

  for (const mode of ["hang", "fail"] as const) {
    it.effect(`cost a request nothing when the collector does ${mode}, and the end at most two seconds`, () =>
      Effect.gen(function*() {
        const collector = yield* Collector
        yield* collector.become(mode)
        const worked = yield* Deferred.make<void>()
        const ended = yield* Effect.forkChild(traced(Effect.gen(function*() {
          // They are more than one batch, so that the exporter is at work and the queue fills.
          for (let n = 0; n < 300; n++) assert.strictEqual((yield* callOnce).status, 404)
          yield* Deferred.succeed(worked, undefined)
        })))
        yield* Deferred.await(worked)
        yield* within(2500)(Fiber.join(ended))
        assert.isAbove(collector.requests.length, 0)
        if (mode === "hang") assert.isAbove(yield* collector.connections, 0, "no export has reached its timeout")
      }).pipe(onCollector))
  }

  for (const mode of ["hang", "refuse", "drip", "dripHeaders", "garbage", "notHttp", "endless"] as const) {
    it.effect(`are exported again after a collector did ${mode}, whose connections are closed`, () =>
      Effect.gen(function*() {
        const collector = yield* Collector
        const url = new URL(`${collector.url}/v1/traces`)
        const resource = { attributes: [], droppedAttributesCount: 0 }
        const send = yield* collectorRequest({ url, headers: Redacted.make({}) }, "200 millis")
        const batch = new SpanBatch(resource)
        batch.add(spanEncoder(Option.none())(aSpan(), 2n, Exit.void))
        const exported = send(batch)
        yield* collector.become(mode)
        // They are more than the exporter has places for.
        for (let n = 0; n < 4; n++) {
          yield* Effect.all(Array.from({ length: 10 }, () => exported), { concurrency: "unbounded" })
        }
        yield* until(Effect.map(collector.connections, (connections) => connections <= 1))
        yield* collector.become("take")
        yield* until(exported)
      }).pipe(onCollector))
  }

  it.effect("are counted, those too that are lost", () =>
    Effect.gen(function*() {
      const collector = yield* Collector
      const counted = (result: string) =>
        Effect.gen(function*() {
          yield* Effect.replicateEffect(callOnce, 6)
          const { text } = yield* (yield* anonymous).get("//metrics")
          return Number(new RegExp(`^trace_spans_total{result="${result}"} (\\d+)`, "m").exec(text)?.[1]) > 0
        })
      yield* traced(Effect.gen(function*() {
        yield* collector.become("fail")
        yield* until(counted("lost"), EXPORT_LOOK)
        yield* collector.become("take")
        yield* until(counted("exported"), EXPORT_LOOK)
      }))
    }).pipe(onCollector))

  it.effect("of a caller that is no trusted proxy are referred to, and neither continued nor obeyed", () =>
    Effect.gen(function*() {
      for (const proxies of [{}, { TRUSTED_PROXIES: "10.0.0.0/8" }]) {
        const before = (yield* (yield* Collector).spans).length
        yield* traced(
          Effect.flatMap(inTrace(`00-${TRACE}-${PARENT}-00`), (caller) => caller.get("/routes/999999")),
          proxies
        )
        const spans = (yield* (yield* Collector).spans).slice(before)
        const [request] = spansNamed(spans, "GET /api/v1/routes/{ref}")
        assert.isDefined(request)
        assert.isUndefined(request?.parentSpanId)
        assert.deepStrictEqual(spans.filter(({ traceId }) => traceId === TRACE), [])
        assert.deepStrictEqual(request?.links?.map(({ spanId, traceId }) => [traceId, spanId]), [[TRACE, PARENT]])
      }
    }).pipe(onCollector))

  it.effect("go nowhere without a collector, or with telemetry off", () =>
    Effect.gen(function*() {
      const { requests } = yield* Collector
      yield* onTracer({ TELEMETRY_ENABLED: "false" })
      yield* onTracer({ OTEL_EXPORTER_OTLP_ENDPOINT: "" })
      assert.deepStrictEqual(requests, [])
    }).pipe(onCollector))
})
