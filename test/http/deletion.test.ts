import { assert, layer } from "@effect/vitest"
import { Clock, Duration, Effect, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { anonymous, newEmail, type Rider, signedIn, signedInAs, withHeaders } from "../support/Actors.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { created, newRoute, shareTokenOf } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint, withToken } from "../support/Tokens.ts"
import { until, untilNone, untilNoneSwept } from "../support/Waiting.ts"

const SignedIn = Schema.Struct({ accessToken: Schema.String })

const logIn = Effect.fnUntraced(function*({ email, password }: Rider) {
  const visitor = yield* anonymous
  return yield* visitor.post("/auth/login-email", { email, password })
})

const signInAgain = Effect.fnUntraced(function*(rider: Rider) {
  const { accessToken } = Schema.decodeUnknownSync(SignedIn)((yield* logIn(rider)).body)
  return yield* withHeaders({ cookie: `__Host-service_session=${accessToken}` })
})

/** All is still open until the last second of the 30 days. */
const UNTIL_LAST_SECOND = Duration.subtract(Duration.days(30), Duration.seconds(1))

const accountOf = (rider: Rider) => SqlClient.SqlClient.use((sql) => sql`SELECT 1 FROM users WHERE id = ${rider.id}`)

layer(TestServer.withSweeps())("an account that is to be deleted", (it) => {
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
      assert.strictEqual((yield* visitor.get(`/routes/by-user/${rider.id}`)).status, 404)
      assert.strictEqual((yield* visitor.get(`/collections/by-user/${rider.id}`)).status, 404)
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

  it.effect("is there in the last second of its 30 days, and gone after it, at the default settings", () =>
    Effect.gen(function*() {
      const earlier = yield* signedIn
      yield* earlier.delete("/users/me")
      yield* TestClock.adjust("1 second")
      const rider = yield* signedIn
      yield* rider.delete("/users/me")
      yield* TestClock.adjust(UNTIL_LAST_SECOND)
      // The sweep that erases the earlier account looks at the later one in its last second.
      yield* untilNone(accountOf(earlier))
      const back = yield* signInAgain(rider)
      assert.deepInclude((yield* back.get("/users/me")).body, { deletionStatus: "pending_hard_delete" })
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* logIn(rider)).status, 401)
      yield* untilNoneSwept(accountOf(rider))
      assert.strictEqual((yield* logIn(rider)).status, 401)
      assert.strictEqual((yield* back.post("/users/me/cancel-deletion")).status, 401)
    }))

  it.effect("is gone when the clock has moved by 30 days at once", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* rider.delete("/users/me")
      yield* TestClock.adjust("30 days")
      yield* untilNone(accountOf(rider))
    }))

  it.effect("is erased by the sweep, with every trace, and the address can sign up again", () =>
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
      yield* TestClock.adjust("30 days")
      yield* untilNoneSwept(accountOf(rider))
      const sql = yield* SqlClient.SqlClient
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

  it.effect("is not all that a sweep deletes: what has expired is deleted too", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* mint(rider, "read")
      const collection = yield* rider.post("/collections", { name: "x" }, { headers: { "idempotency-key": "k" } })
      yield* rider.delete(`/collections/${created(collection.body).id}`)
      yield* (yield* anonymous).post("/auth/request-password-reset", { email: rider.email })
      const sql = yield* SqlClient.SqlClient
      const soon = new Date((yield* Clock.currentTimeMillis) + 1000)
      yield* sql`
        INSERT INTO sign_ups (email, email_key, name, created_at, expires_at)
        VALUES ('a@example.com', 'a@example.com', 'a', ${soon}, ${soon})`
      const queries = [
        sql`SELECT 1 FROM sign_ups`,
        sql`SELECT 1 FROM mail_quotas`,
        sql`SELECT 1 FROM email_tokens`,
        sql`SELECT 1 FROM collections WHERE deleted_at IS NOT NULL`,
        sql`SELECT 1 FROM sessions`,
        sql`SELECT 1 FROM personal_access_tokens`,
        sql`SELECT 1 FROM idempotency_keys`
      ]
      for (const query of queries) yield* until(Effect.map(query, (rows) => rows.length > 0))
      // A mail that is sent after the clock has moved would have a quota for another day.
      yield* untilNone(sql`SELECT 1 FROM outbox`)
      yield* TestClock.adjust("180 days")
      for (const query of queries) yield* untilNoneSwept(query)
      assert.lengthOf(yield* sql`SELECT 1 FROM users WHERE id = ${rider.id}`, 1)
    }))

  it.effect("is not all that a sweep deletes: a row that cannot be deleted delays no other", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const sql = yield* SqlClient.SqlClient
      const ids: Array<number> = []
      for (let n = 0; n < 3; n++) {
        const { id } = created((yield* rider.post("/routes", newRoute({}))).body)
        yield* rider.delete(`/routes/${id}`)
        ids.push(id)
      }
      yield* sql`
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$`
      yield* sql.unsafe(`
        CREATE TRIGGER refuse BEFORE DELETE ON routes FOR EACH ROW WHEN (OLD.id = ${ids[0]}) EXECUTE FUNCTION refuse()`)
      yield* TestClock.adjust("30 days")
      yield* untilNoneSwept(sql`SELECT 1 FROM routes WHERE ${sql.in("id", ids.slice(1))}`)
      assert.lengthOf(yield* sql`SELECT 1 FROM routes WHERE ${sql.in("id", ids)}`, 1)
    }))
})

