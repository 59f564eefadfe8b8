import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { anonymous, newEmail, type Rider, signedIn, signedInAs, withHeaders } from "./support/Actors.ts"
import { Mailbox } from "./support/Mailbox.ts"
import { created, newRoute, shareTokenOf } from "./support/Routes.ts"
import { TestServer } from "./support/TestServer.ts"
import { mint, withToken } from "./support/Tokens.ts"
import { untilNone } from "./support/Waiting.ts"

const SignedIn = Schema.Struct({ accessToken: Schema.String })

const logIn = Effect.fnUntraced(function*({ email, password }: Rider) {
  const visitor = yield* anonymous
  return yield* visitor.post("/auth/login-email", { email, password })
})

const signInAgain = Effect.fnUntraced(function*(rider: Rider) {
  const { accessToken } = Schema.decodeUnknownSync(SignedIn)((yield* logIn(rider)).body)
  return yield* withHeaders({ cookie: `__Host-service_session=${accessToken}` })
})

/** As if the deletion had been asked for so many seconds before now. */
const requestedAgo = (rider: Rider, seconds: number) =>
  Effect.flatMap(
    Effect.clockWith((clock) => clock.currentTimeMillis),
    (now) =>
      SqlClient.SqlClient.use((sql) =>
        sql`UPDATE users SET deletion_requested_at = ${new Date(now - seconds * 1000)} WHERE id = ${rider.id}`
      )
  )

const MONTH = 30 * 86_400

