import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { anonymous, signedUp, signedUpAs, withHeaders } from "../support/Actors.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint } from "../support/Tokens.ts"
import { until, untilNoneSwept } from "../support/Waiting.ts"

const admins = ["audited", "listing", "forgotten"].map((name) => `${name}@admins.example`)

const adminCalled = (name: string) => signedUpAs({ email: `${name}@admins.example`, name: `Admin ${name}` })

const Entries = Schema.Array(Schema.Struct({
  event: Schema.String,
  userId: Schema.NullOr(Schema.Finite),
  subjectId: Schema.NullOr(Schema.Finite),
  traceId: Schema.NullOr(Schema.String)
}))

layer(TestServer.withSweeps({ ADMIN_EMAILS: admins.join(","), TRUSTED_PROXIES: "127.0.0.0/8" }))("the audit", (it) => {
  it.effect("has who got in and who did not, what changed, and who went", () =>
    Effect.gen(function*() {
      const admin = yield* adminCalled("audited")
      const rider = yield* signedUp
      const visitor = yield* anonymous
      yield* visitor.post("/auth/login-email", { email: rider.email, password: "not the right one" })
      const { id } = yield* mint(rider, "read")
      yield* rider.delete(`/auth/tokens/${id}`)
      yield* rider.post("/users/me/password", { currentPassword: "wrong", newPassword: "another long one 1" })
      yield* rider.post("/users/me/password", { currentPassword: rider.password, newPassword: "another long one 1" })
      yield* rider.post("/me/sessions/logout-everywhere")
      const back = yield* visitor.post("/auth/login-email", { email: rider.email, password: "another long one 1" })
      const session = yield* withHeaders({ authorization: `Bearer ${tokenOf(back.body)}` })
      yield* session.delete("/users/me")
      const again = yield* visitor.post("/auth/login-email", { email: rider.email, password: "another long one 1" })
      const returned = yield* withHeaders({ authorization: `Bearer ${tokenOf(again.body)}` })
      yield* returned.post("/users/me/cancel-deletion")
      yield* admin.get(`/admin/users/${rider.id}`)
      yield* admin.delete(`/admin/users/${rider.id}`)
      yield* admin.delete(`/admin/users/${rider.id}`)

      const { body, text } = yield* admin.get(`/admin/audit?userId=${rider.id}`)
      const entries = Schema.decodeUnknownSync(Entries)(body)
      assert.deepStrictEqual(entries.map(({ event }) => event).toReversed(), [
        "sign_in.succeeded",
        "sign_in.failed",
        "token.minted",
        "token.revoked",
        "password.change_failed",
        "password.changed",
        "sessions.revoked",
        "sign_in.succeeded",
        "sessions.revoked",
        "account.deletion_requested",
        "sign_in.succeeded",
        "account.deletion_cancelled",
        "admin.user_viewed",
        "sessions.revoked",
        "account.deletion_requested",
        "admin.user_deleted",
        "admin.user_deleted"
      ])
      const byOthers = entries.filter(({ userId }) => userId !== rider.id)
      assert.deepStrictEqual(
        byOthers.map(({ event, subjectId, userId }) => [event, userId, subjectId]).toReversed(),
        [
          "admin.user_viewed",
          "sessions.revoked",
          "account.deletion_requested",
          "admin.user_deleted",
          "admin.user_deleted"
        ]
          .map((event) => [event, admin.id, rider.id])
      )
      assert.isTrue(entries.every(({ subjectId, userId }) => subjectId === null || userId === admin.id))
      assert.isTrue(entries.every(({ traceId }) => /^[0-9a-f]{32}$/.test(traceId ?? "")))
      assert.notInclude(text, rider.email)
      const failed = yield* admin.get(`/admin/audit?userId=${rider.id}&event=sign_in.failed`)
      assert.strictEqual(failed.headers.get("x-total-count"), "1")
      assert.strictEqual((yield* admin.get("/admin/audit?event=nothing")).status, 400)
    }))

  it.effect("has each list that an administrator looked at", () =>
    Effect.gen(function*() {
      const admin = yield* adminCalled("listing")
      for (const path of ["/users", "/users?query=x", "/deletions", "/routes", "/routes?query=x", "/audit"]) {
        assert.strictEqual((yield* admin.get(`/admin${path}`)).status, 200, path)
      }
      const { body } = yield* admin.get(`/admin/audit?userId=${admin.id}`)
      assert.deepStrictEqual(
        Schema.decodeUnknownSync(Entries)(body).map(({ event, userId }) => [event, userId]).toReversed(),
        [
          "sign_in.succeeded",
          "admin.users_listed",
          "admin.users_listed",
          "admin.deletions_listed",
          "admin.routes_listed",
          "admin.routes_listed",
          "admin.audit_read"
        ].map((event) => [event, admin.id])
      )
    }))

  it.effect("has the trace of the request for a reset, although its mail is written later", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const traceId = "0af7651916cd43dd8448eb211c80319c"
      const caller = yield* withHeaders({ traceparent: `00-${traceId}-b7ad6b7169203331-01` })
      yield* caller.post("/auth/request-password-reset", { email: rider.email })
      const sql = yield* SqlClient.SqlClient
      const entries = sql<{ trace_id: string }>`
        SELECT trace_id FROM audit_events WHERE user_id = ${rider.id} AND event = 'password.reset_requested'`
      yield* until(Effect.map(entries, (rows) => rows.length > 0))
      assert.deepStrictEqual(yield* entries, [{ trace_id: traceId }])
    }))

  it.effect("names no user where none is known, and is erased with the account", () =>
    Effect.gen(function*() {
      const admin = yield* adminCalled("forgotten")
      const rider = yield* signedUp
      const visitor = yield* anonymous
      const sql = yield* SqlClient.SqlClient
      yield* visitor.post("/auth/login-email", { email: "nobody-knows@example.com", password: "not the right one" })
      yield* visitor.post("/auth/google", { idToken: "made.up.token" })
      const unknown = yield* sql`SELECT 1 FROM audit_events WHERE event = 'sign_in.failed' AND user_id IS NULL`
      assert.strictEqual(unknown.length, 1)
      yield* admin.delete(`/admin/users/${rider.id}`)
      yield* sql`DELETE FROM users WHERE id = ${rider.id}`
      const left = yield* sql<{ event: string }>`
        SELECT event FROM audit_events WHERE user_id = ${rider.id} OR subject_id = ${rider.id}`
      assert.deepStrictEqual(left, [])
      const { body } = yield* admin.get(`/admin/audit?userId=${admin.id}&event=admin.user_deleted`)
      assert.deepStrictEqual(
        Schema.decodeUnknownSync(Entries)(body).map(({ subjectId, userId }) => ({ subjectId, userId })),
        [{ subjectId: null, userId: admin.id }]
      )
    }))

  it.effect("is kept for 90 days", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      const ago = (days: number) => new Date(now - days * 86_400_000)
      yield* sql`DELETE FROM audit_events`
      yield* sql`INSERT INTO audit_events ${
        sql.insert([
          { created_at: ago(90), event: "account.erased" },
          { created_at: ago(89), event: "account.erased" }
        ])
      }`
      yield* TestClock.adjust("1 hour")
      yield* untilNoneSwept(sql`SELECT 1 FROM audit_events WHERE created_at = ${ago(90)}`)
      const left = yield* sql<{ created_at: string }>`SELECT created_at FROM audit_events`
      assert.deepStrictEqual(left.map(({ created_at }) => created_at), [ago(89).toISOString()])
    }))
})

const tokenOf = (body: unknown) =>
  Schema.decodeUnknownSync(Schema.Struct({ accessToken: Schema.String }))(body).accessToken
