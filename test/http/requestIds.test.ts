import { assert, layer } from "@effect/vitest"
import { Cause, Effect, Layer, Logger, References, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { serviceErrorOf, undoubted } from "../../src/http/middleware/ErrorShape.ts"
import { unknownPath } from "../../src/http/response/ErrorResponse.ts"
import { jsonLogger } from "../../src/layers/Logging.ts"
import type { ServiceError } from "../../src/schema/Errors.ts"
import { RequestNotes } from "../../src/services/operations/RequestNotes.ts"
import { anonymous, signedIn, signedUp, withHeaders } from "../support/Actors.ts"
import { whileLocked } from "../support/Locks.ts"
import { served } from "../support/OpenApi.ts"
import { requestHead, sendRaw } from "../support/RawHttp.ts"
import { created, newRoute, shareTokenOf } from "../support/Routes.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"
import { mint, withToken } from "../support/Tokens.ts"
import { until } from "../support/Waiting.ts"

const ID = /^[0-9a-f]{32}$/

const Line = Schema.fromJsonString(
  Schema.Struct({
    message: Schema.String,
    traceId: Schema.String,
    annotations: Schema.Record(Schema.String, Schema.Unknown)
  })
)

const written: Array<string> = []

const recording = Layer.merge(
  Logger.layer([Logger.map(jsonLogger, (line) => written.push(line))]),
  Layer.succeed(References.MinimumLogLevel, "Debug")
)

const idOf = ({ headers }: Pick<Answer, "headers">) => headers.get("x-request-id") ?? ""

const lineWith = (id: string) =>
  written.map((line) => Schema.decodeSync(Line)(line)).find(({ message, traceId }) =>
    message === "request" && traceId === id
  )

/** Returns the fields of the log line of a request, once it is written. */
const fieldsOf = Effect.fnUntraced(function*(answer: Pick<Answer, "headers">) {
  const id = idOf(answer)
  assert.match(id, ID)
  yield* until(Effect.sync(() => lineWith(id) !== undefined))
  return lineWith(id)?.annotations ?? {}
})

const SETTINGS = { TRUSTED_PROXIES: "127.0.0.0/8", API_DOCS_ENABLED: "true" }

layer(TestServer.layer(SETTINGS).pipe(Layer.provideMerge(recording)))("every response", (it) => {
  it.effect("has the id of its log line, whatever it is", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const visitor = yield* anonymous
      const token = shareTokenOf((yield* rider.post("/routes", newRoute({ visibility: "public" }))).body)
      const { headers } = yield* rider.get("/routes")
      const answers = yield* Effect.all([
        visitor.get("//health/live"),
        visitor.get("//metrics"),
        visitor.get("//"),
        visitor.get("//r/nothing"),
        visitor.get(`//r/${token}`),
        visitor.get("//no-such-page", { headers: { accept: "text/html" } }),
        visitor.get("//no//such"),
        visitor.get("//a%20b"),
        visitor.get("//me/routes"),
        visitor.get("//assets/none.css"),
        visitor.get("//api/openapi.json"),
        visitor.get("/users/me"),
        visitor.get("/routes/abc"),
        visitor.get(`/routes/${token}/gpx`),
        visitor.call("PUT", "/routes"),
        visitor.call("OPTIONS", "/routes", {
          headers: { origin: "https://app.example.com", "access-control-request-method": "GET" }
        }),
        rider.get("/routes", { headers: { "if-none-match": headers.get("etag") ?? "" } }),
        rider.post("/routes", {}),
        rider.get("/users/me/export")
      ])
      assert.sameMembers([...new Set(answers.map(({ status }) => status))], [200, 204, 303, 304, 400, 401, 404, 405])
      for (const answer of answers) {
        assert.strictEqual((yield* fieldsOf(answer))["status"], answer.status)
      }
      assert.strictEqual(new Set(answers.map(idOf)).size, answers.length)
      const exposed = (yield* visitor.get("/nothing")).headers.get("access-control-expose-headers")
      assert.include(exposed ?? "", "X-Request-Id")
    }))

  it.effect("has one where it is no HTTP, too", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      for (
        const text of [
          "GET / HTTP/1.1\r\nHost: localhost\r\nX-A: b\u0000c\r\n\r\n",
          requestHead("CONNECT example.com:443"),
          requestHead("GET /").replace("Host: localhost", "Host: a b"),
          `${requestHead("POST /api/v1/auth/login-email", { "Transfer-Encoding": "chunked" })}zz\r\n`
        ]
      ) {
        const { head } = yield* sendRaw(origin, text)
        const id = /^x-request-id: ([0-9a-f]{32})\r?$/im.exec(head)?.[1] ?? ""
        assert.match(id, ID, text)
        const fields = yield* fieldsOf({ headers: new Headers({ "x-request-id": id }) })
        assert.strictEqual(fields["client"], "127.0.0.0/24")
      }
    }))

  it.effect("is documented once, as a header that all responses refer to", () =>
    Effect.sync(() => {
      const text = JSON.stringify(served)
      assert.lengthOf(text.match(/The trace id of the request, by which an operator finds it/g) ?? [], 1)
      assert.isAbove(text.match(/"#\/components\/headers\/X-Request-Id"/g)?.length ?? 0, 100)
    }))
})

