import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Redacted, Schema } from "effect"
import { anonymous } from "../support/Actors.ts"
import { databaseProxy } from "../support/DatabaseProxy.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { whileLocked } from "../support/Locks.ts"
import { sendRaw } from "../support/RawHttp.ts"
import { logged, type Replica, replica } from "../support/Replica.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

/** The database is behind a proxy that refuses. */
const absentDatabase = Effect.gen(function*() {
  const { proxy, url } = yield* Effect.flatMap(clonedDatabase, databaseProxy)
  yield* Effect.promise(() => proxy.set("refuse"))
  const goAway = Effect.promise(() => proxy.set("refuse"))
  return { url, goAway, comeUp: Effect.promise(() => proxy.set("pass")) }
})

const LIVE = "GET /health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

/**
 * Asks whether a process is alive on one new connection after the other while some work lasts. Returns the statuses.
 */
const livenessDuring = Effect.fnUntraced(function*(process: Replica, work: Effect.Effect<void>) {
  const statuses = new Set<number | undefined>()
  const calls = sendRaw(process.server.origin, LIVE).pipe(
    Effect.tap(({ status }) => Effect.sync(() => statuses.add(status))),
    Effect.andThen(Effect.sleep("5 millis")),
    Effect.forever
  )
  yield* Effect.raceFirst(work, Effect.all([calls, calls], { concurrency: 2, discard: true }))
  return [...statuses]
})

/** Calls until something listens. */
const untilListening = (call: Effect.Effect<Answer>) =>
  Effect.andThen(until(Effect.map(Effect.exit(call), Exit.isSuccess)), call)

const Body = Schema.Struct({
  statusCode: Schema.Literal(503),
  code: Schema.Literal("INTERNAL"),
  message: Schema.Literal("The service is starting: it waits for the database"),
  details: Schema.Struct({ retryAfterSeconds: Schema.Literal(1), traceId: Schema.String })
})

const PROBE = "//health/ready"

/** The response has the shape and the headers of every 503 and, but for a probe, a line in the log by its trace id. */
const isStarting = Effect.fnUntraced(function*(process: Replica, path: string) {
  const visitor = yield* Effect.provideService(anonymous, TestServer, process.server)
  const { body, headers, status } = yield* visitor.get(path)
  assert.strictEqual(status, 503)
  const { details: { traceId } } = yield* Schema.decodeUnknownEffect(Body, { onExcessProperty: "error" })(body)
  assert.deepInclude(Object.fromEntries(headers), {
    "retry-after": "1",
    "access-control-allow-origin": "*",
    "cache-control": "no-store",
    "content-type": "application/json",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff"
  })
  const isLogged = () =>
    process.output().split("\n").some((line) =>
      line.includes(traceId) && line.includes(`"status":503`) && line.includes(`"cause":"Starting"`)
    )
  if (path !== PROBE) yield* until(Effect.sync(isLogged))
})

const Failed = Schema.fromJsonString(Schema.Struct({
  annotations: Schema.Struct({
    status: Schema.Literal(503),
    cause: Schema.Literal("ConnectionError"),
    sqlState: Schema.optional(Schema.Never)
  })
}))

/** The line of the request names the connection, and no code of Node as one of PostgreSQL. */
const isCalledAway = Effect.fnUntraced(function*(process: Replica, id: string) {
  const line = () => process.output().split("\n").find((line) => line.includes(id) && line.includes("\"request\""))
  yield* until(Effect.sync(() => line() !== undefined))
  yield* Schema.decodeEffect(Failed)(line() ?? "")
})

describe("a start before the database", () => {
  it.live(
    "waits for it, live and not ready, and leaves no call without a response",
    () =>
      Effect.gen(function*() {
        const database = yield* absentDatabase
        const process = yield* replica({
          DATABASE_URL: database.url,
          SHUTDOWN_DRAIN_DELAY: "0 seconds"
        })
        const visitor = yield* Effect.provideService(anonymous, TestServer, process.server)
        const live = yield* untilListening(visitor.get("//health/live"))
        assert.strictEqual(live.status, 200)
        for (const path of [PROBE, "/routes", "//nothing"]) yield* isStarting(process, path)
        const html = { headers: { accept: "text/html,*/*;q=0.8" } }
        const page = yield* visitor.get("//r/nothing", html)
        for (const path of [PROBE, "//metrics", "/routes"]) {
          assert.strictEqual((yield* visitor.get(path, html)).headers.get("content-type"), "application/json", path)
        }
        assert.deepStrictEqual([page.status, page.headers.get("retry-after")], [503, "1"])
        assert.include(page.text, "The service is busy or is starting. Try again in 1 second.")
        const sheets = [...page.text.matchAll(/rel="stylesheet" href="\.\.(\/[^"]+)"/g)].map(([, path]) => path)
        assert.lengthOf(sheets, 2)
        for (const path of sheets) assert.strictEqual((yield* visitor.get(`/${path}`)).status, 200, path)
        const isSaid = () =>
          logged(process, "WARN").some(({ message }) => message === "database not reachable, waiting")
        yield* until(Effect.sync(isSaid))
        const statuses = yield* livenessDuring(process, Effect.andThen(database.comeUp, process.ready))
        assert.deepStrictEqual(statuses, [200])
        assert.strictEqual((yield* visitor.get("/routes")).status, 401)
        yield* database.goAway
        yield* isCalledAway(process, (yield* visitor.get("/routes/public")).headers.get("x-request-id") ?? "")
        const said = () => logged(process, "ERROR", "INFO").filter(({ message }) => message.startsWith("database"))
        yield* until(Effect.sync(() => said().length === 2))
        yield* Effect.andThen(database.comeUp, until(Effect.sync(() => said().length === 3)))
        assert.deepStrictEqual(said().map(({ message }) => message), [
          "database reachable",
          "database not reachable",
          "database reachable again"
        ])
        assert.match(String(said()[1]?.annotations["reason"]), /ECONNREFUSED|closed unexpectedly/)
        yield* process.tell("SIGTERM")
        assert.strictEqual((yield* process.ended).code, 0)
      }).pipe(Effect.scoped)
  )

  it.live(
    "is live and not ready as well while another process migrates, and live at each moment until it is ready",
    () =>
      Effect.gen(function*() {
        const url = yield* clonedDatabase
        const process = yield* whileLocked(
          (sql) => sql`LOCK TABLE effect_sql_migrations IN ACCESS EXCLUSIVE MODE`,
          Effect.gen(function*() {
            const process = yield* replica({ DATABASE_URL: url, SHUTDOWN_DRAIN_DELAY: "0 seconds" })
            const visitor = yield* Effect.provideService(anonymous, TestServer, process.server)
            const live = yield* untilListening(visitor.get("//health/live"))
            assert.deepStrictEqual([live.status, live.body], [200, { status: "ok" }])
            for (const path of [PROBE, "/routes"]) yield* isStarting(process, path)
            return process
          })
        ).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url) })))
        assert.deepStrictEqual(yield* livenessDuring(process, process.ready), [200])
      }).pipe(Effect.scoped)
  )
})
