import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { anonymous, newEmail, type Rider, signedUp, withHeaders } from "../support/Actors.ts"
import { newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint, withToken } from "../support/Tokens.ts"
import { served } from "../support/Waiting.ts"

const LIMITED = { RATE_LIMITS_ENABLED: "true" }

const BEHIND_PROXY = { ...LIMITED, TRUSTED_PROXIES: "127.0.0.0/8, 10.0.0.0/8" }

/** A caller has an address of its own, as our own proxy tells it. */
const from = (address: string) => withHeaders({ "x-forwarded-for": address })

const wrongLogin = (email = newEmail()) => ({ email, password: "not this one" })

const RateLimitField = /^"([A-Z]+ \/\S+)";r=(\d+);t=(\d+)$/

const remainingIn = (headers: Headers) => Number(RateLimitField.exec(headers.get("ratelimit") ?? "")?.[2])

const limitsIn = Schema.decodeUnknownSync(Schema.Struct({ limits: Schema.Array(Schema.Json) }))

/** Sign-in is limited too, so every rider of these tests comes from another address. */
const riderFrom = (address: string) =>
  Effect.map(signedUp, (rider): Rider => ({
    ...rider,
    get: (path, call) => rider.get(path, { ...call, headers: { "x-forwarded-for": address, ...call?.headers } })
  }))

