import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { type Rider, signedIn } from "../support/Actors.ts"
import { created, idOf, idsIn, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { scriptOf } from "../support/Tokens.ts"

const LINE = [[9.5, 47.1], [9.51, 47.11], [9.52, 47.12, 512.5]]

const CUES = [{ instruction: "Turn right.", type: 10, begin_shape_index: 1, length: 0.3, time: 42.5 }]

const FULL = {
  name: "A ride",
  description: "Up and down",
  activity: "cycle",
  visibility: "public",
  tags: ["b", "a"],
  favourite: true,
  waypoints: [{ coord: [9.5, 47.1], name: "Start", type: "routed" }, { coord: [9.52, 47.12] }],
  geometry: LINE,
  cues: CUES,
  distance: 5000.25,
  duration: 900,
  elevationGain: 12,
  startAddress: "Here",
  endAddress: "There",
  routingPreferences: { avoidFerries: true, surfacePreference: "paved" },
  provenance: "generation"
}

const Page = Schema.Struct({ changes: Schema.Array(Schema.Unknown), cursor: Schema.String })

const changesSince = Effect.fnUntraced(function*(rider: Rider, cursor = "", query = "") {
  const { body } = yield* rider.get(`/sync?limit=200${cursor === "" ? "" : `&cursor=${cursor}`}${query}`)
  return yield* Schema.decodeUnknownEffect(Page)(body)
})

/** Keeps what a change would leave behind: the resource, its tag, and the feed of the account. */
const watched = Effect.fnUntraced(function*(rider: Rider, path: string) {
  const before = yield* rider.get(path)
  const { cursor } = yield* changesSince(rider)
  return {
    before,
    isUnchanged: Effect.fnUntraced(function*(what: string) {
      const after = yield* rider.get(path)
      assert.deepStrictEqual(after.body, before.body, what)
      assert.strictEqual(after.headers.get("etag"), before.headers.get("etag"), what)
      assert.deepStrictEqual((yield* changesSince(rider, cursor)).changes, [], what)
    })
  }
})

const updatedAtOf = (id: number) =>
  SqlClient.SqlClient.use((sql) => sql`SELECT updated_at, preferences FROM users WHERE id = ${id}`)

layer(TestServer.layer())("a change that changes nothing", (it) => {
  it.effect("of a route leaves version, tag, updatedAt and the feed: unknown members, and what is stored already", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const made = yield* rider.post("/routes", FULL)
      const path = `/routes/${idOf(made.body)}`
      const { before, isUnchanged } = yield* watched(rider, path)
      yield* TestClock.adjust("1 minute")
      const patches = [
        {},
        { id: 1, version: 7, shareToken: "x", nonsense: { a: 1 } },
        { name: "  A ride " },
        { routingPreferences: { surfacePreference: "paved", avoidFerries: true } },
        { geometry: LINE },
        FULL,
        created(before.body)
      ]
      for (const patch of patches) {
        const answer = yield* rider.patch(path, patch)
        assert.strictEqual(answer.status, 200)
        assert.deepStrictEqual(answer.body, before.body, JSON.stringify(patch))
        assert.strictEqual(answer.headers.get("etag"), before.headers.get("etag"))
        yield* isUnchanged(JSON.stringify(patch))
      }
    }))

  it.effect("is also the line that was read in another form, by the tag of the read", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const geometry = Array.from({ length: 200 }, (_, n) => [9.5 + n / 10_000, 47.1 + Math.sin(n) / 100_000, 400 + n])
      const segments = [0, 100]
      const path = `/routes/${idOf((yield* rider.post("/routes", newRoute({ geometry, segments, cues: CUES }))).body)}`
      const { body: whole } = yield* rider.get(path)
      const short = (yield* rider.get(`${path}?geometry=simplified`)).body
      for (const form of ["simplified", "polyline6", "none"]) {
        const { body, headers } = yield* rider.get(`${path}?geometry=${form}`)
        const changed = { ...created(body), description: form }
        const ifMatch = headers.get("etag") ?? ""
        assert.strictEqual((yield* rider.patch(path, changed, { headers: { "if-match": ifMatch } })).status, 200)
        const { changes } = yield* changesSince(rider, "", `&geometry=${form}`)
        const [{ etag, route }] = Object(changes.slice(-1))
        const operation = { op: "update", id: route.id, ifMatch: etag, changes: { ...route, favourite: true } }
        assert.strictEqual(
          Object((yield* rider.post("/routes/batch", { operations: [operation] })).body).results[0].status,
          200
        )
        const { cues, distance, elevationGain, geometry, segments } = created(whole)
        assert.deepInclude(created((yield* rider.get(path)).body), {
          cues,
          distance,
          elevationGain,
          geometry,
          segments
        }, form)
      }
      const { geometry: line } = created(short)
      yield* rider.patch(path, { geometry: line })
      assert.deepInclude(created((yield* rider.get(path)).body), { geometry: line })
    }))

  it.effect("of a bare route is the same for members that it does not have", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const path = `/routes/${idOf((yield* rider.post("/routes", newRoute({}))).body)}`
      const { isUnchanged } = yield* watched(rider, path)
      const absent = ["description", "activity", "tags", "favourite", "geometry", "cues", "distance", "duration"]
      const none = Object.fromEntries(absent.map((name) => [name, null]))
      for (const patch of [none, { tags: [], favourite: false, description: "", routingPreferences: null }]) {
        assert.strictEqual((yield* rider.patch(path, patch)).status, 200)
        yield* isUnchanged(JSON.stringify(patch))
      }
    }))

  it.effect("each member of a route changes it by itself, once", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { body } = yield* rider.post("/routes", FULL)
      const path = `/routes/${idOf(body)}`
      const changes = {
        name: "Another",
        description: null,
        activity: "run",
        visibility: "unlisted",
        tags: ["a", "b"],
        favourite: false,
        waypoints: [{ coord: [9.5, 47.1] }],
        cues: null,
        distance: 5000.5,
        duration: null,
        elevationGain: 13,
        startAddress: "Elsewhere",
        endAddress: null,
        routingPreferences: null,
        provenance: "gpx-import",
        geometry: [...LINE, [9.53, 47.13]]
      }
      for (const [name, value] of Object.entries(changes)) {
        const { cursor } = yield* changesSince(rider)
        const before = (yield* rider.get(path)).headers.get("etag")
        const changed = yield* rider.patch(path, { [name]: value })
        assert.notStrictEqual(changed.headers.get("etag"), before, name)
        assert.strictEqual((yield* changesSince(rider, cursor)).changes.length, 1, name)
        const again = yield* rider.patch(path, { [name]: value })
        assert.strictEqual(again.headers.get("etag"), changed.headers.get("etag"), name)
      }
    }))

  it.effect("is still refused for a stale version, without a confirmation, and where nothing is", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const script = yield* scriptOf(rider, "write")
      const path = `/routes/${idOf((yield* rider.post("/routes", FULL)).body)}`
      const stale = { headers: { "if-match": "W/\"7-full-0\"" } }
      assert.strictEqual((yield* rider.patch(path, {}, stale)).status, 409)
      assert.strictEqual((yield* script.patch(path, { visibility: "public" })).status, 428)
      assert.strictEqual((yield* rider.patch("/routes/999999999", {})).status, 404)
    }))

  it.effect("is not taken for the change of the same version that a restored database has lost", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { body } = yield* rider.post("/routes", FULL)
      const collection = idOf((yield* rider.post("/collections", { name: "All" })).body)
      const paths = [[`/routes/${idOf(body)}`, "routes"], [`/collections/${collection}`, "collections"]] as const
      for (const [path, table] of paths) {
        const etag = (yield* rider.get(path)).headers.get("etag") ?? ""
        yield* SqlClient.SqlClient.use((sql) =>
          sql`UPDATE ${sql(table)} SET updated_at = updated_at - interval '1 minute'`
        )
        assert.strictEqual((yield* rider.get(path, { headers: { "if-none-match": etag } })).status, 200, table)
        const stale = yield* rider.patch(path, { name: "Mine" }, { headers: { "if-match": etag } })
        assert.strictEqual(stale.status, 409, table)
        assert.strictEqual((yield* rider.delete(path, { headers: { "if-match": etag } })).status, 409, table)
        const current = { headers: { "if-match": (yield* rider.get(path)).headers.get("etag") ?? "" } }
        assert.strictEqual((yield* rider.patch(path, { name: "Mine" }, current)).status, 200, table)
      }
    }))

  it.effect("in a batch leaves the route, and the collection that has it there, as they are", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const one = idOf((yield* rider.post("/routes", FULL)).body)
      const two = idOf((yield* rider.post("/routes", newRoute({}))).body)
      const collection = idOf((yield* rider.post("/collections", { name: "All", routeIds: [one, two] })).body)
      const route = yield* watched(rider, `/routes/${one}`)
      const list = yield* watched(rider, `/collections/${collection}`)
      yield* TestClock.adjust("1 minute")
      const operations = [
        { op: "update", id: one, changes: { name: "A ride", nonsense: 1 } },
        { op: "addToCollection", collectionId: collection, routeId: one, position: 0 }
      ]
      assert.strictEqual((yield* rider.post("/routes/batch", { operations })).status, 200)
      yield* route.isUnchanged("batch")
      yield* list.isUnchanged("batch")
    }))

  it.effect("of a collection, of its order or of a place in it leaves version, tag, updatedAt and the feed", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const ids = yield* Effect.forEach(
        [1, 2, 3],
        () => Effect.map(rider.post("/routes", newRoute({})), ({ body }) => idOf(body))
      )
      const fields = { name: "All", description: "of them", visibility: "unlisted" }
      const path = `/collections/${idOf((yield* rider.post("/collections", { ...fields, routeIds: ids })).body)}`
      const { before, isUnchanged } = yield* watched(rider, path)
      yield* TestClock.adjust("1 minute")
      const calls = [
        rider.patch(path, {}),
        rider.patch(path, { routeIds: [], nonsense: 1 }),
        rider.patch(path, fields),
        rider.patch(path, before.body),
        rider.call("PUT", `${path}/routes`, { body: { routeIds: ids } }),
        rider.post(`${path}/routes`, { routeId: ids[1], position: 1 }),
        rider.post(`${path}/routes`, { routeId: ids[2] })
      ]
      for (const [index, call] of calls.entries()) {
        const answer = yield* call
        assert.strictEqual(answer.status, 200, String(index))
        assert.strictEqual(answer.headers.get("etag"), before.headers.get("etag"), String(index))
        yield* isUnchanged(String(index))
      }
      const changes = [
        rider.patch(path, { name: "Some" }),
        rider.patch(path, { description: null }),
        rider.call("PUT", `${path}/routes`, { body: { routeIds: ids.toReversed() } }),
        rider.post(`${path}/routes`, { routeId: ids[0], position: 0 })
      ]
      for (const change of changes) {
        const { cursor } = yield* changesSince(rider)
        const tag = (yield* rider.get(path)).headers.get("etag")
        assert.notStrictEqual((yield* change).headers.get("etag"), tag)
        assert.strictEqual((yield* changesSince(rider, cursor)).changes.length, 1)
      }
    }))

  it.effect("of a profile does not touch the account, and one of a link is no entry of the audit", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* rider.patch("/users/me", { name: "Ada", preferences: { units: "metric", sportSpeeds: { run: 10 } } })
      const before = yield* updatedAtOf(rider.id)
      yield* TestClock.adjust("1 minute")
      const { body } = yield* rider.get("/users/me")
      const same = { preferences: { sportSpeeds: { run: 10 }, units: "metric" } }
      for (const patch of [{}, { nonsense: 1 }, { name: "Ada", avatar: null }, same, { preferences: {} }, body]) {
        assert.deepStrictEqual((yield* rider.patch("/users/me", patch)).body, body)
        assert.deepStrictEqual(yield* updatedAtOf(rider.id), before, JSON.stringify(patch))
      }
      yield* rider.patch("/users/me", { preferences: { units: "imperial" } })
      assert.notDeepEqual(yield* updatedAtOf(rider.id), before)

      const newcomer = yield* signedIn
      const bare = yield* updatedAtOf(newcomer.id)
      yield* TestClock.adjust("1 minute")
      yield* newcomer.patch("/users/me", { preferences: {} })
      assert.deepStrictEqual(yield* updatedAtOf(newcomer.id), bare)

      const route = idOf((yield* rider.post("/routes", newRoute({}))).body)
      const link = { label: "For the club", allowDownload: false, expiresAt: "2050-01-01T00:00:00.000Z" }
      const made = yield* rider.post(`/routes/${route}/links`, link)
      const path = `/routes/${route}/links/${idsIn([made.body]).join("")}`
      const audited = SqlClient.SqlClient.use((sql) =>
        sql`SELECT count(*)::int AS entries FROM audit_events WHERE event = 'link.changed' AND user_id = ${rider.id}`
      )
      for (const patch of [{}, { uses: 3 }, link]) assert.strictEqual((yield* rider.patch(path, patch)).status, 200)
      assert.deepStrictEqual(yield* audited, [{ entries: 0 }])
      assert.strictEqual((yield* rider.patch(path, { label: null })).status, 200)
      assert.deepStrictEqual(yield* audited, [{ entries: 1 }])
    }))
})
