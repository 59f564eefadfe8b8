import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import * as fc from "fast-check"
import { Usage } from "../../src/schema/User.ts"
import { type Rider, signedIn } from "../support/Actors.ts"
import { exported, imported } from "../support/Archives.ts"
import { idOf, newRoute } from "../support/Routes.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"
import { served } from "../support/Waiting.ts"

const WithUsage = Schema.Struct({ usage: Usage })

const usageOf = (rider: Rider, path = "/users/me") =>
  Effect.map(rider.get(path), ({ body }) => Schema.decodeUnknownSync(WithUsage)(body).usage)

/** Returns what the account stores, counted row by row. */
const counted = Effect.fnUntraced(function*(rider: Rider) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ routes: number; bytes: number; kept: number; collections: number }>`
    SELECT
      (SELECT count(*)::int FROM routes WHERE user_id = u.id) AS routes,
      (SELECT coalesce(sum(
        octet_length(waypoints) + coalesce(octet_length(geometry), 0) + coalesce(octet_length(simplified), 0)
          + coalesce(octet_length(polyline6), 0) + coalesce(octet_length(description), 0)
      ), 0)::int FROM routes WHERE user_id = u.id) AS bytes,
      (SELECT coalesce(sum(coalesce(octet_length(body), 0) + coalesce(octet_length(headers), 0)), 0)::int
        FROM idempotency_keys WHERE user_id = u.id) AS kept,
      (SELECT count(*)::int FROM collections WHERE user_id = u.id AND deleted_at IS NULL) AS collections
    FROM users u WHERE id = ${rider.id}`
  return { routes: row?.routes, storedBytes: (row?.bytes ?? 0) + (row?.kept ?? 0), collections: row?.collections }
})

const used = ({ collections, routes, storedBytes }: Usage) => ({
  routes: routes.used,
  storedBytes: storedBytes.used,
  collections: collections.used
})

const conflict = ({ body, status }: Answer, details: { readonly quota: string; limit: number; used: number }) => {
  assert.strictEqual(status, 409)
  assert.deepInclude(body, { statusCode: 409, code: "CONFLICT", details: { reason: "quota_exceeded", ...details } })
}

const lineOf = (positions: number) => Array.from({ length: positions }, (_, n) => [9 + n / 1000, 47.123456])

const statusesOf = (answers: ReadonlyArray<Answer>) => answers.map(({ status }) => status)

const LIMITS = { MAX_ROUTES_PER_USER: "20", MAX_STORED_BYTES_PER_USER: "100 kB", MAX_COLLECTIONS_PER_USER: "5" }

const WRITERS = 64

const all = <E, R>(work: (n: number) => Effect.Effect<Answer, E, R>) =>
  Effect.forEach(
    Array.from({ length: WRITERS }, (_, n) => n),
    (n) => served(work(n)),
    { concurrency: "unbounded" }
  )

const trashAll = (rider: Rider) =>
  SqlClient.SqlClient.use((sql) =>
    sql`UPDATE routes SET deleted_at = ${new Date(-86_400_000)} WHERE user_id = ${rider.id} AND deleted_at IS NULL`
  )

