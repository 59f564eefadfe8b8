import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import {
  ACCOUNT_PAGES,
  inOpenApiSyntax,
  operations,
  PAGES,
  SHARED_PAGES
} from "../../src/http/request/RouteTemplates.ts"
import { anonymous, signedUp, withHeaders } from "../support/Actors.ts"
import { DatabaseProxy } from "../support/DatabaseProxy.ts"
import { requestHead, sendRaw } from "../support/RawHttp.ts"
import { refusal, StandInEngine } from "../support/StandInEngine.ts"
import { TestServer } from "../support/TestServer.ts"
import { until, untilFound } from "../support/Waiting.ts"

const scrape = Effect.flatMap(anonymous, (visitor) => visitor.get("//metrics"))

/** Returns the samples of a metric, by their labels as they stand in the text. */
const samplesOf = (text: string, name: string) =>
  new Map(
    [...text.matchAll(new RegExp(`^${name}({.*})? (\\S+)$`, "gm"))].map(([, labels = "", value]) => [
      labels,
      Number(value)
    ])
  )

const sampled = (name: string) => Effect.map(scrape, ({ text }) => samplesOf(text, name))

const COUNT = "http_server_requests_total"

const promtool = (text: string) => spawnSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8" })

const hasPromtool = spawnSync("promtool", ["--version"]).error === undefined

const ROUTE = { activity: "walk", preferences: {}, locations: [{ lat: 47, lon: 9 }, { lat: 47.1, lon: 9 }] }

const serverLayer = Layer.unwrap(
  Effect.map(StandInEngine, ({ url }) => TestServer.layer({ ROUTING_ENGINE_URL: url, RATE_LIMITS_ENABLED: "true" }))
).pipe(Layer.provideMerge(StandInEngine.layer))