layer(TestServer.layer())("an account that is to be deleted", (it) => {
  it.effect("is hidden at once, with its routes and collections, and its sessions and tokens end", () =>
    Effect.gen(function*() {
      const rider = yield* signedInAs({ name: "Leaving Rider" })
      const visitor = yield* anonymous
      const { token } = yield* mint(rider, "write")
      const route = created((yield* rider.post("/routes", newRoute({ visibility: "public" }))).body)
      const shared = yield* rider.post("/collections", { name: "x", visibility: "public", routeIds: [route.id] })
      const collection = created(shared.body)
      yield* rider.patch("/users/me", { handle: "leaving-rider-1" })
      const paths = [
        "/users/leaving-rider-1",
        `/routes/${route.id}`,
        `/routes/${shareTokenOf(route)}`,
        `/routes/${route.id}/gpx`,
        `/collections/${collection.id}`,
        `/collections/${shareTokenOf(collection)}/routes`
      ]
      const statuses = Effect.map(
        Effect.all(paths.map((path) => visitor.get(path))),
        (all) => all.map(({ status }) => status)
      )
      assert.deepStrictEqual(new Set(yield* statuses), new Set([200]))

      const answer = yield* rider.delete("/users/me")
      assert.deepStrictEqual([answer.status, answer.body], [200, { success: true }])
      assert.strictEqual(answer.headers.get("x-access-token"), null)
      const cookies = answer.headers.getSetCookie()
      assert.strictEqual(cookies.length, 1)
      assert.match(cookies[0] ?? "", /^__Host-service_session=;.*Max-Age=0/)
      assert.deepStrictEqual(new Set(yield* statuses), new Set([404]))
      assert.deepStrictEqual((yield* visitor.get(`/routes/by-user/${rider.id}`)).body, [])
      assert.deepStrictEqual((yield* visitor.get(`/collections/by-user/${rider.id}`)).body, [])
      assert.strictEqual((yield* rider.get("/users/me")).status, 401)
      assert.strictEqual((yield* (yield* withToken(token)).get("/users/me")).status, 401)

      const back = yield* signInAgain(rider)
      const me = yield* back.get("/users/me")
      assert.deepInclude(me.body, {
        deletionStatus: "pending_hard_delete",
        deletionRequestedAt: "1970-01-01T00:00:00.000Z"
      })
      assert.strictEqual((yield* back.get("/routes")).status, 403)
      assert.strictEqual((yield* back.post("/users/me/cancel-deletion")).status, 200)
      assert.deepStrictEqual(new Set(yield* statuses), new Set([200]))
      assert.strictEqual((yield* (yield* withToken(token)).get("/users/me")).status, 200)
      assert.deepInclude((yield* back.get("/users/me")).body, { deletionStatus: "active", deletionRequestedAt: null })
      assert.deepInclude((yield* back.post("/users/me/cancel-deletion")).body, { statusCode: 409, code: "CONFLICT" })
    }))

  it.effect("stays deleted where a route was: cancelling brings back what the deletion hid, and nothing else", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const route = created((yield* rider.post("/routes", newRoute({ visibility: "public" }))).body)
      yield* rider.delete(`/routes/${route.id}`)
      yield* rider.delete("/users/me")
      const back = yield* signInAgain(rider)
      yield* back.post("/users/me/cancel-deletion")
      assert.strictEqual((yield* back.get(`/routes/${route.id}`)).status, 404)
    }))

  it.effect("can come back until 30 days are over, and from that instant on not, even before a sweep", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* rider.delete("/users/me")
      yield* requestedAgo(rider, MONTH - 1)
      const back = yield* signInAgain(rider)
      assert.strictEqual((yield* back.get("/users/me")).status, 200)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* logIn(rider)).status, 401)
      for (const path of ["/users/me", "/users/me/export", "/me/sessions", "/routes", "/routes/1"]) {
        assert.strictEqual((yield* back.get(path)).status, 401, path)
      }
      assert.strictEqual((yield* back.delete("/users/me")).status, 401)
      const late = yield* back.post("/users/me/cancel-deletion")
      assert.deepInclude(late.body, { statusCode: 409, code: "CONFLICT" })
    }))

  it.effect("is erased by the sweep, with every trace, and the address can sign up anew", () =>
    Effect.gen(function*() {
      const email = `canary-${newEmail()}`
      const rider = yield* signedInAs({ email, name: "Canary Rider" })
      const stays = yield* signedIn
      const open = created(
        (yield* rider.post("/routes", newRoute({ name: "canary-route", visibility: "public" }))).body
      )
      const collection = created(
        (yield* stays.post("/collections", { name: "x", visibility: "public", routeIds: [open.id] })).body
      )
      yield* mint(rider, "write")
      yield* rider.post("/collections", { name: "canary-collection" }, { headers: { "idempotency-key": "canary-key" } })
      yield* rider.delete("/users/me")
      yield* requestedAgo(rider, MONTH + 1)
      yield* TestClock.adjust("1 hour")
      const sql = yield* SqlClient.SqlClient
      yield* untilNone(sql`SELECT 1 FROM users WHERE id = ${rider.id}`)
      const columns = yield* sql<{ table_name: string; column_name: string }>`
        SELECT table_name, column_name FROM information_schema.columns
        WHERE table_schema = 'public' AND data_type IN ('text', 'character varying', 'json', 'jsonb', 'ARRAY')`
      for (const { column_name, table_name } of columns) {
        const rows = yield* sql`
          SELECT 1 FROM ${sql(table_name)} WHERE ${sql(column_name)}::text ILIKE '%canary%'`
        assert.strictEqual(rows.length, 0, `${table_name}.${column_name}`)
      }
      const visitor = yield* anonymous
      assert.deepInclude((yield* visitor.get(`/collections/${collection.id}`)).body, { routeIds: [], routeCount: 0 })
      const mailbox = yield* Mailbox
      const before = (yield* mailbox.mailsTo(email)).length
      yield* visitor.post("/auth/signup-email", { email, password: "a long enough password" })
      const token = yield* mailbox.tokenAfter(email, before)
      assert.strictEqual((yield* visitor.post("/auth/verify-email", { token })).status, 200)
    }))

  it.effect("is not all that a sweep takes: what nobody can use any more goes too", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* mint(rider, "read")
      yield* rider.post("/collections", { name: "x" }, { headers: { "idempotency-key": "k" } })
      const sql = yield* SqlClient.SqlClient
      const long = "1960-01-01T00:00:00Z"
      yield* sql`
        INSERT INTO email_tokens (token_hash, user_id, purpose, created_at, expires_at)
        VALUES ('h', ${rider.id}, 'verify-email', ${long}, ${long})`
      yield* sql`UPDATE collections SET deleted_at = ${long}`
      yield* sql`UPDATE sessions SET expires_at = ${long}`
      yield* sql`UPDATE personal_access_tokens SET expires_at = ${long}`
      yield* sql`UPDATE idempotency_keys SET created_at = ${long}`
      const tables = [
        "email_tokens",
        "collections",
        "sessions",
        "personal_access_tokens",
        "idempotency_keys"
      ]
      // The sweep of the test before may still be at work, and would sleep through the first of these hours.
      for (const table of tables) {
        yield* untilNone(Effect.andThen(TestClock.adjust("1 hour"), sql`SELECT 1 FROM ${sql(table)}`))
      }
    }))
})