layer(TestServer.layer(LIMITS))("a quota", (it) => {
  it.effect("is shown with its use in the profile, by both of its names", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const usage = {
        routes: { used: 0, limit: 20 },
        storedBytes: { used: 0, limit: 100_000 },
        collections: { used: 0, limit: 5 }
      }
      assert.deepStrictEqual(yield* usageOf(rider), usage)
      yield* rider.post("/routes", newRoute({ geometry: lineOf(300), description: "größer" }))
      yield* rider.post("/collections", { name: "All" })
      const after = yield* usageOf(rider, "/users/profile")
      assert.deepStrictEqual(used(after), yield* counted(rider))
      assert.isAbove(after.storedBytes.used, JSON.stringify(lineOf(300)).length)
      assert.deepStrictEqual([after.routes.used, after.collections.used], [1, 1])
      const { body } = yield* rider.patch("/users/me", { name: "Another" })
      assert.deepStrictEqual(Schema.decodeUnknownSync(WithUsage)(body).usage, after)
    }))

  it.effect("of routes is exact under 64 writers at once, by every way of adding one", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const gpx = {
        raw: "<gpx version=\"1.1\" creator=\"x\"><rte><rtept lat=\"47\" lon=\"9\"/></rte></gpx>",
        headers: { "content-type": "application/gpx+xml" }
      }
      const ways = [
        () => rider.post("/routes", newRoute({})),
        (n: number) => rider.post("/routes", newRoute({}), { headers: { "idempotency-key": `key-${n}` } }),
        () => rider.post("/routes/import?duplicates=allow", undefined, gpx)
      ]
      const answers = yield* all((n) => (ways[n % ways.length] ?? ways[0])?.(n) ?? Effect.die("no way"))
      assert.strictEqual(statusesOf(answers).filter((status) => status === 201).length, 20)
      const [refused, ...others] = answers.filter(({ status }) => status !== 201)
      assert.strictEqual(others.length, 43)
      for (const answer of [refused, ...others]) {
        if (answer !== undefined) conflict(answer, { quota: "routes", limit: 20, used: 20 })
      }
      assert.deepInclude(refused?.body, {
        message: "An account may have at most 20 routes; deleted ones count until they are purged after 30 days"
      })
      assert.deepStrictEqual(used(yield* usageOf(rider)), yield* counted(rider))
    }))

  it.effect("of bytes is exact under 64 writers at once, responses kept for a repetition included", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const first = yield* rider.post("/routes", newRoute({ geometry: lineOf(100) }), {
        headers: { "idempotency-key": "first" }
      })
      assert.strictEqual(first.status, 201)
      const one = (yield* usageOf(rider)).storedBytes.used
      const answers = yield* all((n) =>
        rider.post("/routes", newRoute({ geometry: lineOf(100) }), { headers: { "idempotency-key": `key-${n}` } })
      )
      const stored = 1 + statusesOf(answers).filter((status) => status === 201).length
      const usage = yield* usageOf(rider)
      assert.deepStrictEqual(used(usage), yield* counted(rider))
      assert.strictEqual(usage.routes.used, stored)
      assert.isAtMost(usage.storedBytes.used, 100_000)
      assert.isAbove(usage.storedBytes.used + 1.01 * one, 100_000)
      const refused = answers.filter(({ status }) => status !== 201)
      assert.strictEqual(refused.length, WRITERS + 1 - stored)
      assert.isTrue(refused.every(({ status }) => status === 409))
    }))

  it.effect("of bytes leaves nothing of a call whose response it has no room for", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      assert.strictEqual((yield* rider.post("/routes", newRoute({ geometry: lineOf(3000) }))).status, 201)
      const before = yield* usageOf(rider)
      const tight = newRoute({ geometry: lineOf(1000) })
      const answer = yield* rider.post("/routes", tight, { headers: { "idempotency-key": "tight" } })
      assert.strictEqual(answer.status, 409)
      assert.deepInclude(answer.body, { code: "CONFLICT" })
      assert.deepStrictEqual(yield* usageOf(rider), before)
      assert.strictEqual((yield* rider.post("/routes", tight)).status, 201)
    }))

  it.effect("of collections is exact under 64 writers at once, and deleted ones do not count", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const answers = yield* all((n) => rider.post("/collections", { name: `c${n}` }))
      const kept = answers.filter(({ status }) => status === 201)
      assert.strictEqual(kept.length, 5)
      for (const answer of answers.filter(({ status }) => status !== 201)) {
        conflict(answer, { quota: "collections", limit: 5, used: 5 })
      }
      yield* rider.delete(`/collections/${idOf(kept[0]?.body)}`)
      assert.strictEqual((yield* rider.post("/collections", { name: "another" })).status, 201)
      conflict(yield* rider.post("/collections", { name: "more" }), { quota: "collections", limit: 5, used: 5 })
      yield* rider.delete("/collections/deleted")
      conflict(yield* rider.post("/collections", { name: "more" }), { quota: "collections", limit: 5, used: 5 })
    }))

  it.effect("refuses a change that makes a route longer, and no other change of an account that is full", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { body } = yield* rider.post("/routes", newRoute({ geometry: lineOf(500) }))
      const path = `/routes/${idOf(body)}`
      const before = yield* usageOf(rider)
      const grown = yield* rider.patch(path, { geometry: lineOf(6000) })
      conflict(grown, { quota: "storedBytes", limit: 100_000, used: before.storedBytes.used })
      assert.deepStrictEqual(yield* usageOf(rider), before)
      const sql = yield* SqlClient.SqlClient
      const limitBytes = (limit: number) => sql`UPDATE usage_limits SET max_stored_bytes = ${limit}`
      yield* limitBytes(10)
      assert.strictEqual((yield* rider.patch(path, { name: "shorter", geometry: lineOf(400) })).status, 200)
      assert.strictEqual((yield* rider.patch(path, { favourite: true })).status, 200)
      assert.strictEqual((yield* rider.delete(path)).status, 200)
      assert.strictEqual((yield* rider.post(`${path}/restore`)).status, 200)
      assert.strictEqual((yield* rider.post("/routes", newRoute({}))).status, 409)
      yield* limitBytes(100_000)
      assert.deepStrictEqual(used(yield* usageOf(rider)), yield* counted(rider))
    }))

  it.effect("of bytes is exact under 64 writers at once that make routes longer", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const created = yield* Effect.replicateEffect(rider.post("/routes", newRoute({})), 16)
      const ids = created.map(({ body }) => idOf(body))
      const lengthen = (n: number) => rider.patch(`/routes/${ids[n % ids.length]}`, { geometry: lineOf(600) })
      const before = (yield* usageOf(rider)).storedBytes
      assert.strictEqual((yield* lengthen(0)).status, 200)
      const growth = (yield* usageOf(rider)).storedBytes.used - before.used
      const lengthened = Math.floor((before.limit - before.used) / growth)
      assert.isBelow(lengthened, ids.length)
      const answers = yield* all(lengthen)
      const most = before.used + lengthened * growth
      const refused = answers.filter(({ status }) => status !== 200)
      assert.isNotEmpty(refused)
      for (const answer of refused) conflict(answer, { quota: "storedBytes", limit: before.limit, used: most })
      const usage = yield* usageOf(rider)
      assert.strictEqual(usage.storedBytes.used, most)
      assert.deepStrictEqual(used(usage), yield* counted(rider))
    }))

  it.effect("refuses a file that is split into too many routes, and stores none of them", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const track = (lat: number) => `<trk><trkseg><trkpt lat="${lat}" lon="9"/></trkseg></trk>`
      const tracks = Array.from({ length: 21 }, (_, lat) => track(lat)).join("")
      const raw = `<gpx version="1.1" creator="x">${tracks}</gpx>`
      const headers = { "content-type": "application/gpx+xml" }
      conflict(yield* rider.post("/routes/import?split=true", undefined, { raw, headers }), {
        quota: "routes",
        limit: 20,
        used: 20
      })
      assert.deepInclude(used(yield* usageOf(rider)), { routes: 0 })
    }))

  it.effect("counts routes in the trash, so that a restored one always has room", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const answers = yield* all(() => rider.post("/routes", newRoute({})))
      yield* trashAll(rider)
      conflict(yield* rider.post("/routes", newRoute({})), { quota: "routes", limit: 20, used: 20 })
      const id = idOf(answers.find(({ status }) => status === 201)?.body)
      assert.strictEqual((yield* rider.post(`/routes/${id}/restore`)).status, 200)
      const sql = yield* SqlClient.SqlClient
      yield* sql`DELETE FROM routes WHERE user_id = ${rider.id} AND deleted_at IS NOT NULL`
      assert.deepInclude(used(yield* usageOf(rider)), { routes: 1 })
    }))

  it.effect("refuses an archive that does not fit as a whole before it imports anything of it", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const heir = yield* signedIn
      for (let n = 0; n < 6; n++) yield* rider.post("/routes", newRoute({ name: `route ${n}`, geometry: lineOf(50) }))
      for (let n = 0; n < 3; n++) yield* rider.post("/collections", { name: `collection ${n}` })
      const { bytes } = yield* exported(rider)
      for (let n = 0; n < 15; n++) yield* heir.post("/routes", newRoute({}))
      conflict(yield* imported(heir, bytes), { quota: "routes", limit: 20, used: 15 })
      const stored = yield* usageOf(heir)
      assert.deepInclude(used(stored), { routes: 15, collections: 0 })

      const other = yield* signedIn
      for (let n = 0; n < 3; n++) yield* other.post("/collections", { name: `mine ${n}` })
      conflict(yield* imported(other, bytes), { quota: "collections", limit: 5, used: 3 })
      assert.deepInclude(used(yield* usageOf(other)), { routes: 0, collections: 3 })

      const third = yield* signedIn
      const large = yield* third.post("/routes", newRoute({ geometry: lineOf(4200) }))
      assert.strictEqual(large.status, 201)
      const { storedBytes } = yield* usageOf(third)
      conflict(yield* imported(third, bytes), { quota: "storedBytes", limit: 100_000, used: storedBytes.used })
      assert.deepInclude(used(yield* usageOf(third)), { routes: 1, collections: 0 })
    }))

  it.effect("has room for an archive whose routes are there already, up to its last route", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const heir = yield* signedIn
      for (let n = 0; n < 20; n++) yield* rider.post("/routes", newRoute({ name: `route ${n}` }))
      for (let n = 0; n < 5; n++) yield* rider.post("/collections", { name: `collection ${n}` })
      const { bytes } = yield* exported(rider)
      assert.strictEqual((yield* imported(rider, bytes)).status, 201)
      yield* trashAll(rider)
      assert.deepInclude((yield* imported(rider, bytes)).body, {
        routes: { created: 0, restored: 20, unchanged: 0, duplicates: 0 }
      })
      assert.strictEqual((yield* imported(heir, bytes)).status, 201)
      assert.deepStrictEqual(used(yield* usageOf(heir)), yield* counted(heir))
      assert.deepInclude(used(yield* usageOf(heir)), { routes: 20, collections: 5 })
    }))

  it.effect("counts what there is after any operations, by whatever way", () =>
    Effect.gen(function*() {
      const riders = yield* Effect.all([signedIn, signedIn])
      const sql = yield* SqlClient.SqlClient
      const ownRoute = (rider: Rider, pick: number) =>
        Effect.map(
          sql<{ id: number }>`SELECT id::float8 FROM routes WHERE user_id = ${rider.id} ORDER BY id`,
          (rows) => `/routes/${rows[pick % Math.max(1, rows.length)]?.id ?? 1}`
        )
      const ownCollection = (rider: Rider, pick: number) =>
        Effect.map(
          sql<{ id: number }>`SELECT id::float8 FROM collections WHERE user_id = ${rider.id} ORDER BY id`,
          (rows) => rows[pick % Math.max(1, rows.length)]?.id ?? 1
        )
      const operations: ReadonlyArray<(rider: Rider, n: number) => Effect.Effect<unknown, unknown>> = [
        (rider, n) => rider.post("/routes", newRoute({ geometry: lineOf(n % 60) })),
        (rider, n) =>
          rider.post("/routes", newRoute({ description: "ä".repeat(n % 90) }), {
            headers: { "idempotency-key": `k${n % 7}` }
          }),
        (rider, n) =>
          Effect.flatMap(ownRoute(rider, n), (path) =>
            rider.patch(path, n % 3 === 0 ? { geometry: null } : { geometry: lineOf(n % 300) })),
        (rider, n) =>
          Effect.flatMap(ownRoute(rider, n), (path) => rider.delete(path)),
        (rider, n) => Effect.flatMap(ownRoute(rider, n), (path) => rider.post(`${path}/restore`)),
        (rider, n) => rider.post("/collections", { name: `c${n}` }),
        (rider, n) =>
          Effect.flatMap(ownCollection(rider, n), (id) =>
            n % 2 === 0 ? rider.delete(`/collections/${id}`) : rider.post(`/collections/${id}/restore`)),
        (rider, n) =>
          Effect.flatMap(ownCollection(rider, n), (id) =>
            rider.delete(`/collections/deleted/${id}`)),
        (rider, n) => rider.delete(n % 2 === 0 ? "/routes/deleted" : "/collections/deleted"),
        (_, n) => sql`DELETE FROM routes WHERE deleted_at IS NOT NULL AND id % 2 = ${n % 2}`,
        (_, n) => sql`DELETE FROM idempotency_keys WHERE key = ${`k${n % 7}`}`,
        (rider, n) =>
          Effect.ignore(sql`
            INSERT INTO collections (user_id, name, visibility, share_token, created_at, updated_at)
            SELECT ${rider.id}, 'x', 'private', md5(random()::text), '1970-01-01Z', '1970-01-01Z'
            FROM generate_series(1, ${n % 3}::int)`)
      ]
      const step = fc.record({
        work: fc.constantFrom(...operations),
        rider: fc.constantFrom(...riders),
        n: fc.nat(1000)
      })
      for (const steps of fc.sample(fc.array(step, { minLength: 30, maxLength: 60 }), { numRuns: 4, seed: 7 })) {
        yield* Effect.forEach(steps, ({ n, rider, work }) => work(rider, n), { concurrency: 4, discard: true })
        for (const rider of riders) assert.deepStrictEqual(used(yield* usageOf(rider)), yield* counted(rider))
      }
    }))
})