layer(serverLayer, { excludeTestServices: true })("metrics", (it) => {
  it.effect("count requests by method, template and class of status, and nothing that a client makes up", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      yield* visitor.get("/routes/999999")
      yield* visitor.get("/routes/0123456789abcdef0123456789abcdef?geometry=none")
      yield* visitor.call("PUT", "/routes/1")
      for (let n = 0; n < 20; n++) yield* visitor.get(`/nowhere/${n}`)
      yield* visitor.call("PROPFIND", "/routes/1")
      yield* visitor.call("HEAD", "/routes/1")
      yield* visitor.call("OPTIONS", "/routes/1")
      yield* visitor.get("//health")
      yield* visitor.get("//api/openapi.json")
      const counts = yield* sampled(COUNT)
      assert.strictEqual(counts.get(`{method="GET",route="/api/v1/routes/{ref}",status="4xx"}`), 3)
      assert.strictEqual(counts.get(`{method="PUT",route="unmatched",status="4xx"}`), 1)
      assert.strictEqual(counts.get(`{method="GET",route="unmatched",status="4xx"}`), 20)
      assert.strictEqual(counts.get(`{method="_OTHER",route="unmatched",status="4xx"}`), 1)
      assert.strictEqual(counts.get(`{method="GET",route="/health",status="2xx"}`), 1)
      assert.strictEqual(counts.get(`{method="GET",route="/api/openapi.json",status="2xx"}`), 1)
      assert.strictEqual([...counts].filter(([labels, count]) => labels.includes("unmatched") && count > 0).length, 4)
      assert.strictEqual((yield* sampled("http_server_active_requests")).get(""), 1)
    }))

  it.effect("distinguish clients that hung up from failures of the service", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      yield* (yield* StandInEngine).behave(() => undefined)
      const body = JSON.stringify(ROUTE)
      const head = requestHead("POST /api/v1/routing/route", {
        "Content-Type": "application/json",
        "Content-Length": String(body.length)
      })
      for (const [n, sent] of [body, body.slice(0, 20)].entries()) {
        const call = yield* Effect.forkChild(sendRaw(origin, head, sent))
        yield* until(Effect.map(sampled("http_server_active_requests"), (active) => active.get("") === 2))
        yield* Fiber.interrupt(call)
        const isCounted = (counts: ReadonlyMap<string, number>) =>
          counts.get(`{method="POST",route="/api/v1/routing/route",status="499"}`) === n + 1
        yield* until(Effect.map(sampled(COUNT), isCounted))
      }
      const counts = yield* sampled(COUNT)
      assert.isTrue([...counts].every(([labels, count]) => count === 0 || !/status="5/.test(labels)))
    }))

  it.effect("have limits, passwords, mails, the pool and the process", () =>
    Effect.gen(function*() {
      yield* signedUp
      const visitor = yield* anonymous
      for (let n = 0; n < 6; n++) yield* visitor.post("/auth/login-email", { email: "a@example.com", password: "x" })
      const { headers, status, text } = yield* scrape
      assert.strictEqual(status, 200)
      assert.strictEqual(headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8")
      assert.isNull(headers.get("ratelimit"))
      assert.strictEqual(samplesOf(text, "rate_limit_refusals_total").get("{tier=\"auth\"}"), 1)
      assert.strictEqual(samplesOf(text, "rate_limit_refusals_total").get("{tier=\"strict\"}"), 0)
      assert.strictEqual(samplesOf(text, "outbox_mails_total").get("{result=\"sent\"}"), 1)
      assert.strictEqual(samplesOf(text, "outbox_pending_mails").get(""), 0)
      assert.strictEqual(samplesOf(text, "password_hashes_running").get(""), 0)
      assert.strictEqual(samplesOf(text, "password_hashes_waiting").get(""), 0)
      assert.isAtLeast(samplesOf(text, "password_hash_duration_seconds_count").get("") ?? 0, 6)
      for (const name of ["heavy_jobs_running", "heavy_jobs_waiting", "heavy_thread_deaths_total"]) {
        assert.strictEqual(samplesOf(text, name).get(""), 0, name)
      }
      assert.strictEqual(samplesOf(text, "heavy_job_refusals_total").get("{reason=\"queue\"}"), 0)
      assert.strictEqual(samplesOf(text, "database_pool_size_connections").get(""), 10)
      assert.isAtLeast(samplesOf(text, "database_pool_wait_seconds").get("") ?? -1, 0)
      for (
        const name of ["process_resident_memory_bytes", "process_cpu_seconds_total", "nodejs_heap_size_used_bytes"]
      ) {
        assert.isAbove(samplesOf(text, name).get("") ?? 0, 0, name)
      }
      const started = samplesOf(text, "process_start_time_seconds").get("") ?? 0
      assert.closeTo(started, performance.timeOrigin / 1000, 1)
      assert.isTrue(samplesOf(text, "nodejs_eventloop_lag_p99_seconds").has(""))
    }))

  it.effect("have results of calls of the engine, and the state of its circuit", () =>
    Effect.gen(function*() {
      const engine = yield* StandInEngine
      const visitor = yield* anonymous
      const walk = (lat: number) =>
        visitor.post("/routing/route", { ...ROUTE, locations: [{ lat, lon: 9 }, { lat: 47.1, lon: 9 }] })
      const state = (name: string) =>
        Effect.map(sampled("routing_engine_circuit_state"), (it) => it.get(`{state="${name}"}`))
      yield* engine.behave(refusal(442))
      yield* walk(46)
      assert.deepStrictEqual([yield* state("closed"), yield* state("open")], [1, 0])
      yield* engine.down
      for (let n = 0; n < 6; n++) yield* walk(40 + n)
      assert.deepStrictEqual([yield* state("closed"), yield* state("open")], [0, 1])
      const calls = yield* sampled("routing_engine_calls_total")
      assert.deepStrictEqual(
        [calls.get("{outcome=\"refused\"}"), calls.get("{outcome=\"unavailable\"}")],
        [1, 6]
      )
      assert.strictEqual((yield* sampled("routing_engine_calls_running")).get(""), 0)
      assert.strictEqual((yield* sampled("routing_engine_calls_waiting")).get(""), 0)
    }))

  it.effect.skipIf(!hasPromtool)(
    "are what promtool (of Debian's package prometheus) takes without a problem",
    () =>
      Effect.gen(function*() {
        const { text } = yield* scrape
        const { status, stderr, stdout } = promtool(text)
        assert.deepStrictEqual([status, stdout + stderr], [0, ""])
      })
  )
})

const documented = [
  ...readFileSync(join(import.meta.dirname, "../../docs/operations.md"), "utf8").matchAll(
    /^\| `([a-z0-9]+_[a-z0-9_]+)` \| ([a-z, ]*)\|/gm
  )
].map(([, name = "", labels = ""]) => ({ name, labels: labels.trim() }))

const SWEEPS = ["accounts", "changes", "views"]