const ADMIN = newEmail()

layer(TestServer.layer({ ADMIN_EMAILS: ADMIN }))("the mail about a deletion", (it) => {
  it.effect("is sent once, with the date of the erasure and the page that cancels it, also by an administrator", () =>
    Effect.gen(function*() {
      const [left, removed] = [yield* signedIn, yield* signedIn]
      yield* left.delete("/users/me")
      yield* TestClock.adjust("1 day")
      yield* (yield* signInAgain(left)).delete("/users/me")
      const admin = yield* signedInAs({ email: ADMIN })
      for (const { id } of [left, removed]) yield* admin.delete(`/admin/users/${id}`)
      const mails = (yield* Mailbox).mails
      yield* until(Effect.map(mails, (all) => all.some(({ to }) => to === removed.email)))
      const { call } = yield* TestServer
      for (
        const [{ email }, text, isOwn] of [
          [left, "The deletion of your account was requested. It will be erased on Jan 31, 1970, 00:00 UTC", true],
          [removed, "An administrator requested the deletion of your account. It will be erased on Feb 1, 1970", false]
        ] as const
      ) {
        const own = (yield* mails).filter(({ to }) => to === email)
        assert.lengthOf(own, 1)
        assert.include(own[0]?.text, text)
        assert.strictEqual(own[0]?.ifNotYou !== undefined, isOwn)
        const page = new URL(Redacted.value(own[0]?.link ?? Redacted.make("")))
        assert.include((yield* call("GET", `/${page.pathname}`)).text, "<h1>Keep your account</h1>")
      }
      const back = yield* signInAgain(removed)
      assert.strictEqual((yield* back.post("/users/me/cancel-deletion")).status, 200)
    }))
})

layer(TestServer.layer())("an account whose 30 days are over, before any sweep", (it) => {
  it.effect("cannot be signed in to, used or brought back", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* rider.delete("/users/me")
      yield* TestClock.adjust(UNTIL_LAST_SECOND)
      const back = yield* signInAgain(rider)
      assert.strictEqual((yield* back.get("/users/me")).status, 200)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* logIn(rider)).status, 401)
      for (const path of ["/users/me", "/users/me/export", "/me/sessions", "/routes"]) {
        assert.strictEqual((yield* back.get(path)).status, 401, path)
      }
      assert.strictEqual((yield* back.delete("/users/me")).status, 401)
      const late = yield* back.post("/users/me/cancel-deletion")
      assert.deepInclude(late.body, { statusCode: 409, code: "CONFLICT" })
      assert.strictEqual((yield* accountOf(rider)).length, 1)
    }))
})

layer(TestServer.layer())("a process whose clock is a minute away from the database's", (it) => {
  for (const seconds of [-60, 60]) {
    it.effect(`dates deletions by the database's, at ${seconds} seconds`, () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const [before] = yield* sql<{ now: string }>`SELECT date_trunc('milliseconds', clock_timestamp()) AS now`
        yield* TestClock.setTime(Date.parse(before?.now ?? "") + seconds * 1000)
        const rider = yield* signedIn
        const route = created((yield* rider.post("/routes", newRoute({}))).body)
        const collection = created((yield* rider.post("/collections", { name: "x" })).body)
        assert.isBelow((yield* rider.delete(`/routes/${route.id}`)).status, 300)
        assert.isBelow((yield* rider.delete(`/collections/${collection.id}`)).status, 300)
        assert.strictEqual((yield* rider.delete("/users/me")).status, 200)
        const dates = yield* sql<{ is_shared: boolean }>`
          SELECT date BETWEEN ${before?.now ?? null} AND clock_timestamp() AS is_shared FROM (
            SELECT deletion_requested_at FROM users WHERE id = ${rider.id}
            UNION ALL SELECT deleted_at FROM routes WHERE id = ${route.id}
            UNION ALL SELECT deleted_at FROM collections WHERE id = ${collection.id}
          ) d(date)`
        assert.deepStrictEqual(dates.map(({ is_shared }) => is_shared), [true, true, true])
      }))
  }
})
