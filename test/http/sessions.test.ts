import { assert, layer } from "@effect/vitest"
import { Clock, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { type JWTPayload, SignJWT, UnsecuredJWT } from "jose"
import { anonymous, signedUp, withHeaders } from "../support/Actors.ts"
import { logIn, signInAgain } from "../support/SignIns.ts"
import { SECRETS, TestServer } from "../support/TestServer.ts"
import { served } from "../support/Waiting.ts"

const secret = new TextEncoder().encode(SECRETS.JWT_SECRET)

const Claims = Schema.fromJsonString(Schema.Struct({
  sub: Schema.String,
  sid: Schema.String,
  role: Schema.String,
  units: Schema.String,
  iss: Schema.String,
  aud: Schema.String,
  iat: Schema.Finite,
  exp: Schema.Finite
}))

const claimsOf = (token: string) =>
  Schema.decodeUnknownSync(Claims)(Buffer.from(token.split(".")[1] ?? "", "base64url").toString())

const withCookie = (token: string) => withHeaders({ cookie: `__Host-service_session=${token}` })

const withBearer = (token: string) => withHeaders({ authorization: `Bearer ${token}` })

const status = (token: string) =>
  Effect.flatMap(withCookie(token), (caller) => Effect.map(caller.get("/users/me"), (answer) => answer.status))

const freshCookie = (headers: Headers) => headers.getSetCookie()[0] ?? ""

const tokenIn = (cookie: string) => /^__Host-service_session=([^;]*)/.exec(cookie)?.[1] ?? ""

const refresh = (token: string) =>
  Effect.flatMap(withCookie(token), (caller) => caller.get("/users/me")).pipe(
    Effect.map(({ headers }) => tokenIn(freshCookie(headers)))
  )

const sign = (claims: JWTPayload, header: { alg: string; typ?: string } = { alg: "HS256", typ: "JWT" }) =>
  Effect.promise(() => new SignJWT(claims).setProtectedHeader(header).sign(secret))

layer(TestServer.layer())("sessions", (it) => {
  it.effect("the cookie has every attribute that keeps it to this host, and the claims name the session", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const visitor = yield* anonymous
      const answer = yield* visitor.post("/auth/login-email", { email: rider.email, password: rider.password })
      const cookie = freshCookie(answer.headers)
      const attributes = cookie.split("; ").slice(1).toSorted()
      assert.deepStrictEqual(attributes, ["HttpOnly", "Max-Age=900", "Path=/", "SameSite=Lax", "Secure"])
      const claims = claimsOf(tokenIn(cookie))
      assert.strictEqual(claims.sub, String(rider.id))
      assert.strictEqual(claims.exp, claims.iat + 900)
      assert.strictEqual(claims.role, "user")
      assert.strictEqual(claims.units, "metric")
      assert.strictEqual(answer.headers.get("cache-control"), "no-store")
    }))

  it.effect("a token carries the units that the user chose, and metric until then", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const unitsNow = Effect.map(refresh(rider.token), (token) => claimsOf(token).units)
      assert.strictEqual(yield* unitsNow, "metric")
      for (
        const [preferences, units] of [
          [{ units: "imperial" }, "imperial"],
          [{ mapStyle: "dark" }, "imperial"],
          [{ units: null }, "metric"],
          [null, "metric"]
        ]
      ) {
        yield* rider.patch("/users/me", { preferences })
        assert.strictEqual(yield* unitsNow, units)
      }
    }))

  it.effect("a token of an older process, without units, is accepted", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const { units: _, ...claims } = claimsOf(rider.token)
      assert.strictEqual(yield* status(yield* sign(claims)), 200)
    }))

  it.effect("a token expires after 15 minutes, and each response has a fresh one", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      yield* TestClock.adjust("14 minutes")
      yield* TestClock.adjust("59 seconds")
      const answer = yield* rider.get("/users/me")
      assert.strictEqual(answer.status, 200)
      const fresh = tokenIn(freshCookie(answer.headers))
      assert.strictEqual(claimsOf(fresh).sid, claimsOf(rider.token).sid)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* status(rider.token), 401)
      assert.strictEqual(yield* status(fresh), 200)
    }))

  it.effect("refreshing ends 30 days after sign-in", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      // The 30 days are over but for some minutes: the row says so, and the clock goes on from there.
      yield* SqlClient.SqlClient.use((sql) =>
        sql`UPDATE sessions SET expires_at = last_seen_at + interval '20 minutes' WHERE user_id = ${rider.id}`
      )
      yield* TestClock.adjust("10 minutes")
      const second = yield* refresh(rider.token)
      yield* TestClock.adjust("9 minutes")
      const third = yield* refresh(second)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* status(third), 401)
    }))

  it.effect("a caller's own error refreshes the cookie too", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const answer = yield* rider.get("/routes/4711")
      assert.strictEqual(answer.status, 404)
      assert.notStrictEqual(tokenIn(freshCookie(answer.headers)), "")
    }))

  it.effect("as a bearer token the JWT is the session, and the fresh one comes in a header", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const caller = yield* withBearer(rider.token)
      const answer = yield* caller.get("/users/me")
      assert.strictEqual(answer.status, 200)
      assert.deepStrictEqual(answer.headers.getSetCookie(), [])
      assert.strictEqual(claimsOf(answer.headers.get("x-access-token") ?? "").sid, claimsOf(rider.token).sid)
    }))

  it.effect("Authorization alone decides when it is there", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const other = yield* signedUp
      const both = yield* withHeaders({ cookie: rider.cookie, authorization: `Bearer ${other.token}` })
      const me = yield* both.get("/users/me")
      assert.strictEqual(Schema.decodeUnknownSync(Schema.Struct({ id: Schema.Finite }))(me.body).id, other.id)
      const bad = yield* withHeaders({ cookie: rider.cookie, authorization: "Bearer nonsense" })
      assert.strictEqual((yield* bad.get("/users/me")).status, 401)
      assert.strictEqual((yield* bad.get("/routes/4711")).status, 401)
    }))

  it.effect("a bad cookie is cleared where none would do", () =>
    Effect.gen(function*() {
      const stale = yield* withCookie("nonsense")
      const answer = yield* stale.get("/routes/4711")
      assert.strictEqual(answer.status, 404)
      assert.match(freshCookie(answer.headers), /^__Host-service_session=;/)
    }))

  it.effect("logging out ends the session for every copy of its cookie and no other, and may be repeated", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const other = yield* signedUp
      const elsewhere = tokenIn(freshCookie((yield* logIn(rider.email, rider.password)).headers))
      const answer = yield* rider.post("/auth/logout")
      assert.deepStrictEqual([answer.status, answer.body], [200, { success: true }])
      assert.match(freshCookie(answer.headers), /^__Host-service_session=;.*Max-Age=0/)
      assert.strictEqual(yield* status(rider.token), 401)
      assert.deepStrictEqual([yield* status(elsewhere), yield* status(other.token)], [200, 200])
      assert.strictEqual((yield* rider.post("/auth/logout")).status, 200)
      assert.strictEqual((yield* Effect.flatMap(anonymous, (visitor) => visitor.post("/auth/logout"))).status, 200)
    }))

  it.effect("logging out by bearer token ends that session", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const caller = yield* withBearer(rider.token)
      assert.strictEqual((yield* caller.post("/auth/logout")).status, 200)
      assert.strictEqual(yield* status(rider.token), 401)
    }))

  it.effect("signing in again ends the previous session of that browser", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const again = yield* rider.post("/auth/login-email", { email: rider.email, password: rider.password })
      assert.strictEqual(again.status, 200)
      assert.strictEqual(yield* status(rider.token), 401)
      assert.strictEqual(yield* status(tokenIn(freshCookie(again.headers))), 200)
    }))

  it.effect("signing in to another account leaves the previous session", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const { email, password } = yield* signedUp
      assert.strictEqual((yield* rider.post("/auth/login-email", { email, password })).status, 200)
      assert.strictEqual(yield* status(rider.token), 200)
    }))

  it.effect("100 requests at once with one cookie all succeed", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const answers = yield* Effect.all(Array.from({ length: 100 }, () => served(rider.get("/users/me"))), {
        concurrency: "unbounded"
      })
      assert.isTrue(answers.every((answer) => answer.status === 200))
    }))

  it.effect("of more than 100 sessions of an account the oldest ends, and those that are over do not count", () =>
    Effect.gen(function*() {
      const other = yield* signedUp
      const rider = yield* signedUp
      yield* TestClock.adjust("1 minute")
      const sql = yield* SqlClient.SqlClient
      const now = new Date(yield* Clock.currentTimeMillis)
      yield* sql`
        INSERT INTO sessions (id, user_id, created_at, last_seen_at, expires_at, revoked_at)
        SELECT gen_random_uuid(), ${rider.id}, s.created_at + n * interval '1 second', s.last_seen_at,
          CASE WHEN n = 100 THEN ${now} ELSE s.expires_at END, CASE WHEN n = 101 THEN ${now} END
        FROM generate_series(1, 101) n, sessions s WHERE s.user_id = ${rider.id}`
      const answer = yield* logIn(rider.email, rider.password)
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(yield* status(rider.token), 401)
      assert.strictEqual(yield* status(other.token), 200)
      const newest = tokenIn(freshCookie(answer.headers))
      assert.strictEqual(yield* status(newest), 200)
      const listed = yield* Effect.flatMap(withCookie(newest), (caller) => caller.get("/me/sessions"))
      assert.strictEqual(listed.headers.get("x-total-count"), "100")
    }))

  it.effect("that have ended keep neither address nor browser", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const [first, second, third] = [yield* signInAgain(rider), yield* signInAgain(rider), yield* signInAgain(rider)]
      yield* first.post("/auth/logout")
      yield* second.delete(`/me/sessions/${claimsOf(rider.token).sid}`)
      yield* third.post("/me/sessions/logout-everywhere")
      const ended = yield* SqlClient.SqlClient.use((sql) =>
        sql`SELECT user_agent, ip_address FROM sessions WHERE user_id = ${rider.id} AND revoked_at IS NOT NULL`
      )
      assert.deepStrictEqual(ended, Array.from({ length: 4 }, () => ({ user_agent: null, ip_address: null })))
    }))

  it.effect("are listed as long as one of their tokens can be used", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      yield* TestClock.adjust("59 seconds")
      const unnoted = yield* refresh(rider.token)
      yield* TestClock.adjust("14 minutes")
      const elsewhere = yield* signInAgain(rider)
      const count = Effect.map(elsewhere.get("/me/sessions"), ({ headers }) => headers.get("x-total-count"))
      yield* TestClock.adjust("59 seconds")
      assert.strictEqual(yield* count, "2")
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(yield* count, "1")
      assert.strictEqual(yield* status(unnoted), 401)
    }))

  it.effect("that are used outlive any number of later ones that are not", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      yield* TestClock.adjust("14 minutes")
      const second = yield* refresh(rider.token)
      yield* TestClock.adjust("14 minutes")
      const third = yield* refresh(second)
      yield* SqlClient.SqlClient.use((sql) =>
        sql`
          INSERT INTO sessions (id, user_id, created_at, last_seen_at, expires_at)
          SELECT gen_random_uuid(), user_id, created_at + n * interval '1 second', created_at + n * interval '1 second', expires_at
          FROM generate_series(1, 105) n, sessions WHERE user_id = ${rider.id}`
      )
      const elsewhere = yield* signInAgain(rider)
      assert.strictEqual(yield* status(third), 200)
      assert.strictEqual((yield* elsewhere.get("/me/sessions")).headers.get("x-total-count"), "2")
    }))

  it.effect("remember when they were seen last, to the minute", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      yield* TestClock.adjust("1 second")
      const elsewhere = yield* signInAgain(rider)
      const seen = Effect.map(rider.get("/me/sessions"), ({ body }) =>
        Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ current: Schema.Boolean, lastSeenAt: Schema.String })))(
          body
        )
          .toSorted((one) =>
            one.current ? -1 : 1
          )
          .map(({ lastSeenAt }) => Date.parse(lastSeenAt)))
      const [first = 0, other = 0] = yield* seen
      assert.strictEqual(other - first, 1000)
      yield* TestClock.adjust("58 seconds")
      yield* rider.get("/users/me")
      assert.deepStrictEqual(yield* seen, [first, other])
      yield* TestClock.adjust("1 second")
      yield* rider.get("/users/me")
      assert.deepStrictEqual(yield* seen, [first + 60_000, other])
      yield* elsewhere.get("/users/me")
      assert.deepStrictEqual(yield* seen, [first + 60_000, other])
    }))

  it.effect("tokens that we did not sign, or not for this, are refused", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const { aud, exp, iat, iss, role, sid, sub } = claimsOf(rider.token)
      const payload: JWTPayload = { sub, sid, role, iss, aud, iat, exp }
      assert.strictEqual(yield* status(yield* sign(payload)), 200)
      const [head, body, signature] = rider.token.split(".")
      const refused = [
        new UnsecuredJWT(payload).encode(),
        yield* sign(payload, { alg: "HS512", typ: "JWT" }),
        yield* sign(payload, { alg: "HS256", typ: "other+jwt" }),
        yield* sign({ ...payload, iss: "somebody" }),
        yield* sign({ ...payload, aud: "something else" }),
        yield* sign({ sub, sid, role, iss, aud, iat }),
        yield* sign({ ...payload, sub: "0" }),
        yield* sign({ ...payload, sub: String(rider.id + 1) }),
        yield* sign({ ...payload, sid: "not a uuid" }),
        yield* sign({ ...payload, sid: "00000000-0000-4000-8000-000000000000" }),
        yield* Effect.promise(() =>
          new SignJWT(payload).setProtectedHeader({ alg: "HS256", typ: "JWT" }).sign(
            new TextEncoder().encode("x".repeat(40))
          )
        ),
        `${head}.${body}.`,
        `${head}.${body}`,
        `${head}..${signature}`,
        "x".repeat(8000)
      ]
      for (const token of refused) assert.strictEqual(yield* status(token), 401, token.slice(0, 200))
    }))

  it.effect("a cookie is worth nothing in a request that another site made a browser send", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const route = { name: "x", waypoints: [{ coord: [1, 2] }] }
      const create = (headers: Readonly<Record<string, string>>) =>
        Effect.map(rider.post("/routes", route, { headers }), (answer) => answer.status)
      assert.strictEqual(yield* create({ "sec-fetch-site": "cross-site" }), 403)
      assert.strictEqual(yield* create({ "sec-fetch-site": "same-site" }), 403)
      assert.strictEqual(yield* create({ "sec-fetch-site": "cross-site", origin: "https://evil.example" }), 403)
      assert.strictEqual(yield* create({ origin: "https://evil.example" }), 403)
      assert.strictEqual(yield* create({ origin: "null" }), 403)
      assert.strictEqual(yield* create({ "sec-fetch-site": "same-origin" }), 201)
      assert.strictEqual(yield* create({ "sec-fetch-site": "none" }), 201)
      assert.strictEqual(yield* create({ origin: "http://localhost:3000" }), 201)
      assert.strictEqual(yield* create({}), 201)
      const read = yield* rider.get("/users/me", { headers: { "sec-fetch-site": "cross-site" } })
      assert.strictEqual(read.status, 200)
      const bearer = yield* withBearer(rider.token)
      const scripted = yield* bearer.post("/routes", route, { headers: { origin: "https://evil.example" } })
      assert.strictEqual(scripted.status, 201)
    }))
})