layer(TestServer.layer(SETTINGS).pipe(Layer.provideMerge(recording)))("the log line of a request", (it) => {
  it.effect("has the account, the session or token, and the network of the client", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const [session] = Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ id: Schema.String })))(
        (yield* rider.get("/me/sessions")).body
      )
      const { idHash } = Schema.decodeUnknownSync(Schema.Struct({ idHash: Schema.String }))(
        (yield* rider.get("/users/me")).body
      )
      const client = "127.0.0.0/24"
      const ours = { idHash, session: session?.id, client }
      assert.deepInclude(yield* fieldsOf(yield* rider.get("/users/me")), ours)
      const minted = yield* mint(rider, "read")
      const caller = yield* withToken(minted.token)
      assert.deepInclude(yield* fieldsOf(yield* caller.get("/routes")), { idHash, token: minted.id, client })
      assert.deepInclude(yield* fieldsOf(yield* caller.post("/routes", newRoute({}))), {
        idHash,
        token: minted.id,
        status: 403,
        code: "FORBIDDEN",
        reason: "insufficient_scope"
      })
      assert.notProperty(yield* fieldsOf(yield* (yield* anonymous).get("/routes/public")), "idHash")
      for (const secret of [minted.token, rider.token, rider.email]) assert.notInclude(written.join("\n"), secret)
    }))

  it.effect("has the client that a trusted proxy names, and the id that the proxy gave", () =>
    Effect.gen(function*() {
      const call = (headers: Readonly<Record<string, string>>) =>
        Effect.flatMap(withHeaders(headers), (caller) => Effect.flatMap(caller.get("/routes/public"), fieldsOf))
      assert.deepInclude(yield* call({ "x-forwarded-for": "203.0.113.7", "x-request-id": "of-nginx.1" }), {
        client: "203.0.113.0/24",
        callerRequestId: "of-nginx.1"
      })
      assert.deepInclude(yield* call({ "x-forwarded-for": "2001:db8:1:2::3" }), { client: "2001:db8:1::/48" })
      for (const id of ["x", "!~", "x".repeat(128)]) {
        assert.propertyVal(yield* call({ "x-request-id": id }), "callerRequestId", id)
      }
      for (const id of ["", "x".repeat(129), "a b", "\u00e9"]) {
        assert.notProperty(yield* call({ "x-request-id": id }), "callerRequestId", id)
      }
      assert.notInclude(written.join("\n"), "203.0.113.7")
    }))

  it.effect("has code and reason of an error, also of a page, and none where the request succeeded", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const route = created((yield* rider.post("/routes", newRoute({}))).body)
      const errors = [
        [visitor.get("/users/me"), { code: "UNAUTHORIZED", reason: "not_signed_in" }],
        [visitor.get("/nowhere"), { code: "NOT_FOUND" }],
        [visitor.call("PUT", "/routes"), { code: "NOT_FOUND", status: 405 }],
        [visitor.get("/routes/x"), { code: "NOT_FOUND" }],
        [visitor.get("//r/00000000000000000000000000000000"), { code: "NOT_FOUND" }],
        [visitor.get("//no-page", { headers: { accept: "text/html" } }), { code: "NOT_FOUND" }],
        [visitor.get("//reset-password?token=x"), { code: "VALIDATION_FAILED" }],
        [rider.post("/routes", {}), { code: "VALIDATION_FAILED" }],
        [rider.get("/routes?limit=x"), { code: "VALIDATION_FAILED" }],
        [
          rider.call("PATCH", `/routes/${route.id}`, { body: { name: "x" }, headers: { "if-match": "W/\"99-x\"" } }),
          { code: "CONFLICT", reason: "stale" }
        ]
      ] as const
      for (const [call, expected] of errors) {
        const answer = yield* call
        assert.deepInclude(yield* fieldsOf(answer), { status: answer.status, ...expected })
      }
      const fine = yield* fieldsOf(yield* rider.get("/users/me"))
      for (const name of ["code", "reason", "limit", "sqlState", "cause"]) assert.notProperty(fine, name)
      const toSignIn = yield* fieldsOf(yield* visitor.get("//me/routes"))
      assert.notProperty(toSignIn, "code", "a redirect to the sign-in is no error")
    }))
})

