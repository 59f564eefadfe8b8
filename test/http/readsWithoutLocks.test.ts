import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Api } from "../../src/http/api/Api.ts"
import { type Actor, anonymous, type Rider, signedInAs } from "../support/Actors.ts"
import { make, makeRoute } from "../support/Collections.ts"
import { whileLocked } from "../support/Locks.ts"
import { shareTokenOf } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { scriptOf } from "../support/Tokens.ts"
import { until } from "../support/Waiting.ts"
import { setZones } from "../support/Zones.ts"

const READS = Object.values(Api.groups)
  .flatMap((group) => Object.values(group.endpoints))
  .filter(({ method }) => method === "GET")
  .map(({ path }) => String(path))

const PAGES = [
  "/",
  "/r/:token",
  "/embed/:token",
  "/c/:collectionToken",
  "/u/:handle",
  "/oembed?url=:url",
  "/sitemap.xml"
]

const ADMINS = ["reading@example.com", "viewing@example.com"]

/** A read that finds a row of these locked leaves out what it would write next, which would be the next to wait. */
const GIVEN_UP = ["change_counters", "personal_access_tokens", "sessions", "users"]

const Profile = Schema.Struct({ handle: Schema.String })

const geometry = [[9, 47, 400], [9.1, 47.1, 500], [9.2, 47.2, 450]]

const Changes = Schema.Struct({ changes: Schema.Array(Schema.Struct({ id: Schema.Int })), cursor: Schema.String })

const changesOf = (rider: Rider, cursor?: string) =>
  Effect.map(
    rider.get(`/sync?geometry=none${cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`}`),
    ({ body }) => Schema.decodeUnknownSync(Changes)(body)
  )

layer(TestServer.layer({ ADMIN_EMAILS: ADMINS.join() }))("a read", (it) => {
  const tables = SqlClient.SqlClient.use((sql) =>
    Effect.flatMap(
      sql`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename`,
      Schema.decodeUnknownEffect(Schema.Array(Schema.Struct({ name: Schema.String })))
    )
  )

  /** The account has something in every table that it can have rows in; the paths are those of all reads of it. */
  const account = Effect.gen(function*() {
    const rider = yield* signedInAs({ email: "reading@example.com" })
    const routeId = yield* makeRoute(rider, { geometry, tags: ["loop"], visibility: "public" })
    const collection = yield* make(rider, { routeIds: [routeId], visibility: "public" })
    yield* rider.post(`/routes/${routeId}/links`, {})
    yield* rider.post(`/collections/${collection.id}/links`, {})
    yield* rider.delete(`/routes/${yield* makeRoute(rider)}`)
    yield* rider.post("/routes", { name: "Keyed", waypoints: [{ coord: [9, 47], type: "routed" }] }, {
      headers: { "idempotency-key": "a-key-of-this-test" }
    })
    yield* setZones(rider, [{ center: [9, 47], radius: 500 }])
    const { handle } = Schema.decodeUnknownSync(Profile)((yield* rider.get("/users/me")).body)
    const token = shareTokenOf((yield* rider.get(`/routes/${routeId}`)).body)
    const values: Readonly<Record<string, string | number>> = {
      ref: routeId,
      id: routeId,
      userId: rider.id,
      handle,
      token,
      collectionToken: collection.shareToken,
      url: encodeURIComponent(`http://localhost:3000/r/${token}`)
    }
    const pathOf = (path: string) => {
      const named = path.replace(/^\/api\/v1\/admin\/users\/:id/, `/api/v1/admin/users/${rider.id}`)
        .replace(/\/collections\/:(id|ref)/, `/collections/${collection.id}`)
      return `/${named.replace(/:(\w+)/g, (whole, name: string) => String(values[name] ?? whole))}`
    }
    return { rider, routeId, paths: [...READS, ...PAGES].map(pathOf) }
  })

  const statuses = (actor: Actor, paths: ReadonlyArray<string>) =>
    Effect.forEach(paths, (path) => Effect.map(actor.get(path), ({ status }) => `${status} ${path}`), {
      concurrency: 8
    })

  it.effect(
    "of every endpoint is as without them while a transaction holds the rows of every table",
    () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const { paths, rider, routeId } = yield* account
        const visitor = yield* anonymous
        const script = yield* scriptOf(rider, "read")
        const other = yield* signedInAs({})
        const zoned = yield* makeRoute(other, { geometry, visibility: "public" })
        yield* setZones(other, [{ center: [9, 47], radius: 500 }])
        assert.strictEqual((yield* visitor.get(`/routes/${zoned}`)).status, 200)
        yield* setZones(rider, [])
        const reads = [
          [rider, paths],
          [script, paths],
          [visitor, [...paths, `/routes/${zoned}`]]
        ] as const
        const read = Effect.forEach(reads, ([actor, paths]) => statuses(actor, paths))
        const usual = yield* read
        assert.isEmpty(usual[0]?.filter((line) => !line.startsWith("2")))
        const all = (yield* tables).map(({ name }) => name)
        assert.isAbove(all.length, 20)
        assert.includeMembers(all, GIVEN_UP)
        for (const held of [all, all.filter((name) => !GIVEN_UP.includes(name))]) {
          // The read has something to note and to number.
          yield* rider.patch(`/routes/${routeId}`, { description: `While ${held.length} tables are held` })
          yield* sql`UPDATE sessions SET last_seen_at = '1969-12-31'`
          yield* sql`UPDATE personal_access_tokens SET last_used_at = NULL`
          const locked = yield* whileLocked(
            (sql) => Effect.forEach(held, (name) => sql`SELECT FROM ${sql(name)} FOR UPDATE`),
            read
          )
          assert.deepStrictEqual(locked, usual, `${held.length} tables`)
        }
      })
  )

  it.effect("of the changes of an account shows what has a number while others are being numbered, and the rest then", () =>
    Effect.gen(function*() {
      const rider = yield* signedInAs({})
      const first = yield* makeRoute(rider)
      const { changes, cursor } = yield* changesOf(rider)
      assert.deepStrictEqual(changes.map(({ id }) => id), [first])
      const second = yield* makeRoute(rider)
      const held = yield* whileLocked(
        (sql) => sql`SELECT FROM change_counters WHERE user_id = ${rider.id} FOR UPDATE`,
        changesOf(rider, cursor)
      )
      assert.deepStrictEqual(held.changes, [])
      const later = yield* changesOf(rider, held.cursor)
      assert.deepStrictEqual(later.changes.map(({ id }) => id), [second])
    }))

  it.effect("of an administrator is in the audit once a user whom it names is not locked any more", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const admin = yield* signedInAs({ email: "viewing@example.com" })
      const other = yield* signedInAs({})
      const views = sql`SELECT FROM audit_events WHERE event = 'admin.user_viewed' AND subject_id = ${other.id}`
      const found = yield* whileLocked(
        (sql) => sql`SELECT FROM users WHERE id = ${other.id} FOR UPDATE`,
        Effect.tap(admin.get(`/admin/users/${other.id}`), () => Effect.map(views, (rows) => assert.isEmpty(rows)))
      )
      assert.strictEqual(found.status, 200)
      yield* until(Effect.map(views, (rows) => rows.length === 1))
    }))
})