layer(TestServer.layer(BEHIND_PROXY))("limits", (it) => {
  it.effect("of the auth tier: five a minute for an address, counted for each endpoint", () =>
    Effect.gen(function*() {
      const visitor = yield* from("203.0.113.1")
      for (let n = 4; n >= 0; n--) {
        const answer = yield* visitor.post("/auth/login-email", wrongLogin())
        assert.strictEqual(answer.status, 401)
        assert.strictEqual(answer.headers.get("ratelimit-policy"), "\"POST /api/v1/auth/login-email\";q=5;w=60")
        assert.strictEqual(remainingIn(answer.headers), n)
      }
      yield* TestClock.adjust("59 seconds")
      const refused = yield* visitor.post("/auth/login-email", wrongLogin())
      assert.strictEqual(refused.status, 429)
      assert.deepStrictEqual(refused.body, {
        statusCode: 429,
        code: "RATE_LIMITED",
        message: "At most 5 requests a minute: try again in 1 s",
        details: { reason: "rate_limited", limit: 5, windowSeconds: 60, retryAfterSeconds: 1 }
      })
      assert.strictEqual(refused.headers.get("retry-after"), "1")
      assert.strictEqual((yield* visitor.post("/auth/request-password-reset", { email: newEmail() })).status, 200)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* visitor.post("/auth/login-email", wrongLogin())).status, 401)
    }))

  it.effect("of a credential are in its description", () =>
    Effect.gen(function*() {
      const { body } = yield* (yield* riderFrom("203.0.113.77")).get("/me/credential")
      assert.deepStrictEqual(limitsIn(body).limits, [
        { tier: "default", limit: 300, windowSeconds: 60 },
        { tier: "moderate", limit: 60, windowSeconds: 60 },
        { tier: "strict", limit: 10, windowSeconds: 60 }
      ])
    }))

  it.effect("count a batch as one request of the strict tier, however many operations it has", () =>
    Effect.gen(function*() {
      const rider = yield* riderFrom("203.0.113.78")
      const operations = Array.from({ length: 20 }, () => ({ op: "create", route: newRoute({}) }))
      const { headers, status } = yield* rider.post("/routes/batch", { operations })
      assert.strictEqual(status, 200)
      assert.strictEqual(headers.get("ratelimit-policy"), "\"POST /api/v1/routes/batch\";q=10;w=60")
      assert.strictEqual(remainingIn(headers), 9)
    }))

  it.effect("of an email address count from every client address, case-insensitively", () =>
    Effect.gen(function*() {
      const name = newEmail()
      for (let n = 0; n < 5; n++) {
        const visitor = yield* from(`198.51.100.${n}`)
        const spelling = n % 2 === 0 ? name : ` ${name.toUpperCase()} `
        assert.strictEqual((yield* visitor.post("/auth/login-email", wrongLogin(spelling))).status, 401)
      }
      const another = yield* from("198.51.100.99")
      assert.strictEqual((yield* another.post("/auth/login-email", wrongLogin(name))).status, 429)
      assert.strictEqual((yield* another.post("/auth/login-email", wrongLogin())).status, 401)
    }))

  it.effect("of an email address count for each network where a mail is asked for, so that strangers refuse nobody's", () =>
    Effect.gen(function*() {
      const email = newEmail()
      for (const [path, status] of [["signup-email", 201], ["request-password-reset", 200]] as const) {
        const askFrom = (address: string) =>
          Effect.flatMap(
            from(address),
            (visitor) => visitor.post(`/auth/${path}`, { email, password: "a long enough password" })
          )
        for (let n = 0; n < 5; n++) assert.strictEqual((yield* askFrom(`192.0.2.${n}`)).status, status)
        assert.strictEqual((yield* askFrom("192.0.2.99")).status, 429)
        assert.strictEqual((yield* askFrom("203.0.113.99")).status, status)
      }
    }))

  it.effect("are not escaped by more addresses of one's own", () =>
    Effect.gen(function*() {
      const statuses: Array<number> = []
      for (let n = 0; n < 6; n++) {
        const visitor = yield* from(`1.2.3.${n}, 2001:db8:1:2::${n}, 10.0.0.${n}`)
        statuses.push((yield* visitor.post("/auth/login-email", wrongLogin())).status)
      }
      assert.deepStrictEqual(statuses, [401, 401, 401, 401, 401, 429])
      const neighbour = yield* from("2001:db8:1:3::1")
      assert.strictEqual((yield* neighbour.post("/auth/login-email", wrongLogin())).status, 401)
      const mapped = [yield* from("::ffff:192.0.2.7"), yield* from("192.0.2.7")]
      for (let n = 0; n < 5; n++) yield* mapped[n % 2]?.post("/auth/login-email", wrongLogin()) ?? Effect.void
      assert.strictEqual(
        (yield* mapped[0]?.post("/auth/login-email", wrongLogin()) ?? Effect.succeed({ status: 0 })).status,
        429
      )
    }))

  it.effect("of an IPv6 address are those of its /64, and ten times as much those of its /48", () =>
    Effect.gen(function*() {
      yield* TestClock.adjust("1 minute")
      const proveFrom = (address: string) =>
        Effect.flatMap(from(address), (visitor) => visitor.post("/auth/verify-email", { token: "wrong" }))
      for (let n = 0; n < 50; n++) {
        const answer = yield* proveFrom(`2001:db8:48:${Math.floor(n / 5)}::${n + 1}`)
        assert.strictEqual(answer.status, 400)
        assert.strictEqual(remainingIn(answer.headers), 4 - n % 5)
      }
      const refused = yield* proveFrom("2001:db8:48:ffff::1")
      assert.strictEqual(refused.status, 429)
      assert.strictEqual(refused.headers.get("ratelimit-policy"), "\"POST /api/v1/auth/verify-email\";q=50;w=60")
      assert.deepInclude(refused.body, {
        details: { reason: "rate_limited", limit: 50, windowSeconds: 60, retryAfterSeconds: 60 }
      })
      assert.strictEqual((yield* proveFrom("2001:db8:49::1")).status, 400)
      assert.strictEqual(
        (yield* proveFrom("2001:db8:48:0::1")).headers.get("ratelimit-policy"),
        "\"POST /api/v1/auth/verify-email\";q=5;w=60"
      )
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* proveFrom("2001:db8:48:ffff::1")).status, 400)
    }))

  it.effect("are exact for many at once", () =>
    Effect.gen(function*() {
      const visitor = yield* from("203.0.113.50")
      const calls = Array.from({ length: 200 }, () => served(visitor.post("/auth/logout")))
      const logouts = yield* Effect.all(calls, { concurrency: "unbounded" })
      assert.strictEqual(logouts.filter(({ status }) => status === 200).length, 200)
      const rider = yield* riderFrom("203.0.113.51")
      const reads = yield* Effect.all(Array.from({ length: 100 }, () => served(rider.get("/routes"))), {
        concurrency: "unbounded"
      })
      assert.strictEqual(reads.filter(({ status }) => status === 200).length, 60)
      assert.strictEqual(reads.filter(({ status }) => status === 429).length, 40)
      assert.isTrue(
        reads.every(({ headers }) => headers.get("ratelimit-policy") === "\"GET /api/v1/routes\";q=60;w=60")
      )
    }))

  it.effect("of a user and of each of their tokens are counted apart", () =>
    Effect.gen(function*() {
      yield* TestClock.adjust("1 minute")
      const rider = yield* riderFrom("203.0.113.60")
      const scripts = [yield* mint(rider, "read"), yield* mint(rider, "read")]
      for (let n = 0; n < 60; n++) yield* rider.get("/users/me")
      assert.strictEqual((yield* rider.get("/users/me")).status, 429)
      for (const { token } of scripts) {
        assert.strictEqual((yield* (yield* withToken(token)).get("/users/me")).status, 200)
      }
    }))

  it.effect("count refused credentials for their address", () =>
    Effect.gen(function*() {
      const guesser = yield* withHeaders({ "x-forwarded-for": "203.0.113.70", authorization: "Bearer guess" })
      for (let n = 0; n < 10; n++) {
        assert.strictEqual(
          (yield* guesser.post("/users/me/password", { newPassword: "a fine pass phrase" })).status,
          401
        )
      }
      const refused = yield* guesser.post("/users/me/password", { newPassword: "a fine pass phrase" })
      assert.strictEqual(refused.status, 429)
      assert.strictEqual(refused.headers.get("ratelimit-policy"), "\"POST /api/v1/users/me/password\";q=10;w=60")
    }))

  it.effect("of the strict tier count for minting tokens too, so that tokens multiply no limits", () =>
    Effect.gen(function*() {
      const rider = yield* riderFrom("203.0.113.77")
      const answers = yield* Effect.forEach(
        Array.from({ length: 11 }, (_, n) => n),
        (n) => rider.post("/auth/tokens", { name: `script ${n}`, scope: "read" })
      )
      assert.deepStrictEqual(answers.map(({ status }) => status), [...Array.from({ length: 10 }, () => 201), 429])
    }))

  it.effect("do not count probes", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const answers = yield* Effect.all(Array.from({ length: 400 }, () => visitor.get("//health/live")), {
        concurrency: 50
      })
      assert.isTrue(answers.every(({ headers, status }) => status === 200 && headers.get("ratelimit") === null))
    }))
})

