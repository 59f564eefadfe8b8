import { assert, describe, it, layer } from "@effect/vitest"
import { Clock, Effect, Fiber, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { SystemStatus } from "../../src/schema/Admin.ts"
import { anonymous, type Rider, signedIn, signedInAs, withHeaders } from "../support/Actors.ts"
import { untilLocked, whileLocked } from "../support/Locks.ts"
import { created, newRoute, shareTokenOf } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint, withToken } from "../support/Tokens.ts"

const grafana = { apiOverview: "https://grafana.example/d/1", runtime: "http://127.0.0.1:3001/d/2" }

const admins = ["counting", "looking", "leaving", "deleting", "operating", "demoted", "sessions", "sorting", "recent"]
  .map((
    name
  ) => `${name}@admins.example`)

const adminCalled = (name: string) => signedInAs({ email: `${name}@admins.example`, name: `Admin ${name}` })

const SETTINGS = {
  ADMIN_EMAILS: admins.join(", ").toUpperCase(),
  GRAFANA_URLS: JSON.stringify(grafana),
  DATABASE_READ_URL: "postgres://reader:hidden@127.0.0.1:1/none",
  MAP_STYLE_URL: "https://maps.example.com/style.json?key=hidden"
}

layer(TestServer.layer(SETTINGS))("administration", (it) => {
  it.effect("is for sessions of users with a listed address, checked at each request", () =>
    Effect.gen(function*() {
      const admin = yield* adminCalled("demoted")
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const { token } = yield* mint(admin, "write")
      assert.strictEqual((yield* admin.get("/admin/overview")).status, 200)
      assert.strictEqual((yield* visitor.get("/admin/overview")).status, 401)
      assert.deepInclude((yield* rider.get("/admin/overview")).body, { statusCode: 403, code: "FORBIDDEN" })
      assert.strictEqual((yield* (yield* withToken(token)).get("/admin/overview")).status, 403)
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE users SET email = 'other@example.com' WHERE id = ${admin.id}`
      assert.strictEqual((yield* admin.get("/admin/overview")).status, 403)
      yield* sql`
        UPDATE users SET email = ${admin.email}, deletion_requested_at = ${new Date(0)} WHERE id = ${admin.id}`
      assert.strictEqual((yield* admin.get("/admin/overview")).status, 403)
    }))

  it.effect("counts what there is", () =>
    Effect.gen(function*() {
      const admin = yield* adminCalled("counting")
      const rider = yield* signedIn
      const before = (yield* admin.get("/admin/overview")).body
      yield* rider.post("/routes", newRoute({ visibility: "public" }))
      yield* rider.post("/routes", newRoute({}))
      yield* rider.post("/collections", { name: "x" })
      yield* mint(rider, "read")
      const after = (yield* admin.get("/admin/overview")).body
      const { collections, routes, tokens, users } = Schema.decodeUnknownSync(Counts)(after)
      const was = Schema.decodeUnknownSync(Counts)(before)
      assert.deepStrictEqual(
        [routes.total - was.routes.total, routes.public - was.routes.public, routes.private - was.routes.private],
        [2, 1, 1]
      )
      assert.deepStrictEqual([collections.total - was.collections.total, tokens.live - was.tokens.live], [1, 1])
      assert.isAbove(users.verified, 1)
    }))

  it.effect("counts what is of the last 30 days, and nothing in the trash", () =>
    Effect.gen(function*() {
      const admin = yield* adminCalled("recent")
      const [rider, older, leaving] = yield* Effect.all([signedIn, signedIn, signedIn])
      const counted = Effect.map(
        admin.get("/admin/overview"),
        ({ body }) => Schema.decodeUnknownSync(RecentCounts)(body)
      )
      const before = yield* counted
      const ids = yield* Effect.replicateEffect(
        Effect.map(rider.post("/routes", newRoute({})), ({ body }) => created(body).id),
        3
      )
      const collections = yield* Effect.replicateEffect(
        Effect.map(rider.post("/collections", { name: "x" }), ({ body }) => created(body).id),
        2
      )
      yield* rider.delete(`/routes/${ids[0]}`)
      yield* rider.delete(`/collections/${collections[0]}`)
      yield* leaving.delete("/users/me")
      const sql = yield* SqlClient.SqlClient
      const monthAgo = new Date((yield* Clock.currentTimeMillis) - 30 * 86_400_000)
      yield* sql`UPDATE routes SET created_at = ${monthAgo} WHERE id = ${ids[1] ?? 0}`
      yield* sql`UPDATE users SET created_at = ${monthAgo} WHERE id = ${older.id}`
      yield* sql`UPDATE users SET created_at = ${new Date(monthAgo.getTime() + 1)} WHERE id = ${leaving.id}`
      const { collections: listed, routes, users } = yield* counted
      assert.deepStrictEqual(listed.total - before.collections.total, 1)
      assert.deepStrictEqual(
        [routes.total - before.routes.total, routes.newLast30Days - before.routes.newLast30Days],
        [2, 1]
      )
      assert.deepStrictEqual(
        [
          users.pendingDeletion - before.users.pendingDeletion,
          users.newLast30Days - before.users.newLast30Days
        ],
        [1, -1]
      )
    }))

  it.effect("counts sessions that have a valid token, and who was here in the last 24 hours", () =>
    Effect.gen(function*() {
      const admin = yield* adminCalled("sessions")
      const counted = Effect.map(
        admin.get("/admin/overview"),
        ({ body }) => Schema.decodeUnknownSync(Counts)(body).sessions
      )
      const before = yield* counted
      const [ended, expired, away, here] = yield* Effect.all([signedIn, signedIn, signedIn, signedIn])
      const owners = [ended, expired, away, here].map(({ id }) => id)
      const sql = yield* SqlClient.SqlClient
      const [rows] = yield* sql<{ most: number }>`
        SELECT max(count)::int AS most FROM (SELECT count(*) FROM sessions WHERE ${
        sql.in("user_id", owners)
      } GROUP BY user_id) c`
      assert.strictEqual(rows?.most, 1)
      assert.deepStrictEqual(yield* counted, { live: before.live + 4, usersLast24Hours: before.usersLast24Hours + 4 })
      yield* ended.post("/auth/logout")
      yield* sql`UPDATE sessions SET expires_at = created_at WHERE user_id = ${expired.id}`
      yield* sql`UPDATE sessions SET last_seen_at = created_at - interval '24 hours' WHERE user_id = ${away.id}`
      assert.deepStrictEqual(yield* counted, { live: before.live + 1, usersLast24Hours: before.usersLast24Hours + 3 })
      const { body } = yield* admin.get(`/admin/users/${ended.id}`)
      assert.deepInclude(body, { lastSeenAt: "1970-01-01T00:00:00.000Z" })
    }))

  it.effect("finds accounts and routes by a part of what they are called, and shows no secret", () =>
    Effect.gen(function*() {
      const admin = yield* adminCalled("looking")
      const rider = yield* signedInAs({ email: "Findable_100%@example.com", name: "Findable Rider" })
      const route = created((yield* rider.post("/routes", newRoute({ name: "Findable loop" }))).body)
      for (const query of ["findABLE_100%", "ble Rider", "findable-rid"]) {
        const { body, headers } = yield* admin.get(`/admin/users?query=${encodeURIComponent(query)}`)
        const [user, ...others] = Schema.decodeUnknownSync(Schema.Array(Schema.Record(Schema.String, Schema.Unknown)))(
          body
        )
        assert.deepInclude(user, { id: rider.id, email: "Findable_100%@example.com", role: "user", hasPassword: true })
        assert.deepStrictEqual(others, [])
        assert.strictEqual(headers.get("x-total-count"), "1")
      }
      assert.deepStrictEqual((yield* admin.get("/admin/users?query=findable%25100")).body, [])
      const routes = yield* admin.get("/admin/routes?query=findable%20LOOP")
      assert.deepInclude(routes.body, {
        id: route.id,
        name: "Findable loop",
        activity: null,
        visibility: "private",
        provenance: "routing-engine",
        distance: null,
        placeCity: null,
        placeCountryCode: null,
        user: Schema.decodeUnknownSync(WithUser)(route).user,
        createdAt: "1970-01-01T00:00:00.000Z",
        updatedAt: "1970-01-01T00:00:00.000Z"
      })
      assert.notInclude(routes.text, shareTokenOf(route))
      const one = yield* admin.get(`/admin/users/${rider.id}`)
      assert.deepInclude(one.body, { id: rider.id, lastSeenAt: "1970-01-01T00:00:00.000Z" })
      assert.notMatch(one.text, /argon2|hash/i)
      assert.strictEqual((yield* admin.get("/admin/users/999999999")).status, 404)
      const page = yield* admin.get("/admin/users?limit=1&offset=1")
      assert.lengthOf(Schema.decodeUnknownSync(Schema.Array(Schema.Unknown))(page.body), 1)
      assert.match(page.headers.get("link") ?? "", /rel="prev"/)
      assert.strictEqual((yield* admin.get("/admin/users?query=")).status, 400)
      assert.strictEqual((yield* admin.get("/admin/users?query=%00")).status, 400)
    }))

  it.effect("lists accounts by what they store, page after page, on request", () =>
    Effect.gen(function*() {
      const admin = yield* adminCalled("sorting")
      const riders = yield* Effect.forEach(["small", "large", "none", "middle"], (name) =>
        signedInAs({ email: `sorted-${name}@example.com`, name: `Sorted ${name}` }))
      const descriptions = [100, 4000, 0, 2000]
      yield* Effect.forEach(riders, (rider, index) =>
        descriptions[index] === 0
          ? Effect.void
          : rider.post("/routes", newRoute({ description: "x".repeat(descriptions[index] ?? 0) })))
      const decode = Schema.decodeUnknownSync(
        Schema.Array(Schema.Struct({ name: Schema.String, storedBytes: Schema.Int }))
      )
      const first = yield* admin.get("/admin/users?query=sorted-&sort=-storedBytes&limit=3")
      const next = /<[^>]*(\/admin[^>]*)>; rel="next"/.exec(first.headers.get("link") ?? "")?.[1] ?? ""
      const listed = [...decode(first.body), ...decode((yield* admin.get(next)).body)]
      assert.deepStrictEqual(
        listed.map(({ name }) =>
          name
        ),
        ["Sorted large", "Sorted middle", "Sorted small", "Sorted none"]
      )
      assert.isAbove(listed[0]?.storedBytes ?? 0, 4000)
      assert.strictEqual(listed[3]?.storedBytes, 0)
      const newest = decode((yield* admin.get("/admin/users?query=sorted-")).body)
      assert.deepStrictEqual(
        newest.map(({ name }) => name),
        ["Sorted middle", "Sorted none", "Sorted large", "Sorted small"]
      )
      assert.strictEqual((yield* admin.get("/admin/users?sort=bytes")).status, 400)
      const page = yield* admin.get("//admin/users?q=sorted-&sort=-storedBytes")
      assert.isBelow(page.text.indexOf("Sorted large"), page.text.indexOf("Sorted middle"))
      assert.include(page.text, "1 MiB")
    }))

  it.effect("begins the 30 days of an account, once, and not of one's own", () =>
    Effect.gen(function*() {
      const admin = yield* adminCalled("leaving")
      const rider = yield* signedInAs({ name: "Removed Rider" })
      const route = created((yield* rider.post("/routes", newRoute({ visibility: "public" }))).body)
      const visitor = yield* anonymous
      assert.deepStrictEqual((yield* admin.delete(`/admin/users/${rider.id}`)).body, { success: true })
      assert.strictEqual((yield* rider.get("/users/me")).status, 401)
      assert.strictEqual((yield* visitor.get(`/routes/${route.id}`)).status, 404)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* admin.delete(`/admin/users/${rider.id}`)).status, 200)
      const later = yield* signedIn
      yield* later.delete("/users/me")
      const { body } = yield* admin.get("/admin/deletions")
      const due = Schema.decodeUnknownSync(Schema.Array(Schema.Record(Schema.String, Schema.Unknown)))(body)
      assert.deepInclude(due.find(({ id }) => id === rider.id), {
        email: rider.email,
        deletionRequestedAt: "1970-01-01T00:00:00.000Z",
        erasureDueAt: "1970-01-31T00:00:00.000Z"
      })
      const others = due.map(({ id }) => id)
      assert.strictEqual(others.at(-1), later.id)
      assert.notInclude(others, admin.id)
      assert.deepInclude((yield* admin.delete(`/admin/users/${admin.id}`)).body, { statusCode: 409, code: "CONFLICT" })
      assert.strictEqual((yield* admin.delete("/admin/users/999999999")).status, 404)
    }))

  it.effect("deletes a route of any user, who can restore it", () =>
    Effect.gen(function*() {
      const admin = yield* adminCalled("deleting")
      const rider = yield* signedIn
      const route = created((yield* rider.post("/routes", newRoute({ visibility: "public" }))).body)
      const other = created((yield* rider.post("/routes", newRoute({}))).body)
      assert.deepStrictEqual((yield* admin.delete(`/admin/routes/${route.id}`)).body, { success: true })
      assert.strictEqual((yield* admin.delete(`/admin/routes/${route.id}`)).status, 404)
      assert.strictEqual((yield* rider.get(`/routes/${route.id}`)).status, 404)
      assert.strictEqual((yield* rider.get(`/routes/${other.id}`)).status, 200)
      const [row] = yield* SqlClient.SqlClient.use((sql) =>
        sql`SELECT version::int AS version FROM routes WHERE id = ${route.id}`
      )
      assert.deepStrictEqual(row, { version: 2 })
      const restored = yield* rider.post(`/routes/${route.id}/restore`)
      assert.deepInclude(restored.body, { id: route.id, visibility: "private" })
    }))

  it.effect("reports the state of the service's parts, and the URLs of the dashboards", () =>
    Effect.gen(function*() {
      const admin = yield* adminCalled("operating")
      const { body } = yield* admin.get("/admin/system")
      assert.deepInclude(body, {
        grafana,
        routingEngine: { status: "away" },
        rateLimits: { counters: "process" }
      })
      assert.deepNestedInclude(body, { "database.status": "ok", "service.node": process.version })
      const { database, identityProviders, outbox, replicas, service, settings } = yield* decodeSystem(body)
      assert.deepStrictEqual(replicas, [{ replica: 1, status: "away" }])
      assert.deepStrictEqual(outbox, { sentBy: "standard-output", waiting: 0, failing: 0, oldestSeconds: 0 })
      assert.isArray(identityProviders)
      assert.match(service.commit, /^[0-9a-f]{40}$|^unknown$/)
      assert.include(database.tables.map(({ name }) => name), "routes")
      const sizes = database.tables.map(({ bytes }) => bytes)
      assert.deepStrictEqual(sizes, sizes.toSorted((a, b) => b - a))
      assert.deepInclude(settings, { name: "GRAFANA_URLS", value: JSON.stringify(grafana) })
      assert.deepInclude(settings, { name: "MAP_STYLE_URL", value: "https://maps.example.com/style.json" })
      assert.notMatch(JSON.stringify(settings), /JWT_SECRET|DATABASE_URL|hidden/)
      const expected = ["audit_events", "collections", "outbox", "routes", "users"]
      const names = database.tables.map(({ name }) => name)
      assert.includeMembers(names, expected)
      assert.isFalse(names.some((name) => name.startsWith("pg_")))
      const behind = yield* withHeaders({ "x-forwarded-for": "203.0.113.7" })
      yield* Effect.replicateEffect(behind.get("/routes/public"), 2)
      const { warnings } = yield* decodeSystem((yield* admin.get("/admin/system")).body)
      assert.deepStrictEqual(warnings.filter((warning) => warning.includes("X-Forwarded-For")), [
        "TRUSTED_PROXIES does not have 127.0.0.1, which sends X-Forwarded-For: if it is your proxy, all its clients count as one"
      ])
    }))
})

layer(TestServer.layer({ ADMIN_EMAILS: "waiting@admins.example" }))("the state of the service", (it) => {
  const stateFor = (admin: Rider) => Effect.flatMap(admin.get("/admin/system"), ({ body }) => decodeSystem(body))

  it.effect("says how many mails and deletions wait, and how late they are", () =>
    Effect.gen(function*() {
      const admin = yield* signedInAs({ email: "waiting@admins.example" })
      const [due, pending] = yield* Effect.all([signedIn, signedIn])
      const before = yield* stateFor(admin)
      const zeros = { waiting: 0, failing: 0, oldestSeconds: 0 }
      assert.deepInclude(before.outbox, zeros)
      assert.deepStrictEqual(before.deletions, { pending: 0, due: 0, lagSeconds: 0 })
      const sql = yield* SqlClient.SqlClient
      const now = yield* Clock.currentTimeMillis
      const secondsAgo = (seconds: number) => new Date(now - seconds * 1000)
      const mails = [[2, 90, -3600], [1, 30, -3600], [5, 3600, 0]] as const
      for (const [attempts, made, ended] of mails) {
        yield* sql`
          INSERT INTO outbox (payload, attempts, created_at, next_attempt_at, expires_at)
          VALUES ('', ${attempts}, ${secondsAgo(made)}, ${secondsAgo(-3600)}, ${secondsAgo(ended)})`
      }
      const deletions = [[due, 31], [pending, 1]] as const
      for (const [{ id }, days] of deletions) {
        yield* sql`UPDATE users SET deletion_requested_at = ${secondsAgo(days * 86_400)} WHERE id = ${id}`
      }
      const { deletions: found, outbox } = yield* stateFor(admin)
      assert.deepInclude(outbox, { waiting: 2, failing: 1, oldestSeconds: 90 })
      assert.deepStrictEqual(found, { pending: 2, due: 1, lagSeconds: 86_400 })

      const { database, outbox: unknown, deletions: none } = yield* whileLocked(
        (sql) => sql`LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE`,
        Effect.gen(function*() {
          const asking = yield* Effect.forkChild(stateFor(admin))
          yield* untilLocked(1)
          yield* TestClock.adjust("500 millis")
          return yield* Fiber.join(asking)
        })
      )
      assert.deepStrictEqual(database, { status: "away", tables: [] })
      assert.deepInclude(unknown, zeros)
      assert.deepStrictEqual(none, { pending: 0, due: 0, lagSeconds: 0 })
    }))
})

describe("GRAFANA_URLS", () => {
  for (const value of ["not json", `{"runtime":"javascript:alert(1)"}`, `{"runtime":"/relative"}`]) {
    it.effect(`refuses to start with ${value}`, () =>
      Effect.gen(function*() {
        const exit = yield* Effect.exit(Layer.build(TestServer.layer({ GRAFANA_URLS: value })))
        assert.match(String(exit), /GRAFANA_URLS/)
      }))
  }
})

const Counts = Schema.Struct({
  users: Schema.Struct({ total: Schema.Finite, verified: Schema.Finite }),
  routes: Schema.Struct({ total: Schema.Finite, public: Schema.Finite, private: Schema.Finite }),
  collections: Schema.Struct({ total: Schema.Finite }),
  tokens: Schema.Struct({ live: Schema.Finite }),
  sessions: Schema.Struct({ live: Schema.Finite, usersLast24Hours: Schema.Finite })
})

const RecentCounts = Schema.Struct({
  users: Schema.Struct({ pendingDeletion: Schema.Finite, newLast30Days: Schema.Finite }),
  routes: Schema.Struct({ total: Schema.Finite, newLast30Days: Schema.Finite }),
  collections: Schema.Struct({ total: Schema.Finite })
})

const decodeSystem = Schema.decodeUnknownEffect(SystemStatus)

const WithUser = Schema.Struct({ user: Schema.Unknown })
