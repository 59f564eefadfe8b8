import { assert, layer } from "@effect/vitest"
import { DateTime, Duration, Effect, Redacted, Ref, Schema, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { makeClient, streamList } from "../../src/client.ts"
import { MAX_IN_TRASH } from "../../src/schema/Collection.ts"
import { Usage } from "../../src/schema/User.ts"
import { type Actor, anonymous, type Rider, signedIn } from "../support/Actors.ts"
import { archiveOf, filesOf, imported, manifestOf } from "../support/Archives.ts"
import { make, makeRoute } from "../support/Collections.ts"
import { assertCopied, catchUp, emptyCopy, pageIn, readPage } from "../support/Copies.ts"
import { gpx, trk } from "../support/Files.ts"
import { created, idOf, idsIn, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint, scriptOf, withToken } from "../support/Tokens.ts"
import { untilSwept } from "../support/Waiting.ts"

const CONFIRMED = { headers: { "x-service-confirm": "true" } }

const KINDS = [
  { kind: "route", list: "/routes", make: (rider: Rider, members = {}) => makeRoute(rider, members) },
  {
    kind: "collection",
    list: "/collections",
    make: (rider: Rider, members = {}) => Effect.map(make(rider, members), ({ id }) => id)
  }
] as const

type Kind = typeof KINDS[number]

/** Returns the id of one in the trash. */
const deleted = Effect.fnUntraced(function*({ list, make }: Kind, rider: Rider, members = {}) {
  const id = yield* make(rider, { name: "Loop", ...members })
  assert.strictEqual((yield* rider.delete(`${list}/${id}`)).status, 200)
  return id
})

const trashOf = (rider: Actor, { list }: Kind) => Effect.map(rider.get(`${list}/deleted`), ({ body }) => idsIn(body))

const usageOf = (rider: Rider) =>
  Effect.map(
    rider.get("/users/me"),
    ({ body }) => Schema.decodeUnknownSync(Schema.Struct({ usage: Usage }))(body).usage
  )

const statusesOf = (calls: ReadonlyArray<Effect.Effect<{ readonly status: number }>>) =>
  Effect.forEach(calls, Effect.map(({ status }) => status), { concurrency: "unbounded" })

const after = (duration: Duration.Input) =>
  Effect.map(DateTime.now, (now) => DateTime.formatIso(DateTime.addDuration(now, duration)))

layer(TestServer.withSweeps())("the trash of routes and of collections", (it) => {
  it.effect("shows when each was deleted, and from when on it is erased", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      for (const each of KINDS) {
        const id = yield* each.make(rider, { name: "Loop" })
        const { body } = yield* rider.get(`${each.list}/${id}`)
        yield* TestClock.adjust("90 seconds")
        yield* rider.delete(`${each.list}/${id}`)
        const { url: _, ...shown } = created(body)
        const { body: trash, headers } = yield* rider.get(`${each.list}/deleted`)
        const times = { deletedAt: yield* after("0 seconds"), purgedAt: yield* after("30 days") }
        const updatedAt = each.kind === "route" ? shown["updatedAt"] : times.deletedAt
        assert.deepStrictEqual<unknown>(trash, [{ ...shown, updatedAt, ...times }])
        assert.strictEqual(headers.get("x-total-count"), "1")
      }
    }))

  it.effect("erases one by its id, once, and only what is there", () =>
    Effect.gen(function*() {
      const [rider, other] = [yield* signedIn, yield* signedIn]
      for (const each of KINDS) {
        const [kept, id] = [yield* deleted(each, rider), yield* deleted(each, rider)]
        const live = yield* each.make(rider)
        const purge = (actor: Actor, id: number | string) => actor.delete(`${each.list}/deleted/${id}`)
        const absent = [purge(other, id), purge(rider, live), purge(rider, 999_999_999), purge(rider, "deleted")]
        assert.deepStrictEqual(yield* statusesOf(absent), [404, 404, 404, 404])
        assert.deepStrictEqual((yield* statusesOf(Array.from({ length: 8 }, () => purge(rider, id)))).toSorted(), [
          200,
          ...Array.from({ length: 7 }, () => 404)
        ])
        assert.strictEqual((yield* rider.post(`${each.list}/${id}/restore`)).status, 404)
        assert.deepStrictEqual(yield* trashOf(rider, each), [kept])
        assert.strictEqual((yield* rider.get(`${each.list}/${live}`)).status, 200)
      }
    }))

  it.effect("is emptied of all that is in it, and of nothing else", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const [rider, other] = [yield* signedIn, yield* signedIn]
      for (const each of KINDS) {
        const table = sql(`${each.kind}s`)
        const [live, id, others] = [
          yield* each.make(rider),
          yield* deleted(each, rider),
          yield* deleted(each, other)
        ]
        const columns = each.kind === "route"
          ? sql.literal("name, visibility, tags, favourite, waypoints, provenance, created_at, updated_at, deleted_at")
          : sql.literal("name, visibility, created_at, updated_at, deleted_at")
        yield* sql`
          INSERT INTO ${table} (user_id, share_token, ${columns})
          SELECT user_id, md5(random()::text || n), ${columns} FROM ${table}, generate_series(1, 250) n WHERE id = ${id}`
        const { body } = yield* rider.delete(`${each.list}/deleted`)
        assert.deepStrictEqual(body, { success: true })
        assert.deepStrictEqual(yield* trashOf(rider, each), [])
        assert.deepStrictEqual(idsIn((yield* rider.get(each.list)).body), [live])
        assert.deepStrictEqual(yield* trashOf(other, each), [others])
        assert.strictEqual((yield* rider.delete(`${each.list}/deleted`)).status, 200)
      }
    }))

  it.effect("asks a token to confirm what erases or publishes, after it has looked", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const script = yield* scriptOf(rider, "write")
      const reader = yield* scriptOf(rider, "read")
      const stranger = yield* scriptOf(yield* signedIn, "write")
      for (const each of KINDS) {
        const { kind, list } = each
        const [id, secret] = [yield* deleted(each, rider, { visibility: "public" }), yield* deleted(each, rider)]
        const impacts = [
          ["DELETE", `${list}/deleted/${id}`, {
            action: `${kind}.purge`,
            id,
            summary: "\"Loop\" will be erased for good."
          }],
          ["DELETE", `${list}/deleted`, {
            action: `${kind}.purge`,
            summary: `2 deleted ${kind}s will be erased for good.`
          }],
          ["POST", `${list}/${id}/restore`, {
            action: `${kind}.publish`,
            id,
            summary: "Anyone will be able to find and open \"Loop\"."
          }]
        ] as const
        for (const [method, path, impact] of impacts) {
          for (const options of [{}, { headers: { "x-service-confirm": "yes" } }]) {
            const { body, status } = yield* script.call(method, path, options)
            assert.strictEqual(status, 428, path)
            assert.deepInclude(body, { details: { impact: { ...impact, resource: kind } } })
          }
          assert.strictEqual((yield* reader.call(method, path, CONFIRMED)).status, 403, path)
          assert.strictEqual((yield* (yield* anonymous).call(method, path)).status, 401, path)
        }
        const theirs = [`${list}/deleted/${id}`, `${list}/deleted/999999999`].map((path) => stranger.delete(path))
        assert.deepStrictEqual(yield* statusesOf([...theirs, stranger.post(`${list}/${id}/restore`)]), [404, 404, 404])
        assert.deepStrictEqual(yield* trashOf(reader, each), [secret, id])
        assert.strictEqual((yield* script.post(`${list}/${secret}/restore`)).status, 200)
        assert.strictEqual((yield* script.post(`${list}/${id}/restore`, undefined, CONFIRMED)).status, 200)
        const again = yield* deleted(each, rider)
        assert.strictEqual((yield* script.delete(`${list}/deleted/${again}`, CONFIRMED)).status, 200)
        yield* deleted(each, rider)
        assert.strictEqual((yield* script.delete(`${list}/deleted`, CONFIRMED)).status, 200)
        assert.deepStrictEqual(yield* trashOf(reader, each), [])
      }
    }))

  it.effect("gives routes and their bytes back at once", () =>
    Effect.gen(function*() {
      const [routes] = KINDS
      const rider = yield* signedIn
      yield* makeRoute(rider)
      const before = yield* usageOf(rider)
      const geometry = Array.from({ length: 500 }, (_, n) => [9 + n / 1000, 47.1])
      const first = yield* deleted(routes, rider, { geometry })
      const withOne = yield* usageOf(rider)
      assert.isAbove(withOne.storedBytes.used, before.storedBytes.used + 5000)
      yield* deleted(routes, rider, { geometry })
      assert.strictEqual((yield* usageOf(rider)).routes.used, 3)
      yield* rider.delete(`/routes/deleted/${first}`)
      assert.deepStrictEqual(yield* usageOf(rider), withOne)
      yield* rider.delete("/routes/deleted")
      assert.deepStrictEqual(yield* usageOf(rider), before)
    }))

  it.effect("keeps no response to the call that made what is erased, and no other is lost", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const bodies = { route: newRoute({}), collection: { name: "Summer" } }
      for (const { kind, list } of KINDS) {
        const before = yield* usageOf(rider)
        const call = (key: string) =>
          Effect.map(rider.post(list, bodies[kind], { headers: { "idempotency-key": key } }), ({ body }) => idOf(body))
        const first = yield* call("first")
        const kept = yield* usageOf(rider)
        const second = yield* call("second")
        yield* rider.delete(`${list}/${second}`)
        yield* rider.delete(`${list}/deleted/${second}`)
        assert.deepStrictEqual(yield* usageOf(rider), kept)
        assert.strictEqual(yield* call("first"), first)
        assert.notStrictEqual(yield* call("second"), second)
        for (const id of idsIn((yield* rider.get(list)).body)) yield* rider.delete(`${list}/${id}`)
        yield* rider.delete(`${list}/deleted`)
        assert.deepStrictEqual(yield* usageOf(rider), before)
      }
    }))

  it.effect("keeps no response of a batch, a split import or a link that shows what is erased, and each other one", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const keyed = (key: string) => ({ headers: { "idempotency-key": key } })
      const raw = gpx(
        [9, 10].map((lon) => trk(`<trkpt lat="47" lon="${lon}"/>`, "<trkpt lat=\"48\" lon=\"9\"/>")).join("")
      )
      const creations = {
        route: { op: "create", route: newRoute({}) },
        collection: { op: "createCollection", collection: { name: "Summer" } }
      }
      for (const { kind, list } of KINDS) {
        const batch = (key: string) => rider.post("/routes/batch", { operations: [creations[kind]] }, keyed(key + kind))
        const idsNow = Effect.map(rider.get(list), ({ body }) => idsIn(body))
        const first = yield* batch("first")
        const kept = new Set(yield* idsNow)
        const before = yield* usageOf(rider)
        yield* batch("second")
        if (kind === "route") yield* rider.post("/routes/import?split=true", undefined, { raw, ...keyed("split") })
        const ids = (yield* idsNow).filter((id) => !kept.has(id))
        assert.lengthOf(ids, kind === "route" ? 3 : 1)
        for (const id of ids) {
          const calls = [rider.post(`${list}/${id}/links`, {}, keyed("link")), rider.post(`${list}/${id}/share-token`)]
          assert.deepStrictEqual(yield* statusesOf(calls), [201, 200])
          yield* rider.delete(`${list}/${id}`)
        }
        yield* rider.delete(`${list}/deleted`)
        assert.deepStrictEqual(yield* usageOf(rider), before)
        assert.deepStrictEqual((yield* batch("first")).body, first.body)
      }
    }))

  it.effect("restores a collection with its routes in their order, its token and its links", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const routeIds = [yield* makeRoute(rider), yield* makeRoute(rider)].toReversed()
      const before = yield* make(rider, { visibility: "unlisted", routeIds })
      const path = `/collections/${before.id}`
      const link = yield* rider.post(`${path}/links`, {})
      const { token } = Schema.decodeUnknownSync(Schema.Struct({ token: Schema.String }))(link.body)
      const tokens = [before.shareToken, token]
      const opened = () => statusesOf(tokens.map((each) => visitor.get(`/collections/${each}`)))
      const { headers } = yield* rider.get(path)
      yield* rider.delete(path)
      assert.deepStrictEqual(yield* opened(), [404, 404])
      const restores = Array.from({ length: 16 }, () => rider.post(`${path}/restore`))
      assert.deepStrictEqual((yield* statusesOf(restores)).filter((status) => status === 200), [200])
      const after = yield* rider.get(path)
      assert.deepStrictEqual<unknown>(created(after.body), before)
      assert.notStrictEqual(after.headers.get("etag"), headers.get("etag"))
      assert.deepStrictEqual(yield* opened(), [200, 200])
      yield* rider.delete(path)
      yield* rider.delete(`/collections/deleted/${before.id}`)
      assert.deepStrictEqual(yield* opened(), [404, 404])
      assert.strictEqual((yield* rider.get(`/routes/${routeIds[0]}`)).status, 200)
    }))

  it.effect("is in the change feed: what is restored comes back, what is erased is deleted", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      for (const each of KINDS) {
        const [first, second, third] = [
          yield* deleted(each, rider),
          yield* deleted(each, rider),
          yield* each.make(rider)
        ]
        const copy = yield* Ref.make(emptyCopy)
        yield* catchUp(rider, copy)
        yield* rider.post(`${each.list}/${first}/restore`)
        const restored = yield* readPage(rider, copy)
        assert.deepStrictEqual(restored.changes.map(({ change, id, type }) => [type, id, change]), [
          [each.kind, first, "upserted"]
        ])
        yield* assertCopied(rider, copy)
        yield* rider.delete(`${each.list}/${third}`)
        yield* rider.delete(`${each.list}/deleted`)
        const erased = yield* readPage(rider, copy)
        assert.deepStrictEqual(
          erased.changes.map(({ change, id, type }) => [type, id, change]).toSorted(),
          [second, third].map((id) => [each.kind, id, "deleted"])
        )
        yield* assertCopied(rider, copy)
      }
    }))

  it.effect("stays consistent when restores, deletions and erasures run at once", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const rider = yield* signedIn
      for (const each of KINDS) {
        const ids = yield* Effect.replicateEffect(each.make(rider), 6)
        const calls = Array.from({ length: 60 }, (_, n) => {
          const path = `${each.list}/${ids[n % ids.length]}`
          const purge = `${each.list}/deleted${n % 7 === 0 ? "" : `/${ids[n % ids.length]}`}`
          return [rider.delete(path), rider.post(`${path}/restore`), rider.delete(purge)][n % 13 % 3] ?? rider.get(path)
        })
        const statuses = new Set(yield* statusesOf(calls))
        assert.deepStrictEqual([...statuses].filter((status) => ![200, 404, 503].includes(status)), [])
        const [rows] = yield* sql<{ all: number; live: number }>`
          SELECT count(*)::int AS all, (count(*) FILTER (WHERE deleted_at IS NULL))::int AS live
          FROM ${sql(`${each.kind}s`)} WHERE user_id = ${rider.id}`
        const usage = yield* usageOf(rider)
        const used = each.kind === "route" ? usage.routes.used : usage.collections.used
        assert.strictEqual(used, each.kind === "route" ? rows?.all : rows?.live)
      }
    }))

  it.effect("keeps the newest collections, so that it does not grow without end", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const [, collections] = KINDS
      const rider = yield* signedIn
      const oldest = yield* deleted(collections, rider)
      yield* TestClock.adjust("1 second")
      yield* sql`
        INSERT INTO collections (user_id, name, visibility, share_token, created_at, updated_at, deleted_at)
        SELECT user_id, name, visibility, md5(random()::text || n), created_at, updated_at, ${yield* DateTime.nowAsDate}
        FROM collections, generate_series(2, ${MAX_IN_TRASH}::int) n WHERE id = ${oldest}`
      yield* TestClock.adjust("1 second")
      const newest = yield* deleted(collections, rider)
      const { body, headers } = yield* rider.get("/collections/deleted?limit=1")
      assert.deepStrictEqual(idsIn(body), [newest])
      assert.strictEqual(headers.get("x-total-count"), String(MAX_IN_TRASH))
      assert.strictEqual((yield* rider.post(`/collections/${oldest}/restore`)).status, 404)
    }))

  it.effect("is there again after an account's deletion was cancelled, and in no archive", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const ids = yield* Effect.forEach(KINDS, (each) => deleted(each, rider))
      assert.deepInclude(manifestOf(yield* filesOf(rider)).counts, { routes: 0, collections: 0 })
      yield* rider.delete("/users/me")
      const { email, password } = rider
      const { body } = yield* (yield* anonymous).post("/auth/login-email", { email, password })
      const { accessToken } = Schema.decodeUnknownSync(Schema.Struct({ accessToken: Schema.String }))(body)
      const back = yield* withToken(accessToken)
      for (const { list } of KINDS) {
        const pending = [back.get(`${list}/deleted`), back.delete(`${list}/deleted`)]
        assert.deepStrictEqual(yield* statusesOf(pending), [403, 403])
      }
      assert.strictEqual((yield* back.post("/users/me/cancel-deletion")).status, 200)
      assert.deepStrictEqual(yield* Effect.forEach(KINDS, (each) => trashOf(back, each)), ids.map((id) => [id]))
    }))

  it.effect("is read by the typed client like every other list", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const [routes, collections] = KINDS
      const { token } = yield* mint(rider, "write")
      const { origin } = yield* TestServer
      const client = yield* makeClient({ baseUrl: origin, token: Redacted.make(token) })
      const id = yield* deleted(routes, rider)
      const ids = [yield* deleted(collections, rider), yield* deleted(collections, rider)].toReversed()
      const [route] = yield* client.routes.listDeleted({ query: {} })
      assert.deepStrictEqual([route?.id, route?.purgedAt], [id, yield* after("30 days")])
      const listed = streamList(({ page, responseMode }) =>
        client.collections.listDeleted({ query: { ...page, limit: 1 }, responseMode })
      )
      assert.deepStrictEqual((yield* Stream.runCollect(listed)).map((each) => each.id), ids)
      yield* client.collections.emptyTrash({ headers: { "x-service-confirm": "true" } })
      assert.deepStrictEqual(yield* client.collections.listDeleted({ query: {} }), [])
    }).pipe(Effect.provide(FetchHttpClient.layer)))

  it.effect("is erased by a sweep after 30 days", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { token } = yield* mint(rider, "write", { expiresInDays: null, currentPassword: rider.password })
      const script = yield* withToken(token)
      const ids = yield* Effect.forEach(KINDS, (each) => deleted(each, rider))
      yield* TestClock.adjust("29 days")
      for (const [index, each] of KINDS.entries()) assert.deepStrictEqual(yield* trashOf(script, each), [ids[index]])
      const { cursor } = pageIn((yield* script.get("/sync")).body)
      yield* TestClock.adjust("2 days")
      for (const each of KINDS) assert.deepStrictEqual(yield* trashOf(script, each), [])
      yield* untilSwept(
        Effect.map(
          script.get(`/sync?cursor=${cursor}`),
          ({ body }) => pageIn(body).changes.filter(({ change }) => change === "deleted").length === 2
        )
      )
    }))
})