/** A counter says this before anything was counted: `rate()` misses the increase with which a series begins. */
const AT_ZERO: Readonly<Record<string, { readonly label: string; readonly values: ReadonlyArray<string> }>> = {
  database_queue_refusals_total: { label: "reason", values: ["full", "timeout", "unreachable"] },
  database_replica_reads_total: { label: "outcome", values: ["changed", "served", "unserved"] },
  heavy_job_refusals_total: { label: "reason", values: ["queue", "wait", "time", "memory"] },
  outbox_mails_total: { label: "result", values: ["sent", "failed", "dropped", "limited"] },
  pictures_total: { label: "outcome", values: ["kept", "made", "joined"] },
  rate_limit_refusals_total: { label: "tier", values: ["auth", "strict"] },
  routing_engine_calls_total: {
    label: "outcome",
    values: ["ok", "abandoned", "refused", "bad_answer", "timeout", "unavailable"]
  },
  sweep_failures_total: { label: "sweep", values: SWEEPS },
  sweep_rows_total: { label: "sweep", values: SWEEPS },
  trace_spans_total: { label: "result", values: ["exported", "lost"] }
}

/** Nobody listens there: these settings only bring their metrics. */
const freshLayer = TestServer.withSweeps({
  DATABASE_READ_URL: "postgres://127.0.0.1:9/none",
  OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9",
  REDIS_URL: "redis://127.0.0.1:9"
})

layer(freshLayer, { excludeTestServices: true })("metrics of a fresh process", (it) => {
  it.effect("are all of those that docs/operations.md has, and counters begin at 0", () =>
    Effect.gen(function*() {
      assert.isAbove(documented.length, 35)
      const isThere = (text: string) => ({ name }: { readonly name: string }) =>
        new RegExp(`^${name}(_count)?[{ ]`, "m").test(text)
      const haveRun = (text: string) => [...samplesOf(text, "sweep_last_run_timestamp_seconds").keys()]
      // Requests have a figure once one is over, sweeps and the outbox once they have looked.
      const { text } = yield* untilFound(
        scrape,
        ({ text }) =>
          SWEEPS.every((sweep) => haveRun(text).includes(`{sweep="${sweep}"}`)) && documented.every(isThere(text))
      )
      const failures = `{method="POST",route="/api/v1/routes",status="5xx"}`
      assert.strictEqual(samplesOf(text, COUNT).get(failures), 0)
      for (const [operation, status] of [["GET /r/{ref}", "5xx"], ["POST /sign-in", "2xx"], ["GET unmatched", "4xx"]]) {
        const labels = `{method="${operation?.replace(" ", "\",route=\"")}",status="${status}"}`
        assert.strictEqual(samplesOf(text, COUNT).get(labels), 0, labels)
      }
      const others = new Set([COUNT, "process_cpu_seconds_total"])
      const counters = documented.filter(({ name }) => name.endsWith("_total") && !others.has(name))
      assert.deepStrictEqual(
        counters.filter(({ labels, name }) => labels !== "" && AT_ZERO[name] === undefined),
        []
      )
      for (const { name } of counters) {
        const { label, values } = AT_ZERO[name] ?? { label: "", values: [""] }
        const samples = samplesOf(text, name)
        const expected = values.map((value) => [label === "" ? "" : `{${label}="${value}"}`, 0] as const)
        assert.deepStrictEqual(expected.map(([labels]) => [labels, samples.get(labels)] as const), expected, name)
      }
      assert.strictEqual(samplesOf(text, "database_queue_waiting").get(""), 0)
    }))

  it.effect("take less than 150 KB once every operation and page was asked by every method", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const pages = [PAGES, ACCOUNT_PAGES, SHARED_PAGES].flatMap((paths) => Object.values(paths))
      const templates = new Set([...operations.map(([, template]) => template), ...pages.map(inOpenApiSyntax)])
      yield* Effect.forEach(
        [...templates].flatMap((template) =>
          ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"].map((method) => ({ method, template }))
        ),
        ({ method, template }) => visitor.call(method, `/${template.replace(/\{\w+\}/g, "1")}`),
        { concurrency: 8 }
      )
      const { text } = yield* scrape
      assert.isBelow(text.length, 150_000)
      const timed = samplesOf(text, "http_server_request_duration_seconds_count")
      const isTimed = (route: string) => [...timed.keys()].some((labels) => labels.includes(`route="${route}"`))
      assert.deepStrictEqual(["pages", "/me/data", "/me/routes", "/me/tokens"].map(isTimed), [true, true, true, false])
      // A list is no upload.
      assert.isFalse(timed.has(`{method="GET",route="/me/routes"}`))
      assert.isTrue(timed.has(`{method="POST",route="/me/routes"}`))
    }))
})

