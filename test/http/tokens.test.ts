import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { crc32 } from "node:zlib"
import { type Actor, anonymous, signedIn, withHeaders } from "../support/Actors.ts"
import { untilLocked, whileLocked } from "../support/Locks.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { created, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint, refusalOf, scriptOf, withToken } from "../support/Tokens.ts"
import { served, until } from "../support/Waiting.ts"

const CONFIRMED = { headers: { "x-service-confirm": "true" } }

const listIn = Schema.decodeUnknownSync(Schema.Array(Schema.Record(Schema.String, Schema.Json)))

const impactIn = Schema.decodeUnknownSync(Schema.Struct({
  statusCode: Schema.Literal(428),
  code: Schema.Literal("PRECONDITION_REQUIRED"),
  details: Schema.Struct({ impact: Schema.Record(Schema.String, Schema.Json) })
}))

const record = Schema.decodeUnknownSync(Schema.Record(Schema.String, Schema.Json))

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

const base62 = (number: number) =>
  [5, 4, 3, 2, 1, 0].map((power) => DIGITS[Math.floor(number / 62 ** power) % 62]).join("")

const statusOf = (token: string) =>
  Effect.flatMap(withToken(token), (script) => Effect.map(script.get("/users/me"), ({ status }) => status))

layer(TestServer.withSweeps())("personal access tokens", (it) => {
  it.effect("are shown once, and listed without what they open", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const answer = yield* rider.post("/auth/tokens", { name: "  laptop  ", scope: "read", userId: 1, id: 7 })
      assert.strictEqual(answer.status, 201)
      const { token, ...listed } = Schema.decodeUnknownSync(Schema.Record(Schema.String, Schema.Json))(answer.body)
      assert.match(String(token), /^service_pat_[0-9A-Za-z]{46}$/)
      assert.deepStrictEqual(Object.keys(listed).toSorted(), [
        "createdAt",
        "expiresAt",
        "hint",
        "id",
        "lastUsedAt",
        "name",
        "scope"
      ])
      assert.deepInclude(listed, { name: "laptop", scope: "read", hint: String(token).slice(-4), lastUsedAt: null })
      const days = (Date.parse(String(listed["expiresAt"])) - Date.parse(String(listed["createdAt"]))) / 86_400_000
      assert.strictEqual(days, 90)
      const list = yield* rider.get("/auth/tokens")
      assert.deepStrictEqual(list.body, [listed])
      assert.strictEqual(list.headers.get("x-total-count"), "1")
      const rows = yield* SqlClient.SqlClient.use((sql) => sql`SELECT * FROM personal_access_tokens`)
      assert.notInclude(
        JSON.stringify(rows, (_, value) => typeof value === "bigint" ? Number(value) : value),
        String(token)
      )
    }))

  it.effect("expire after the requested days", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const day = yield* mint(rider, "read", { expiresInDays: 1 })
      const forever = yield* mint(rider, "read", { expiresInDays: null, currentPassword: rider.password })
      assert.deepInclude(listIn((yield* rider.get("/auth/tokens")).body)[0], { id: forever.id, expiresAt: null })
      yield* TestClock.adjust("23 hours")
      assert.strictEqual(yield* statusOf(day.token), 200)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(yield* statusOf(day.token), 401)
      assert.strictEqual(yield* statusOf(forever.token), 200)
    }))

  it.effect("need a scope, a name and a lifetime in bounds", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const refused = [
        {},
        { name: "x" },
        { name: "x", scope: "admin" },
        { name: "x", scope: ["read", "write"] },
        { name: "x", scopes: "read" },
        { name: " ", scope: "read" },
        { name: "n".repeat(101), scope: "read" },
        { name: "x\u0000", scope: "read" },
        { name: "x", scope: "read", expiresInDays: 0 },
        { name: "x", scope: "read", expiresInDays: 367 },
        { name: "x", scope: "read", expiresInDays: 1.5 },
        { name: "x", scope: "read", expiresInDays: "90" }
      ]
      for (const body of refused) {
        assert.strictEqual((yield* rider.post("/auth/tokens", body)).status, 400, JSON.stringify(body))
      }
      assert.strictEqual(
        (yield* rider.post("/auth/tokens", { name: "x", scope: "read", expiresInDays: 366 })).status,
        201
      )
    }))

  it.effect("of 64 that are requested at once no more than 50 are made", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const call = served(rider.post("/auth/tokens", { name: "x", scope: "read" }))
      const answers = yield* Effect.replicateEffect(call, 64, { concurrency: "unbounded" })
      assert.strictEqual(answers.filter(({ status }) => status === 201).length, 50)
      assert.strictEqual(answers.filter(({ status }) => status === 409).length, 14)
      const tokens = answers.flatMap(({ text }) => /"token":"([^"]*)"/.exec(text)?.slice(1) ?? [])
      for (const token of tokens) assert.match(token, /^service_pat_[0-9A-Za-z]{46}$/)
      assert.lengthOf(new Set(tokens.map((token) => token.slice(12, -6)).join("")), 62)
      const list = yield* rider.get("/auth/tokens?limit=200")
      const [first] = listIn(list.body)
      yield* rider.delete(`/auth/tokens/${first?.["id"]}`)
      assert.strictEqual((yield* rider.post("/auth/tokens", { name: "x", scope: "read" })).status, 201)
    }))

  it.effect("are revoked at once, once, and by their owner only", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const stranger = yield* signedIn
      const { id, token } = yield* mint(rider, "read")
      assert.strictEqual((yield* stranger.delete(`/auth/tokens/${id}`)).status, 404)
      assert.strictEqual(yield* statusOf(token), 200)
      const deletions = yield* Effect.all(
        Array.from({ length: 16 }, () => rider.delete(`/auth/tokens/${id}`)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(deletions.filter(({ status }) => status === 200).length, 1)
      assert.strictEqual(yield* statusOf(token), 401)
      for (const other of ["0", "x", "9007199254740993", "1".repeat(40)]) {
        assert.strictEqual((yield* rider.delete(`/auth/tokens/${other}`)).status, 404)
      }
    }))

  it.effect("of any other shape are refused, a wrong checksum without a query", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { token } = yield* mint(rider, "read")
      const changed = token.slice(0, 20) + (token[20] === "a" ? "b" : "a") + token.slice(21)
      for (
        const wrong of [
          changed,
          token.slice(0, -1),
          `${token}a`,
          token.toUpperCase(),
          "service_pat_",
          "service_pat_" + "x".repeat(4000)
        ]
      ) {
        assert.strictEqual(yield* statusOf(wrong), 401, wrong.slice(0, 80))
      }
    }))

  it.effect("end with the CRC-32 of what is before it in six digits of base 62, so that scanners find leaked ones", () =>
    Effect.gen(function*() {
      const { token } = yield* mint(yield* signedIn, "read")
      assert.strictEqual(token.slice(-6), base62(crc32(token.slice(0, -6))))
      // Each begins with other digits: 0, 00, 10, 4.
      const ranges = [[0, 62 ** 5], [0, 62 ** 4], [62 ** 5, 62 ** 5 + 62 ** 4], [4 * 62 ** 5, 2 ** 32]] as const
      for (const [from, to] of ranges) {
        const madeUp = Array.from({ length: 10_000 }, (_, n) => `service_pat_${String(n).padStart(40, "x")}`)
          .find((text) => crc32(text) >= from && crc32(text) < to)
        const checksum = base62(crc32(madeUp ?? ""))
        assert.strictEqual(yield* refusalOf(`${madeUp}${checksum}`), "token_unknown")
        assert.strictEqual(yield* refusalOf(`${madeUp}${checksum.slice(1)}${checksum[0]}`), "token_malformed")
      }
    }))

  it.effect("remember when they were used last, to the minute", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* mint(rider, "read", { name: "never used" })
      const { token } = yield* mint(rider, "read")
      const lastUsed = Effect.map(rider.get("/auth/tokens"), ({ body }) => listIn(body)[0]?.["lastUsedAt"])
      yield* statusOf(token)
      const first = yield* lastUsed
      yield* TestClock.adjust("59 seconds")
      yield* statusOf(token)
      assert.strictEqual(yield* lastUsed, first)
      yield* TestClock.adjust("2 seconds")
      yield* statusOf(token)
      assert.strictEqual(Date.parse(String(yield* lastUsed)) - Date.parse(String(first)), 61_000)
      assert.deepInclude(listIn((yield* rider.get("/auth/tokens")).body)[1], { name: "never used", lastUsedAt: null })
    }))

  it.effect("describe themselves; a header of every response has their expiry in the last two weeks", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { token } = yield* mint(rider, "read", { name: "laptop", expiresInDays: 20 })
      const script = yield* withToken(token)
      const answer = yield* script.get("/me/credential")
      assert.strictEqual(answer.status, 200)
      const { expiresAt, user, ...described } = record(answer.body)
      assert.deepStrictEqual(described, { kind: "token", scope: "read", name: "laptop", limits: [] })
      assert.deepInclude(user, { id: rider.id })
      assert.isNull(answer.headers.get("x-token-expires-at"))
      const own = record((yield* rider.get("/me/credential")).body)
      assert.deepInclude(own, { kind: "session", scope: "write", name: null, limits: [] })
      yield* TestClock.adjust("6 days")
      assert.strictEqual((yield* script.get("/routes")).headers.get("x-token-expires-at"), expiresAt)
      assert.strictEqual((yield* script.post("/routes", newRoute({}))).headers.get("x-token-expires-at"), expiresAt)
    }))

  it.effect("that are revoked while they describe themselves are refused as revoked", () =>
    Effect.gen(function*() {
      const { id, token } = yield* mint(yield* signedIn, "read")
      const refused = yield* whileLocked(
        (sql) =>
          Effect.andThen(
            sql`LOCK TABLE personal_access_tokens IN EXCLUSIVE MODE`,
            sql`DELETE FROM personal_access_tokens WHERE id = ${id}`
          ),
        // The token is found and waits to note its use.
        Effect.tap(Effect.forkChild(refusalOf(token)), () => untilLocked(1))
      )
      assert.strictEqual(yield* Fiber.join(refused), "token_revoked")
    }))

  it.effect("are refused with a reason: malformed, unknown, revoked or expired", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const minted = yield* mint(rider, "read", { expiresInDays: 1 })
      const revoked = yield* mint(rider, "read")
      // From here on their digests are known.
      assert.strictEqual(yield* statusOf(minted.token), 200)
      assert.strictEqual(yield* statusOf(revoked.token), 200)
      yield* rider.delete(`/auth/tokens/${revoked.id}`)
      assert.strictEqual(
        yield* refusalOf(`${minted.token.slice(0, -1)}${minted.token.endsWith("0") ? "1" : "0"}`),
        "token_malformed"
      )
      assert.strictEqual(yield* refusalOf(revoked.token), "token_revoked")
      yield* TestClock.adjust("1 day")
      assert.strictEqual(yield* refusalOf(minted.token), "token_expired")
      yield* SqlClient.SqlClient.use((sql) => sql`DELETE FROM personal_access_tokens WHERE id = ${minted.id}`)
      assert.strictEqual(yield* refusalOf(minted.token), "token_unknown")
    }))

  it.effect("have one mail a week before they expire, unless they were made for less", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const mailbox = yield* Mailbox
      yield* mint(rider, "read", { name: "bike computer", expiresInDays: 10 })
      yield* mint(rider, "read", { name: "for a week", expiresInDays: 7 })
      const leaving = yield* signedIn
      yield* mint(leaving, "read", { expiresInDays: 10 })
      yield* leaving.delete("/users/me")
      const mails = Effect.map(
        mailbox.mails,
        (mails) => mails.filter(({ subject, to }) => to === rider.email && subject.startsWith("Your access token"))
      )
      yield* TestClock.adjust("2 days")
      assert.deepStrictEqual(yield* mails, [])
      yield* TestClock.adjust("2 days")
      yield* until(Effect.map(mails, ({ length }) => length > 0))
      yield* TestClock.adjust("7 days")
      const [mail, ...others] = yield* mails
      assert.deepStrictEqual(others, [])
      assert.include(mail?.text, "\"bike computer\"")
      const toLeaving = (yield* mailbox.mails).filter(({ to }) => to === leaving.email)
      assert.notInclude(toLeaving.map(({ subject }) => subject), mail?.subject)
    }))

  it.effect("that expire on one day have one mail, which names each", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const mailbox = yield* Mailbox
      for (const name of ["first", "second", "third"]) {
        yield* mint(rider, "read", { name, expiresInDays: 10 })
        yield* TestClock.adjust("1 minute")
      }
      const mails = Effect.map(
        mailbox.mailsTo(rider.email),
        (mails) => mails.filter(({ subject }) => subject === "Your access tokens expire soon")
      )
      yield* TestClock.adjust("3 days")
      yield* until(Effect.map(mails, ({ length }) => length > 0))
      yield* TestClock.adjust("7 days")
      const [mail, ...others] = yield* mails
      assert.deepStrictEqual(others, [])
      assert.match(mail?.text ?? "", /"first".*"second".*"third"/)
    }))

  it.effect("alone decide when a cookie is there too, and refresh no session", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const other = yield* signedIn
      const { token } = yield* mint(rider, "read")
      const both = yield* withHeaders({ authorization: `Bearer ${token}`, cookie: other.cookie })
      const me = yield* both.get("/users/me")
      assert.strictEqual(Schema.decodeUnknownSync(Schema.Struct({ id: Schema.Int }))(me.body).id, rider.id)
      assert.isNull(me.headers.get("set-cookie"))
      assert.isNull(me.headers.get("x-access-token"))
      assert.strictEqual((yield* both.post("/routes", newRoute({}))).status, 403)
      const bad = yield* withHeaders({ authorization: "Bearer service_pat_x", cookie: other.cookie })
      assert.strictEqual((yield* bad.get("/users/me")).status, 401)
      assert.strictEqual((yield* bad.get("/routes/1")).status, 401)
      const elsewhere = yield* withHeaders({ "x-api-key": token, cookie: `token=${token}` })
      assert.strictEqual((yield* elsewhere.get(`/users/me?access_token=${token}`)).status, 401)
    }))

  it.effect("read their owner's routes of every visibility", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const script = yield* scriptOf(rider, "read")
      const route = created((yield* rider.post("/routes", newRoute({}))).body)
      assert.deepStrictEqual((yield* script.get("/routes")).body, [route])
      assert.deepStrictEqual((yield* script.get(`/routes/${route.id}`)).body, route)
      assert.strictEqual((yield* script.patch(`/routes/${route.id}`, { name: "x" })).status, 403)
      assert.strictEqual((yield* script.patch("/users/me", { name: "x" })).status, 403)
    }))

  it.effect("confirm what cannot be taken back, with exactly `true`, and hear what it would do", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const script = yield* scriptOf(rider, "write")
      const unpublished = yield* script.post("/routes", newRoute({ visibility: "public" }))
      assert.deepInclude(impactIn(unpublished.body).details.impact, { action: "route.publish", resource: "route" })
      assert.strictEqual((yield* rider.get("/routes")).headers.get("x-total-count"), "0")

      const route = created((yield* script.post("/routes", newRoute({ name: "Loop" }))).body)
      const calls: ReadonlyArray<(call?: { headers: Record<string, string> }) => ReturnType<Actor["get"]>> = [
        (call) => script.patch(`/routes/${route.id}`, { visibility: "public" }, call),
        (call) => script.patch(`/routes/${route.id}`, { visibility: "public" }, call),
        (call) => script.delete(`/routes/${route.id}`, call)
      ]
      for (const call of calls) {
        for (const value of ["false", "1", "TRUE", "True", "true,true", "true;x", ""]) {
          const answer = yield* call({ headers: { "x-service-confirm": value } })
          assert.deepInclude(impactIn(answer.body).details.impact, { resource: "route", id: route.id })
        }
        assert.strictEqual((yield* call()).status, 428)
        assert.strictEqual((yield* call(CONFIRMED)).status, 200)
      }
      assert.strictEqual((yield* rider.get(`/routes/${route.id}`)).status, 404)
    }))

  it.effect("need not confirm what is not public, and sessions nothing", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const script = yield* scriptOf(rider, "write")
      const route = created((yield* rider.post("/routes", newRoute({ visibility: "public" }))).body)
      assert.strictEqual((yield* script.patch(`/routes/${route.id}`, { name: "x" })).status, 200)
      assert.strictEqual((yield* script.patch(`/routes/${route.id}`, { visibility: "unlisted" })).status, 200)
      assert.strictEqual(
        (yield* rider.delete(`/routes/${route.id}`, { headers: { "x-service-confirm": "no" } })).status,
        200
      )
    }))

  it.effect("learn nothing of other people's routes from what has to be confirmed", () =>
    Effect.gen(function*() {
      const owner = yield* signedIn
      const script = yield* scriptOf(yield* signedIn, "write")
      const route = created((yield* owner.post("/routes", newRoute({}))).body)
      for (const id of [route.id, 999_999_999]) {
        for (const call of [undefined, CONFIRMED]) {
          assert.strictEqual((yield* script.delete(`/routes/${id}`, call)).status, 404)
          assert.strictEqual((yield* script.patch(`/routes/${id}`, { visibility: "public" }, call)).status, 404)
        }
        assert.strictEqual((yield* script.patch(`/routes/${id}`, { visibility: "nonsense" })).status, 400)
      }
    }))

  it.effect("stop with their account's deletion, and go on after it was taken back", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { token } = yield* mint(rider, "read")
      const request = (at: string | null) =>
        SqlClient.SqlClient.use((sql) =>
          sql`UPDATE users SET deletion_requested_at = ${at}::timestamptz WHERE id = ${rider.id}`
        )
      yield* request("2026-01-01")
      assert.strictEqual(yield* statusOf(token), 401)
      yield* request(null)
      assert.strictEqual(yield* statusOf(token), 200)
    }))

  it.effect("are refused where people sign in and out, however well they are made", () =>
    Effect.gen(function*() {
      const script = yield* scriptOf(yield* signedIn, "write")
      const answers = yield* Effect.all([
        script.post("/auth/login-email", { email: "a@example.com", password: "x" }),
        script.post("/auth/logout"),
        script.get("/auth/tokens"),
        script.get("/me/sessions")
      ])
      for (const { body, status } of answers) {
        assert.strictEqual(status, 403)
        assert.deepInclude(body, { code: "FORBIDDEN" })
      }
      assert.strictEqual((yield* (yield* anonymous).get("/auth/tokens")).status, 401)
    }))
})
