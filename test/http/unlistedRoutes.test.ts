import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { anonymous, signedIn, withHeaders } from "../support/Actors.ts"
import { exported, unzipped } from "../support/Archives.ts"
import { make, makeRoute, routeIdsIn, shownTo } from "../support/Collections.ts"
import { created, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { scriptOf } from "../support/Tokens.ts"

layer(TestServer.layer())("unlisted routes in collections", (it) => {
  const FORMS = ["full", "simplified", "none", "polyline6"]

  it.effect("are listed for everybody, and shown to the owner and by the collection's share token only", () =>
    Effect.gen(function*() {
      const owner = yield* signedIn
      const route = created((yield* owner.post("/routes", newRoute({ visibility: "unlisted", name: "Hidden" }))).body)
      const open = yield* makeRoute(owner, { visibility: "public" })
      const { id, shareToken } = yield* make(owner, { visibility: "public", routeIds: [route.id, open] })
      const strangers = [
        yield* anonymous,
        yield* signedIn,
        yield* scriptOf(yield* signedIn, "write"),
        yield* withHeaders({ cookie: "__Host-service_session=expired" })
      ]
      for (const stranger of strangers) {
        const collection = yield* stranger.get(`/collections/${id}`)
        assert.deepStrictEqual(routeIdsIn(collection.body), { routeIds: [route.id, open], routeCount: 2 })
        for (const geometry of FORMS) assert.deepStrictEqual(yield* shownTo(stranger, id, geometry), [open])
        assert.deepStrictEqual(yield* shownTo(stranger, shareToken.toUpperCase()), [route.id, open])

        // No way from the collection's id leads to the route: no token of either, no file.
        for (const path of [`/collections/${id}`, `/collections/${id}/routes`, `/collections/by-user/${owner.id}`]) {
          const { text } = yield* stranger.get(path)
          for (const secret of [shareToken, route.shareToken, "Hidden"]) assert.notInclude(text, secret, path)
        }
        for (const file of ["", "/gpx", "/geojson", "/tcx", "/kml", "/fit"]) {
          assert.strictEqual((yield* stranger.get(`/routes/${route.id}${file}`)).status, 404)
        }
      }
      for (const ref of [id, shareToken]) assert.deepStrictEqual(yield* shownTo(owner, ref), [route.id, open])
      const own = yield* owner.get(`/collections/${id}`)
      assert.deepInclude(own.body, { shareToken })
      for (
        const changed of [
          owner.patch(`/collections/${id}`, { name: "x" }),
          owner.call("PUT", `/collections/${id}/routes`, { body: { routeIds: [route.id, open] } })
        ]
      ) assert.deepInclude((yield* changed).body, { shareToken })
      yield* owner.patch(`/collections/${id}`, { visibility: "unlisted" })
      for (const stranger of strangers) {
        assert.strictEqual((yield* stranger.get(`/collections/${id}/routes`)).status, 404)
        assert.deepStrictEqual(yield* shownTo(stranger, shareToken), [route.id, open])
      }
    }))

  it.effect("that are another user's are listed, and shown to both owners only", () =>
    Effect.gen(function*() {
      const owner = yield* signedIn
      const other = yield* signedIn
      const visitor = yield* anonymous
      const theirs = created((yield* other.post("/routes", newRoute({ visibility: "public" }))).body)
      const mine = yield* makeRoute(owner)
      const { id, shareToken } = yield* make(owner, { visibility: "public", routeIds: [theirs.id, mine] })
      yield* other.patch(`/routes/${theirs.id}`, { visibility: "unlisted" })

      assert.deepStrictEqual(yield* shownTo(owner, id), [theirs.id, mine])
      assert.deepStrictEqual(yield* shownTo(other, id), [theirs.id])
      // A token that shuts out earlier readers is no secret if each collector gets it.
      const { body } = yield* other.post(`/routes/${theirs.id}/share-token`)
      assert.notInclude((yield* owner.get(`/collections/${id}/routes`)).text, created(body).shareToken)
      for (const ref of [id, shareToken]) {
        assert.deepStrictEqual(yield* shownTo(visitor, ref), [])
        assert.deepStrictEqual(routeIdsIn((yield* visitor.get(`/collections/${ref}`)).body).routeIds, [theirs.id])
      }

      // The owner can write back what was read, in another order too; nobody adds such a route again.
      const reordered = yield* owner.call("PUT", `/collections/${id}/routes`, { body: { routeIds: [mine, theirs.id] } })
      assert.deepStrictEqual(routeIdsIn(reordered.body).routeIds, [mine, theirs.id])
      const moved = yield* owner.post(`/collections/${id}/routes`, { routeId: theirs.id, position: 0 })
      assert.deepStrictEqual(routeIdsIn(moved.body).routeIds, [theirs.id, mine])
      const second = yield* make(owner)
      assert.strictEqual((yield* owner.post(`/collections/${second.id}/routes`, { routeId: theirs.id })).status, 404)
      yield* owner.delete(`/collections/${id}/routes/${theirs.id}`)
      assert.strictEqual((yield* owner.post(`/collections/${id}/routes`, { routeId: theirs.id })).status, 404)
      assert.deepStrictEqual(yield* shownTo(owner, id), [mine])
    }))

  it.effect("of an account pending deletion are neither listed nor shown", () =>
    Effect.gen(function*() {
      const owner = yield* signedIn
      const other = yield* signedIn
      const theirs = yield* makeRoute(other, { visibility: "public" })
      const { id } = yield* make(owner, { visibility: "public", routeIds: [theirs] })
      yield* other.patch(`/routes/${theirs}`, { visibility: "unlisted" })
      yield* other.delete("/users/me")
      assert.deepStrictEqual(routeIdsIn((yield* owner.get(`/collections/${id}`)).body), { routeIds: [], routeCount: 0 })
      assert.deepStrictEqual(yield* shownTo(owner, id), [])
    }))

  it.effect("that are another user's are in no archive of the collection's owner", () =>
    Effect.gen(function*() {
      const owner = yield* signedIn
      const other = yield* signedIn
      const theirs = created((yield* other.post("/routes", newRoute({ visibility: "public", name: "Theirs" }))).body)
      yield* make(owner, { routeIds: [theirs.id] })
      yield* other.patch(`/routes/${theirs.id}`, { visibility: "unlisted" })
      const files = yield* Effect.flatMap(exported(owner), ({ bytes }) => unzipped(bytes))
      for (const [name, text] of Object.entries(files)) {
        for (const secret of [theirs.shareToken, "Theirs"]) assert.notInclude(text, secret, name)
      }
    }))
})