layer(TestServer.layer({ TRUSTED_PROXIES: "127.0.0.1/32,::1/128" }))("the list of sessions", (it) => {
  it.effect("has the address of the last request, not that of the sign-in", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const from = (address: string) => ({ headers: { "x-forwarded-for": address } })
      const addresses = Effect.map(
        rider.get("/me/sessions", from("192.0.2.1")),
        ({ body }) => Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ ipAddress: Schema.String })))(body)
      )
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* addresses, [{ ipAddress: "192.0.2.1" }])
      yield* TestClock.adjust("1 minute")
      const stolen = yield* withBearer(rider.token)
      yield* stolen.get("/users/me", from("203.0.113.9"))
      assert.deepStrictEqual(yield* addresses, [{ ipAddress: "203.0.113.9" }])
    }))
})

layer(TestServer.layer({ CORS_ORIGINS: "https://app.example, https://other.example" }))("allowed origins", (it) => {
  it.effect("may send what changes state", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const remove = (headers: Readonly<Record<string, string>>) =>
        Effect.map(rider.delete("/routes/4711", { headers }), (answer) => answer.status)
      assert.strictEqual(yield* remove({ "sec-fetch-site": "cross-site", origin: "https://app.example" }), 404)
      assert.strictEqual(yield* remove({ "sec-fetch-site": "same-site", origin: "https://other.example" }), 404)
      assert.strictEqual(yield* remove({ "sec-fetch-site": "cross-site", origin: "https://app.example.evil" }), 403)
    }))
})