const DEVICE = /^__Host-service_device=([^;]+); /

const deviceIn = (headers: Headers) =>
  headers.getSetCookie().map((cookie) => DEVICE.exec(cookie)?.[1]).find((token) => token !== undefined) ?? ""

layer(TestServer.layer(BEHIND_PROXY))("a device that signed in before", (it) => {
  const logInFrom = (address: string, credentials: { email: string; password: string }, device?: string) =>
    Effect.flatMap(
      withHeaders({
        "x-forwarded-for": address,
        ...(device === undefined ? {} : { cookie: `a=b; __Host-service_device=${device}` })
      }),
      (visitor) => visitor.post("/auth/login-email", credentials)
    )

  const useUp = Effect.fnUntraced(function*(email: string, network: string) {
    for (let n = 0; n < 5; n++) {
      assert.strictEqual((yield* logInFrom(`${network}.${n}`, wrongLogin(email))).status, 401)
    }
    assert.strictEqual((yield* logInFrom(`${network}.99`, wrongLogin(email))).status, 429)
  })

  it.effect("is not locked out by wrong tries from elsewhere, and has a limit of its own", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const first = yield* logInFrom("203.0.113.1", rider)
      const device = deviceIn(first.headers)
      const [session = "", cookie = ""] = first.headers.getSetCookie()
      assert.match(session, /^__Host-service_session=/)
      assert.match(cookie, /; Max-Age=15552000; Path=\/; HttpOnly; Secure; SameSite=Lax$/)
      yield* TestClock.adjust("1 minute")
      yield* useUp(rider.email, "198.51.100")
      assert.strictEqual((yield* logInFrom("203.0.113.2", rider)).status, 429)
      const again = yield* logInFrom("203.0.113.2", rider, device)
      assert.strictEqual(again.status, 200)
      assert.notStrictEqual(deviceIn(again.headers), device)
      for (let n = 0; n < 4; n++) {
        assert.strictEqual((yield* logInFrom(`203.0.113.${10 + n}`, wrongLogin(rider.email), device)).status, 401)
      }
      assert.strictEqual((yield* logInFrom("203.0.113.20", rider, device)).status, 429)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* logInFrom("203.0.113.20", rider, device)).status, 200)
    }))

  it.effect("is known after it changed the password, and no other device is", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(Date.parse("2026-01-01"))
      const rider = yield* signedUp
      const device = deviceIn((yield* logInFrom("203.0.113.50", rider)).headers)
      const other = deviceIn((yield* logInFrom("203.0.113.51", rider)).headers)
      yield* TestClock.adjust("1 minute")
      const password = "a password that is new"
      const headers = { cookie: `${rider.cookie}; __Host-service_device=${device}`, "x-forwarded-for": "203.0.113.50" }
      const change = { currentPassword: rider.password, newPassword: password }
      const changed = yield* rider.post("/users/me/password", change, { headers })
      assert.strictEqual(changed.status, 200)
      yield* useUp(rider.email, "198.51.103")
      const credentials = { email: rider.email, password }
      assert.strictEqual((yield* logInFrom("203.0.113.51", credentials, other)).status, 429)
      assert.strictEqual((yield* logInFrom("203.0.113.50", credentials, device)).status, 429)
      assert.strictEqual((yield* logInFrom("203.0.113.50", credentials, deviceIn(changed.headers))).status, 200)
    }))

  it.effect("is a stranger with a token that is forged, of another account, expired, or revoked with the sessions", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const other = yield* signedUp
      const device = deviceIn((yield* logInFrom("203.0.113.30", rider)).headers)
      const theirs = deviceIn((yield* logInFrom("203.0.113.31", other)).headers)
      yield* TestClock.adjust("1 minute")
      yield* useUp(rider.email, "198.51.101")
      for (const token of [theirs, `${device.slice(0, -4)}AAAA`, "x", rider.token]) {
        assert.strictEqual((yield* logInFrom("203.0.113.32", rider, token)).status, 429)
      }
      assert.strictEqual((yield* logInFrom("203.0.113.33", rider, device)).status, 200)
      const stale = yield* withHeaders({ authorization: `Bearer ${device}` })
      assert.strictEqual((yield* stale.get("/users/me")).status, 401)

      yield* rider.post("/me/sessions/logout-everywhere")
      assert.strictEqual((yield* logInFrom("203.0.113.34", rider, device)).status, 429)

      yield* TestClock.adjust("1 minute")
      const fresh = deviceIn((yield* logInFrom("203.0.113.35", rider)).headers)
      yield* TestClock.adjust("180 days")
      yield* useUp(rider.email, "198.51.102")
      assert.strictEqual((yield* logInFrom("203.0.113.36", rider, fresh)).status, 429)
    }))
})

layer(TestServer.layer(LIMITED))("without trusted proxies", (it) => {
  it.effect("count by the connection, whatever a client's headers claim", () =>
    Effect.gen(function*() {
      const statuses: Array<number> = []
      for (let n = 0; n < 6; n++) {
        const visitor = yield* from(`203.0.113.${n}`)
        statuses.push((yield* visitor.post("/auth/login-email", wrongLogin())).status)
      }
      assert.deepStrictEqual(statuses, [401, 401, 401, 401, 401, 429])
    }))

  it.effect("a body is not looked at before the limit is", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const statuses: Array<number> = []
      for (let n = 0; n < 6; n++) {
        statuses.push((yield* visitor.post("/auth/signup-email", undefined, { raw: "{" })).status)
      }
      assert.deepStrictEqual(statuses, [415, 415, 415, 415, 415, 429])
    }))
})

layer(TestServer.layer())("limits that are off", (it) => {
  it.effect("have no headers", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      for (let n = 0; n < 10; n++) {
        const answer = yield* visitor.post("/auth/logout")
        assert.strictEqual(answer.status, 200)
        assert.isNull(answer.headers.get("ratelimit"))
      }
    }))
})
