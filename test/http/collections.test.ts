import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { type Actor, anonymous, type Rider, signedIn } from "../support/Actors.ts"
import { fill, make, makeRoute, routeIdsIn, shownTo } from "../support/Collections.ts"
import { whileLocked } from "../support/Locks.ts"
import { created, idsIn, newRoute, shareTokenOf } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { scriptOf } from "../support/Tokens.ts"
import { served } from "../support/Waiting.ts"

const NOT_FOUND = { statusCode: 404, code: "NOT_FOUND", message: "No such collection" }

const CONFIRMED = { headers: { "x-service-confirm": "true" } }

const makeRoutes = (rider: Rider, count: number) => Effect.all(Array.from({ length: count }, () => makeRoute(rider)))

layer(TestServer.layer())("collections", (it) => {
  it.effect("have every member of the contract", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const ids = yield* makeRoutes(rider, 3)
      const routeIds = ids.toReversed()
      const answer = yield* rider.post("/collections", {
        name: " Summer ",
        description: "d",
        visibility: "unlisted",
        routeIds,
        id: 7
      })
      assert.strictEqual(answer.status, 201)
      const { id, shareToken, user, ...members } = created(answer.body)
      assert.strictEqual(answer.headers.get("location"), `/api/v1/collections/${id}`)
      assert.match(shareToken, /^[0-9a-f]{32}$/)
      assert.deepInclude(user, { id: rider.id })
      const at = "1970-01-01T00:00:00.000Z"
      assert.deepStrictEqual<unknown>(members, {
        name: "Summer",
        description: "d",
        visibility: "unlisted",
        routeIds,
        routeCount: 3,
        createdAt: at,
        updatedAt: at,
        url: `http://localhost:3000/c/${shareToken}`
      })
      assert.deepStrictEqual((yield* rider.get(`/collections/${id}`)).body, answer.body)
      const least = yield* make(rider)
      assert.deepInclude(least, { visibility: "private", routeIds: [], routeCount: 0 })
      assert.notProperty(least, "description")
    }))

  it.effect("keep to their limits", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const [id] = yield* makeRoutes(rider, 1)
      for (const accepted of [{ name: "n".repeat(100) }, { description: "d".repeat(255) }, { description: null }]) {
        assert.strictEqual((yield* rider.post("/collections", { name: "x", ...accepted })).status, 201)
      }
      const refused = [
        { name: "" },
        { name: " " },
        { name: "n".repeat(101) },
        { description: "d".repeat(256) },
        { visibility: "PUBLIC" },
        { routeIds: [id, id] },
        { routeIds: ["1"] },
        { routeIds: [0] },
        { routeIds: Array.from({ length: 1001 }, (_, n) => n + 1) }
      ]
      for (const members of refused) {
        assert.strictEqual(
          (yield* rider.post("/collections", { name: "x", ...members })).status,
          400,
          JSON.stringify(members).slice(0, 60)
        )
      }
    }))

  it.effect("are visible by their visibility, and exist for no others", () =>
    Effect.gen(function*() {
      const owner = yield* signedIn
      const stranger = yield* signedIn
      const nobody = yield* anonymous
      for (
        const [visibility, byId, byToken] of [["private", 404, 404], ["unlisted", 404, 200], [
          "public",
          200,
          200
        ]] as const
      ) {
        const collection = yield* make(owner, { visibility })
        for (const viewer of [stranger, nobody]) {
          for (
            const [ref, status] of [[collection.id, byId], [shareTokenOf(collection).toUpperCase(), byToken]] as const
          ) {
            const answer = yield* viewer.get(`/collections/${ref}`)
            const { shareToken: _, ...withoutToken } = collection
            const byNumber = { ...withoutToken, url: `http://localhost:3000/c/${collection.id}` }
            const seen = ref === collection.id ? byNumber : collection
            assert.deepStrictEqual<unknown>(answer.body, status === 200 ? seen : NOT_FOUND, visibility)
            assert.strictEqual((yield* viewer.get(`/collections/${ref}/routes`)).status, status)
          }
        }
        for (
          const call of [
            stranger.patch(`/collections/${collection.id}`, { name: "mine" }),
            stranger.delete(`/collections/${collection.id}`),
            stranger.call("PUT", `/collections/${collection.id}/routes`, { body: { routeIds: [] } })
          ]
        ) assert.deepStrictEqual((yield* call).body, NOT_FOUND)
      }
      for (const ref of ["0", "x", "f".repeat(32), "f".repeat(31), "999999999"]) {
        assert.strictEqual((yield* owner.get(`/collections/${ref}`)).status, 404)
      }
      const route = created((yield* owner.post("/routes", newRoute({ visibility: "public" }))).body)
      assert.strictEqual((yield* nobody.get(`/collections/${shareTokenOf(route)}`)).status, 404)
    }))

  it.effect("show each viewer the routes that are theirs to see, in order and in number", () =>
    Effect.gen(function*() {
      const owner = yield* signedIn
      const other = yield* signedIn
      const [secret, unlisted, open] = [
        yield* makeRoute(owner),
        yield* makeRoute(owner, { visibility: "unlisted" }),
        yield* makeRoute(owner, { visibility: "public" })
      ]
      const theirs = yield* makeRoute(other, { visibility: "public" })
      const { id } = yield* make(owner, { visibility: "public", routeIds: [theirs, secret, open, unlisted] })
      const seenBy = (viewer: Actor) =>
        Effect.gen(function*() {
          const { routeCount, routeIds } = routeIdsIn((yield* viewer.get(`/collections/${id}`)).body)
          assert.strictEqual(routeCount, routeIds.length)
          return { listed: routeIds, shown: yield* shownTo(viewer, id) }
        })
      const all = (ids: ReadonlyArray<number | undefined>) => ({ listed: ids, shown: ids })
      const visitor = yield* anonymous
      assert.deepStrictEqual<unknown>(yield* seenBy(owner), all([theirs, secret, open, unlisted]))
      assert.deepStrictEqual<unknown>(yield* seenBy(visitor), {
        listed: [theirs, open, unlisted],
        shown: [theirs, open]
      })
      yield* other.patch(`/routes/${theirs}`, { visibility: "private" })
      yield* owner.delete(`/routes/${open}`)
      assert.deepStrictEqual<unknown>(yield* seenBy(owner), all([secret, unlisted]))
      assert.deepStrictEqual<unknown>(yield* seenBy(other), { listed: [theirs, unlisted], shown: [theirs] })
      assert.deepStrictEqual<unknown>(yield* seenBy(visitor), { listed: [unlisted], shown: [] })
      yield* owner.post(`/routes/${open}/restore`)
      assert.deepStrictEqual<unknown>(yield* seenBy(owner), all([secret, open, unlisted]))
      const light = yield* owner.get(`/collections/${id}/routes?geometry=none&limit=1&offset=1`)
      assert.deepStrictEqual(idsIn(light.body), [open])
      const beyond = yield* owner.get(`/collections/${id}/routes?offset=9007199254740991`)
      assert.deepStrictEqual([beyond.body, beyond.headers.get("x-total-count")], [[], "3"])
    }))

  it.effect("take one's own routes and others' public ones, and no others", () =>
    Effect.gen(function*() {
      const owner = yield* signedIn
      const other = yield* signedIn
      const [mine, hidden, open] = [
        yield* makeRoute(owner),
        yield* makeRoute(other, { visibility: "unlisted" }),
        yield* makeRoute(other, { visibility: "public" })
      ]
      const refused = yield* owner.post("/collections", { name: "x", routeIds: [mine, hidden, 999_999_999] })
      assert.deepStrictEqual(refused.body, {
        statusCode: 404,
        code: "NOT_FOUND",
        message: "No such route",
        details: { routeIds: [hidden, 999_999_999] }
      })
      const { id } = yield* make(owner, { routeIds: [mine] })
      const add = (routeId: number, position?: number) =>
        owner.post(`/collections/${id}/routes`, { routeId, ...(position === undefined ? {} : { position }) })
      assert.strictEqual((yield* add(hidden)).status, 404)
      assert.deepStrictEqual(routeIdsIn((yield* add(open, 0)).body).routeIds, [open, mine])
      assert.deepStrictEqual(routeIdsIn((yield* add(open)).body).routeIds, [mine, open])
      assert.deepStrictEqual(routeIdsIn((yield* add(open, 0)).body).routeIds, [open, mine])
      const taken = yield* owner.delete(`/collections/${id}/routes/${open}`)
      assert.deepStrictEqual(routeIdsIn(taken.body).routeIds, [mine])
      assert.strictEqual((yield* owner.delete(`/collections/${id}/routes/${open}`)).status, 404)
      assert.strictEqual((yield* owner.get(`/routes/${mine}`)).status, 200)
    }))

  it.effect("lose nothing of what is added at once", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const ids = yield* makeRoutes(rider, 32)
      const { id } = yield* make(rider)
      const added = yield* Effect.forEach(ids, (routeId) =>
        Effect.map(rider.post(`/collections/${id}/routes`, { routeId }), ({ status }) => ({ routeId, status })), {
        concurrency: "unbounded"
      })
      // A busy machine may refuse one that waited for the collection.
      const taken = added.filter(({ status }) =>
        status !== 503
      )
      const { routeIds } = routeIdsIn((yield* rider.get(`/collections/${id}`)).body)
      assert.deepStrictEqual(
        routeIds.toSorted((a, b) =>
          a - b
        ),
        taken.map(({ routeId }) => routeId).toSorted((a, b) => a - b)
      )
      const reversed = ids.toReversed()
      const set = yield* rider.call("PUT", `/collections/${id}/routes`, { body: { routeIds: reversed } })
      assert.deepStrictEqual(routeIdsIn(set.body).routeIds, reversed)
    }))

  it.effect("count places as the owner sees them, and keep those of routes in the trash", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const ids = yield* makeRoutes(rider, 5)
      const [a = 0, b = 0, c = 0, d = 0, e = 0] = ids
      const { id } = yield* make(rider, { routeIds: ids })
      const order = Effect.map(rider.get(`/collections/${id}`), ({ body }) => routeIdsIn(body).routeIds)
      const move = (routeId: number, position: number) =>
        Effect.map(rider.post(`/collections/${id}/routes`, { routeId, position }), ({ body }) =>
          routeIdsIn(body).routeIds)
      yield* rider.delete(`/routes/${b}`)
      yield* rider.delete(`/routes/${d}`)
      assert.deepStrictEqual(yield* move(a, 1), [c, a, e])
      assert.deepStrictEqual(yield* move(e, 1), [c, e, a])
      assert.deepStrictEqual(yield* move(e, 3), [c, a, e])
      assert.deepStrictEqual(yield* move(e, 0), [e, c, a])
      yield* rider.post(`/routes/${b}/restore`)
      yield* rider.post(`/routes/${d}/restore`)
      assert.deepStrictEqual(yield* order, [b, e, c, d, a])
    }))

  it.effect("keep what their owner does not see in a new order, and have no new version for the order that was read", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const ids = yield* makeRoutes(rider, 5)
      const [a = 0, b = 0, c = 0, d = 0, e = 0] = ids
      const { id } = yield* make(rider, { routeIds: ids })
      const set = (routeIds: ReadonlyArray<number>) =>
        rider.call("PUT", `/collections/${id}/routes`, { body: { routeIds } })
      for (const trashed of [a, d]) yield* rider.delete(`/routes/${trashed}`)
      const before = yield* rider.get(`/collections/${id}`)
      assert.deepStrictEqual((yield* set([b, c, e])).body, before.body)
      assert.deepStrictEqual((yield* rider.get(`/collections/${id}`)).headers.get("etag"), before.headers.get("etag"))
      assert.deepStrictEqual(routeIdsIn((yield* set([e, c])).body).routeIds, [e, c])
      for (const restored of [a, d]) yield* rider.post(`/routes/${restored}/restore`)
      assert.deepStrictEqual(routeIdsIn((yield* rider.get(`/collections/${id}`)).body).routeIds, [a, e, c, d])
    }))

  it.effect("take a route while another of theirs is erased", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const [erased = 0, kept = 0, added = 0] = yield* makeRoutes(rider, 3)
      const { id } = yield* make(rider, { routeIds: [erased, kept] })
      yield* rider.delete(`/routes/${erased}`)
      const add = rider.post(`/collections/${id}/routes`, { routeId: added, position: 0 })
      const { body, status } = yield* whileLocked((sql) => sql`DELETE FROM routes WHERE id = ${erased}`, add)
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(routeIdsIn(body).routeIds, [added, kept])
    }))

  it.effect("have at most 1,000 routes", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const [last] = yield* makeRoutes(rider, 1)
      const { id } = yield* make(rider)
      yield* fill(rider, id)
      const full = yield* rider.post(`/collections/${id}/routes`, { routeId: last })
      assert.deepStrictEqual(full.body, {
        statusCode: 409,
        code: "CONFLICT",
        message: "A collection may have at most 1000 routes",
        details: { reason: "collection_full" }
      })
      assert.strictEqual(routeIdsIn((yield* rider.get(`/collections/${id}`)).body).routeCount, 1000)
    }))

  it.effect("are changed member by member, and of two devices by one", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const made = yield* rider.post("/collections", { name: "x", description: "d" })
      const { id } = created(made.body)
      yield* TestClock.adjust("1 second")
      const renamed = created((yield* rider.patch(`/collections/${id}`, { name: "y" })).body)
      assert.deepStrictEqual<unknown>(renamed, { ...created(made.body), name: "y", updatedAt: renamed["updatedAt"] })
      assert.notProperty((yield* rider.patch(`/collections/${id}`, { description: null })).body, "description")
      assert.strictEqual((yield* rider.patch(`/collections/${id}`, { name: null })).status, 400)
      const stale = yield* rider.patch(`/collections/${id}`, { name: "z" }, {
        headers: { "if-match": made.headers.get("etag") ?? "" }
      })
      const current = (yield* rider.get(`/collections/${id}`)).headers.get("etag") ?? ""
      assert.deepInclude(stale.body, { statusCode: 409, code: "CONFLICT" })
      assert.include(stale.text, `"etag":${JSON.stringify(current)},"current":{"id":${id},`)
      const known = yield* rider.get(`/collections/${id}`, { headers: { "if-none-match": current } })
      assert.deepStrictEqual([known.status, known.text], [304, ""])
      assert.strictEqual(
        (yield* rider.patch(`/collections/${id}`, { name: "z" }, { headers: { "if-match": current } })).status,
        200
      )
    }))

  it.effect("are listed newest first, one's own all and others' public ones", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const first = yield* make(rider, { visibility: "public" })
      yield* TestClock.adjust("1 second")
      const second = yield* make(rider)
      const own = yield* rider.get("/collections")
      assert.deepStrictEqual(idsIn(own.body), [second.id, first.id])
      assert.strictEqual(own.headers.get("x-total-count"), "2")
      const visitor = yield* anonymous
      assert.deepStrictEqual(idsIn((yield* visitor.get(`/collections/by-user/${rider.id}`)).body), [first.id])
      const { shareToken: _, url: __, ...listed } = first
      assert.deepStrictEqual<unknown>((yield* visitor.get(`/collections/by-user/${rider.id}`)).body, [listed])
      assert.deepStrictEqual((yield* rider.delete(`/collections/${first.id}`)).body, { success: true })
      assert.strictEqual((yield* rider.get(`/collections/${first.id}`)).status, 404)
      assert.strictEqual((yield* rider.delete(`/collections/${first.id}`)).status, 404)
      assert.deepStrictEqual((yield* visitor.get(`/collections/by-user/${rider.id}`)).body, [])
    }))

  it.effect("are published and deleted by a script that confirms it", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const script = yield* scriptOf(rider, "write")
      assert.strictEqual((yield* script.post("/collections", { name: "x", visibility: "public" })).status, 428)
      const { id } = yield* make(script)
      for (
        const call of [
          (options?: typeof CONFIRMED) => script.patch(`/collections/${id}`, { visibility: "public" }, options),
          (options?: typeof CONFIRMED) => script.delete(`/collections/${id}`, options)
        ]
      ) {
        const refused = yield* call()
        assert.strictEqual(refused.status, 428)
        assert.include(refused.text, `"id":${id}`)
        assert.strictEqual((yield* call(CONFIRMED)).status, 200)
      }
      assert.strictEqual((yield* script.delete("/collections/999999999")).status, 404)
    }))
})