layer(TestServer.behindProxy, { excludeTestServices: true })("metrics of a process without a database", (it) => {
  it.effect("have the longest wait for a connection although the probe is refused at once", () =>
    Effect.gen(function*() {
      yield* (yield* DatabaseProxy).refuse
      const refusals = Effect.map(scrape, ({ text }) => ({
        unreachable: samplesOf(text, "database_queue_refusals_total").get("{reason=\"unreachable\"}") ?? 0,
        wait: samplesOf(text, "database_pool_wait_seconds").get("") ?? 0
      }))
      const { unreachable } = yield* untilFound(refusals, ({ unreachable }) => unreachable > 0)
      const next = yield* refusals
      assert.isAbove(next.unreachable, unreachable)
      assert.isAtLeast(next.wait, 0.25)
    }))
})

const UNKNOWN = { statusCode: 404, code: "NOT_FOUND", message: "No such path" }

layer(TestServer.layer())("metrics are closed", (it) => {
  it.effect("to requests through a proxy that is not trusted, whatever its headers claim", () =>
    Effect.gen(function*() {
      for (
        const headers of [
          { "x-forwarded-for": "10.0.0.1" },
          { forwarded: "for=10.0.0.1" },
          { "x-real-ip": "10.0.0.1" },
          { via: "1.1 proxy" },
          { "cf-connecting-ip": "10.0.0.1" },
          { "true-client-ip": "10.0.0.1" },
          { "x-forwarded-host": "localhost" }
        ]
      ) {
        const { body, status } = yield* (yield* withHeaders(headers)).get("//metrics")
        assert.deepStrictEqual([status, body], [404, UNKNOWN])
      }
      assert.strictEqual((yield* scrape).status, 200)
    }))

  it.effect("and do not mix with those of another server in the process", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* sampled("rate_limit_refusals_total")).get("{tier=\"auth\"}"), 0)
    }))
})

layer(TestServer.layer({ TRUSTED_PROXIES: "127.0.0.0/8" }))("metrics behind our own proxy", (it) => {
  it.effect("are for clients inside, as the proxy names them", () =>
    Effect.gen(function*() {
      const from = (headers: Readonly<Record<string, string>>) =>
        Effect.map(Effect.flatMap(withHeaders(headers), (visitor) => visitor.get("//metrics")), ({ status }) => status)
      assert.strictEqual(yield* from({ "x-forwarded-for": "10.1.2.3" }), 200)
      assert.strictEqual(yield* from({ "x-forwarded-for": "::ffff:192.168.0.1" }), 200)
      assert.strictEqual(yield* from({ "x-forwarded-for": "203.0.113.1" }), 404)
      assert.strictEqual(yield* from({ "x-forwarded-for": "10.1.2.3, 203.0.113.1" }), 404)
      assert.strictEqual(yield* from({ "x-forwarded-for": "unknown" }), 404)
      assert.strictEqual(yield* from({ forwarded: "for=10.1.2.3" }), 404)
      assert.strictEqual(yield* from({ via: "1.1 proxy" }), 404)
      assert.strictEqual(yield* from({ via: "1.1 proxy", "x-forwarded-for": "10.1.2.3" }), 200)
      assert.strictEqual(yield* from({}), 200)
    }))
})

layer(TestServer.layer({ METRICS_ALLOWED_CIDRS: "10.0.0.0/8, 2001:db8::/32" }))("metrics for other networks", (it) => {
  it.effect("are closed to this one", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* scrape).body, UNKNOWN)
      const visitor = yield* anonymous
      assert.deepStrictEqual((yield* visitor.get("//metrics?x=1")).body, UNKNOWN)
    }))
})

for (const setting of ["METRICS_ENABLED", "TELEMETRY_ENABLED"]) {
  layer(TestServer.layer({ [setting]: "false" }))(`metrics with ${setting}=false`, (it) => {
    it.effect("are 503, and the rest goes on", () =>
      Effect.gen(function*() {
        const { body, status } = yield* scrape
        assert.deepInclude(body, { statusCode: 503, code: "INTERNAL", message: "Metrics are not collected" })
        assert.strictEqual(status, 503)
        assert.strictEqual((yield* (yield* signedUp).get("/routes")).status, 200)
        const visitor = yield* withHeaders({ "x-real-ip": "10.0.0.1" })
        assert.deepStrictEqual((yield* visitor.get("//metrics")).body, UNKNOWN)
      }))
  })
}