layer(TestServer.layer({ MAX_COLLECTIONS_PER_USER: "1" }))("a deleted collection", (it) => {
  it.effect("leaves its place to another, and needs one again when it is restored", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { id } = yield* make(rider)
      yield* rider.delete(`/collections/${id}`)
      assert.strictEqual((yield* usageOf(rider)).collections.used, 0)
      const other = yield* rider.post("/collections", { name: "Another" })
      assert.strictEqual(other.status, 201)
      const refused = yield* rider.post(`/collections/${id}/restore`)
      assert.strictEqual(refused.status, 409)
      assert.deepInclude(refused.body, {
        code: "CONFLICT",
        message: "An account may have at most 1 collections; those in the trash do not count",
        details: { reason: "quota_exceeded", quota: "collections", limit: 1, used: 1 }
      })
      assert.deepStrictEqual(idsIn((yield* rider.get("/collections/deleted")).body), [id])
      yield* rider.delete(`/collections/${idOf(other.body)}`)
      const restores = [id, idOf(other.body)].map((each) => rider.post(`/collections/${each}/restore`))
      assert.deepStrictEqual((yield* statusesOf(restores)).toSorted(), [200, 409])
      assert.strictEqual((yield* usageOf(rider)).collections.used, 1)
      yield* rider.delete("/collections/deleted")
      assert.strictEqual((yield* usageOf(rider)).collections.used, 1)
    }))

  it.effect("counts again where an archive restores it, before anything is imported", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const route = yield* makeRoute(rider)
      const { id } = yield* make(rider)
      const archive = yield* archiveOf(rider)
      yield* rider.delete(`/collections/${id}`)
      yield* rider.delete(`/routes/${route}`)
      const { id: other } = yield* make(rider)
      const refused = yield* imported(rider, archive)
      assert.deepInclude(refused.body, {
        statusCode: 409,
        details: { reason: "quota_exceeded", quota: "collections", limit: 1, used: 1 }
      })
      assert.deepStrictEqual(idsIn((yield* rider.get("/routes")).body), [])
      yield* rider.delete(`/collections/${other}`)
      assert.deepInclude((yield* imported(rider, archive)).body, {
        collections: { created: 0, restored: 1, unchanged: 0 }
      })
      assert.strictEqual((yield* usageOf(rider)).collections.used, 1)
    }))
})