layer(
  TestServer.layer({ ...SETTINGS, MAX_ROUTES_PER_USER: "1", RATE_LIMITS_ENABLED: "true" }).pipe(
    Layer.provideMerge(recording)
  )
)("the log line of what failed", (it) => {
  it.effect("has the quota or the rate that was reached", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* rider.post("/routes", newRoute({}))
      const full = yield* rider.post("/routes", newRoute({}))
      assert.deepInclude(yield* fieldsOf(full), { status: 409, reason: "quota_exceeded", limit: "routes" })
      const guess = (yield* anonymous).post("/auth/login-email", { email: rider.email, password: "a wrong password" })
      const answers = yield* Effect.replicateEffect(guess, 12)
      const refused = answers.find(({ status }) => status === 429)
      if (refused === undefined) return assert.fail("not limited")
      assert.deepInclude(yield* fieldsOf(refused), { code: "RATE_LIMITED", reason: "rate_limited", limit: "auth" })
    }))

  it.effect("has why it is a 503 at a stop, or while a standby may lack what is not found", () =>
    Effect.gen(function*() {
      const causeAfter = Effect.fnUntraced(function*(work: Effect.Effect<ServiceError>) {
        const notes: RequestNotes = { id: "" }
        assert.strictEqual((yield* Effect.provideService(work, RequestNotes, notes)).statusCode, 503)
        return notes.fault?.cause
      })
      assert.strictEqual(yield* causeAfter(serviceErrorOf(Cause.interrupt(1))), "Stopping")
      const doubtful = undoubted(unknownPath(), Effect.succeed(true), false)
      assert.strictEqual(yield* causeAfter(doubtful), "DatabaseReadOnly")
    }))

  it.effect("has PostgreSQL's code for a 503 and for a 500", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const sql = yield* SqlClient.SqlClient
      const locked = yield* whileLocked(
        (sql) => sql`LOCK TABLE collections IN ACCESS EXCLUSIVE MODE`,
        rider.get("/collections")
      )
      assert.deepInclude(yield* fieldsOf(locked), { status: 503, code: "INTERNAL", sqlState: "55P03" })
      yield* sql`ALTER TABLE personal_access_tokens RENAME TO away`
      const broken = yield* rider.get("/auth/tokens")
      assert.deepInclude(yield* fieldsOf(broken), { status: 500, code: "INTERNAL", sqlState: "42P01" })
      const page = yield* rider.get("//me/tokens")
      assert.include(page.text, `The number of this request is ${idOf(page)}.`)
      yield* sql`ALTER TABLE away RENAME TO personal_access_tokens`
    }))
})