layer(TestServer.layer())("Idempotency-Key", (it) => {
  const keyed = (key: string) => ({ headers: { "idempotency-key": key } })

  it.effect("gets the first response again, and does the work once", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const body = newRoute({ name: "once" })
      const first = yield* rider.post("/routes", body, keyed("k-1"))
      const again = yield* rider.post("/routes", body, keyed("k-1"))
      assert.deepStrictEqual([again.status, again.text], [201, first.text])
      for (const name of ["location", "etag"]) assert.strictEqual(again.headers.get(name), first.headers.get(name))
      assert.strictEqual((yield* rider.get("/routes")).headers.get("x-total-count"), "1")
      const other = yield* rider.post("/routes", newRoute({ name: "another" }), keyed("k-1"))
      assert.deepInclude(other.body, { statusCode: 409, code: "CONFLICT" })
      assert.strictEqual((yield* rider.post("/collections", { name: "x" }, keyed("k-1"))).status, 201)
      assert.strictEqual((yield* (yield* signedIn).post("/routes", body, keyed("k-1"))).status, 201)
    }))

  it.effect("of 32 calls at once lets one do it, and returns its response to the others", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const call = served(rider.post("/collections", { name: "x" }, keyed("race")))
      const answers = yield* Effect.replicateEffect(call, 32, { concurrency: "unbounded" })
      assert.deepStrictEqual([...new Set(answers.map(({ status }) => status))], [201])
      assert.lengthOf([...new Set(answers.map(({ text }) => text))], 1)
      assert.strictEqual((yield* rider.get("/collections")).headers.get("x-total-count"), "1")
    }))

  it.effect("is forgotten after a failure, and after a day", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      assert.strictEqual(
        (yield* rider.post("/collections", { name: "x", routeIds: [999_999_999] }, keyed("f"))).status,
        404
      )
      assert.strictEqual((yield* rider.post("/collections", { name: "x" }, keyed("f"))).status, 201)
      const total = Effect.map(rider.get("/collections"), ({ headers }) => headers.get("x-total-count"))
      const age = (seconds: number) =>
        SqlClient.SqlClient.use((sql) =>
          sql`UPDATE idempotency_keys SET created_at = created_at - ${seconds} * interval '1 second'`
        )
      yield* age(86_399)
      yield* rider.post("/collections", { name: "x" }, keyed("f"))
      assert.strictEqual(yield* total, "1")
      yield* age(1)
      yield* rider.post("/collections", { name: "x" }, keyed("f"))
      assert.strictEqual(yield* total, "2")
      for (const key of ["", "a b", "ü", "x".repeat(256)]) {
        const answer = yield* rider.post("/collections", { name: "x" }, keyed(key))
        assert.strictEqual(answer.status, 400, key.slice(0, 10))
        const issues = [{ path: "header.Idempotency-Key", message: "Expected 1 to 255 visible ASCII characters" }]
        assert.deepInclude(answer.body, { details: { issues } })
      }
    }))
})
