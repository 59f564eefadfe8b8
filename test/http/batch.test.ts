import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { type Actor, signedIn } from "../support/Actors.ts"
import { make, makeRoute, routeIdsIn } from "../support/Collections.ts"
import { idOf, idsIn, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { scriptOf } from "../support/Tokens.ts"

const Details = Schema.Record(Schema.String, Schema.Json)

const resultsIn = (body: unknown) =>
  Schema.decodeUnknownSync(Schema.Struct({
    results: Schema.Array(Schema.Struct({
      op: Schema.String,
      status: Schema.Int,
      etag: Schema.optionalKey(Schema.String),
      route: Schema.optionalKey(Schema.Json),
      collection: Schema.optionalKey(Schema.Json),
      error: Schema.optionalKey(Schema.Struct({
        statusCode: Schema.Int,
        code: Schema.String,
        message: Schema.String,
        details: Schema.optionalKey(Details)
      }))
    }))
  }))(body).results

const errorIn = Schema.decodeUnknownSync(Schema.Struct({ message: Schema.String, details: Details }))

const batch = (actor: Actor, operations: ReadonlyArray<object>, members: object = {}, headers = {}) =>
  actor.post("/routes/batch", { operations, ...members }, { headers })

const create = (members = {}) => ({ op: "create", route: newRoute(members) })

const namesOf = (actor: Actor) =>
  Effect.map(
    actor.get("/routes"),
    ({ body }) =>
      Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ name: Schema.String })))(body).map(({ name }) => name)
  )

layer(TestServer.layer())("a batch", (it) => {
  it.effect("may name more routes than a statement has parameters, of any id", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const own = yield* makeRoute(rider)
      const unknown = [...Array.from({ length: 999 }, (_, n) => own + 1 + n), Number.MAX_SAFE_INTEGER]
      const operation = (routeIds: ReadonlyArray<number>) => ({
        op: "createCollection",
        collection: { name: "Many", routeIds }
      })
      const operations = Array.from({ length: 100 }, (_, n) => operation(n % 2 === 0 ? unknown : [own]))
      const { body, status } = yield* batch(rider, operations)
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(
        resultsIn(body).map(({ status }) => status),
        operations.map((_, n) => n % 2 === 0 ? 404 : 201)
      )
    }))

  it.effect("does its operations in order, each with its own result, and undoes alone what fails", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const [changed, deleted] = [yield* makeRoute(rider), yield* makeRoute(rider)]
      const collection = yield* make(rider)
      const { body, status } = yield* batch(rider, [
        create({ name: "New", geometry: [[9.5, 47.1], [9.6, 47.2]] }),
        { op: "update", id: changed, ifMatch: "W/\"1-full-0\"", changes: { name: "Changed" } },
        { op: "update", id: changed, ifMatch: "W/\"1-full-0\"", changes: { name: "Stale" } },
        { op: "delete", id: deleted },
        { op: "delete", id: deleted },
        { op: "restore", id: deleted },
        { op: "addToCollection", collectionId: collection.id, routeId: changed },
        { op: "addToCollection", collectionId: collection.id, routeId: deleted, position: 0 },
        { op: "removeFromCollection", collectionId: collection.id, routeId: changed }
      ])
      assert.strictEqual(status, 200)
      const results = resultsIn(body)
      assert.deepStrictEqual(results.map(({ op, status }) => [op, status]), [
        ["create", 201],
        ["update", 200],
        ["update", 409],
        ["delete", 200],
        ["delete", 404],
        ["restore", 200],
        ["addToCollection", 200],
        ["addToCollection", 200],
        ["removeFromCollection", 200]
      ])
      assert.deepInclude(results[2]?.error?.details, { reason: "stale", etag: results[1]?.etag ?? "" })
      assert.deepInclude(results[2]?.error?.details?.["current"], { id: changed, name: "Changed" })
      assert.deepStrictEqual(routeIdsIn(results[8]?.collection), { routeIds: [deleted], routeCount: 1 })
      assert.notProperty(results[0]?.route, "geometry")
      const made = yield* rider.get(`/routes/${idOf(results[0]?.route)}`)
      assert.deepInclude(made.body, { geometry: [[9.5, 47.1], [9.6, 47.2]] })
      assert.strictEqual(made.headers.get("etag"), results[0]?.etag)
      assert.deepStrictEqual((yield* namesOf(rider)).toSorted(), ["A ride", "Changed", "New"])
    }))

  it.effect("that is atomic does all or nothing, and names the operation that failed", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const id = yield* makeRoute(rider)
      const operations = [create(), { op: "update", id, changes: { name: "Changed" } }, { op: "restore", id }]
      const refused = yield* batch(rider, operations, { atomic: true })
      assert.strictEqual(refused.status, 404)
      assert.deepInclude(errorIn(refused.body), { message: "operations.2: No such route", details: { operation: 2 } })
      assert.deepStrictEqual(yield* namesOf(rider), ["A ride"])
      assert.strictEqual((yield* batch(rider, operations.slice(0, 2), { atomic: true })).status, 200)
      assert.deepStrictEqual(yield* namesOf(rider), ["A ride", "Changed"])
    }))

  it.effect("of a token is confirmed once, with the impacts of all its operations", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const script = yield* scriptOf(rider, "write")
      const [shown, deleted] = [yield* makeRoute(rider), yield* makeRoute(rider, { visibility: "public" })]
      const operations = [
        create({ visibility: "public" }),
        create(),
        { op: "update", id: shown, changes: { visibility: "public" } },
        { op: "delete", id: deleted }
      ]
      const refused = yield* batch(script, operations)
      assert.strictEqual(refused.status, 428)
      const { impacts } = errorIn(refused.body).details
      assert.deepStrictEqual(
        Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ action: Schema.String })))(impacts).map(({ action }) =>
          action
        ),
        ["route.publish", "route.publish", "route.delete"]
      )
      const confirmed = yield* batch(script, operations, {}, { "x-service-confirm": "true" })
      assert.deepStrictEqual(resultsIn(confirmed.body).map(({ status }) => status), [201, 201, 200, 200])
      const restoring = yield* batch(script, [{ op: "restore", id: deleted }])
      assert.strictEqual(restoring.status, 428)
      assert.strictEqual((yield* batch(yield* scriptOf(rider, "read"), [create()])).status, 403)
    }))

  it.effect("with an Idempotency-Key is done once, and a repetition has the same response", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const operations = [create(), { op: "restore", id: 999_999 }]
      const send = batch(rider, operations, {}, { "idempotency-key": "one" })
      const answers = yield* Effect.all([send, send, send], { concurrency: "unbounded" })
      assert.deepStrictEqual(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size, 1)
      assert.lengthOf(yield* namesOf(rider), 1)
    }))

  it.effect("never waits for another that changes the same in another order", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const routes = yield* Effect.replicateEffect(makeRoute(rider), 4)
      const lists = yield* Effect.replicateEffect(make(rider, { routeIds: routes }), 2)
      const operations = [
        ...routes.map((id) => ({ op: "update", id, ifMatch: "*", changes: { name: "Both", description: "longer" } })),
        ...lists.map(({ id }) => ({ op: "addToCollection", collectionId: id, routeId: routes[0], position: 0 })),
        create()
      ]
      const both = [operations, operations.toReversed()]
      const answers = yield* Effect.forEach([...both, ...both, ...both], (order) =>
        batch(rider, order, { atomic: true }), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(
        answers.map(({ status }) =>
          status
        ),
        [200, 200, 200, 200, 200, 200]
      )
      assert.lengthOf(idsIn((yield* rider.get("/routes")).body), 10)
    }))

  it.effect("may name a route by its id and by what an operation returns, also in one collection", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const [id] = yield* Effect.replicateEffect(makeRoute(rider), 1)
      const { body } = yield* batch(rider, [
        { op: "update", id, changes: { name: "Both" } },
        { op: "createCollection", collection: { name: "Made", routeIds: [id, "$0"] } },
        { op: "updateCollection", collectionId: "$1", changes: { routeIds: ["$0", id] } }
      ])
      assert.deepStrictEqual(resultsIn(body).map(({ status }) => status), [200, 201, 200])
      assert.include((yield* rider.get("/collections")).text, `"routeIds":[${id}],`)
    }))

  it.effect("may be long: its lines are read in a thread", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const geometry = Array.from({ length: 3000 }, (_, index) => [9 + index / 10_000, 47.123456789])
      const [id] = yield* Effect.replicateEffect(makeRoute(rider), 1)
      const { body } = yield* batch(rider, [
        create({ geometry }),
        { op: "update", id, changes: { geometry } },
        create({ polyline6: "_mzbyA{lkgQwqC_yGo|JodI" }),
        create({ geometry: null })
      ])
      const results = resultsIn(body)
      assert.deepStrictEqual(results.map(({ status }) => status), [201, 200, 201, 201])
      const lengths = yield* Effect.forEach(results, ({ route }) =>
        Effect.map(rider.get(`/routes/${idOf(route)}`), ({ body }) =>
          Schema.decodeUnknownSync(Schema.Struct({ geometry: Schema.optionalKey(Schema.Array(Schema.Json)) }))(body)
            .geometry?.length))
      assert.deepStrictEqual(lengths, [3000, 3000, 3, undefined])
    }))

  it.effect("that is atomic is refused with all issues, whatever its length", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const padding = create({ geometry: Array.from({ length: 5000 }, () => [9.123456789, 47.1]) })
      for (const more of [[], [padding]]) {
        const wrong = yield* batch(rider, [
          { op: "create", route: { name: "", waypoints: [] } },
          { op: "update", id: 0, changes: { name: 1 } },
          ...more
        ], { atomic: true })
        assert.strictEqual(wrong.status, 400)
        const text = JSON.stringify(wrong.body)
        for (const path of ["0.route.name", "0.route.waypoints", "1.id", "1.changes.name"]) {
          assert.include(text, `"body.operations.${path}"`)
        }
        const broken = yield* batch(rider, [...more, create({ polyline6: "!" })], { atomic: true })
        assert.include(JSON.stringify(broken.body), `body.operations.${more.length}.route.polyline6`)
      }
      const unknown = yield* batch(rider, [{ op: "rename", id: 1 }], { atomic: true })
      assert.match(
        errorIn(unknown.body).message,
        /^body\.operations\.0: Expected .*`op` of "create", "update", .*Account"$/
      )
      const tooMany = yield* batch(rider, Array.from({ length: 101 }, () => create()))
      assert.deepStrictEqual([tooMany.status, (yield* batch(rider, [])).status], [400, 400])
      assert.deepStrictEqual(yield* namesOf(rider), [])
    }))

  it.effect("refuses an operation that does not match its schema alone, and does the others", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const script = yield* scriptOf(rider, "write")
      const id = yield* makeRoute(rider)
      const long = { geometry: Array.from({ length: 5000 }, () => [9.123456789, 47.1]) }
      const { body, status } = yield* batch(script, [
        create({ name: "First", ...long }),
        create({ waypoints: [{ coord: [9, 147] }] }),
        { op: "rename", id },
        { nothing: true },
        { op: "update", id, changes: { tags: ["Schöne Tour"] } },
        create({ polyline6: "!" }),
        { op: "update", id, ifMatch: "*", ifVersion: 1, changes: {} },
        { op: "update", id, changes: { name: "Last" } }
      ])
      assert.strictEqual(status, 200)
      const results = resultsIn(body)
      assert.deepStrictEqual(results.map(({ op, status }) => [op, status]), [
        ["create", 201],
        ["create", 400],
        ["rename", 400],
        ["", 400],
        ["update", 400],
        ["create", 400],
        ["update", 400],
        ["update", 200]
      ])
      assert.deepStrictEqual(
        results.flatMap(({ error }) => error === undefined ? [] : [error.message.split(":")[0]]),
        [
          "body.operations.1.route.waypoints.0.coord.1",
          "body.operations.2",
          "body.operations.3",
          "body.operations.4.changes.tags.0",
          "body.operations.5.route.polyline6",
          "body.operations.6.ifVersion"
        ]
      )
      assert.deepStrictEqual((yield* namesOf(rider)).toSorted(), ["First", "Last"])
    }))

  it.effect("makes and changes collections, also of what it makes", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const script = yield* scriptOf(rider, "write")
      const old = yield* makeRoute(rider)
      const gone = yield* make(rider)
      const operations = [
        create({ name: "New" }),
        { op: "createCollection", collection: { name: "Both", routeIds: ["$0", old] } },
        create({ name: "Later" }),
        { op: "addToCollection", collectionId: "$1", routeId: "$2", position: 0 },
        { op: "updateCollection", collectionId: "$1", changes: { name: "All", routeIds: [old, "$2"] } },
        { op: "addToCollection", collectionId: "$1", routeId: "$1" },
        { op: "addToCollection", collectionId: "$9", routeId: old },
        { op: "deleteCollection", collectionId: gone.id, ifVersion: 1 }
      ]
      const refused = yield* batch(script, operations)
      assert.strictEqual(refused.status, 428)
      assert.deepInclude(errorIn(refused.body).details["impact"], { action: "collection.delete", id: gone.id })
      const { body } = yield* batch(script, operations, {}, { "x-service-confirm": "true" })
      const results = resultsIn(body)
      assert.deepStrictEqual(results.map(({ status }) => status), [201, 201, 201, 200, 200, 404, 404, 200])
      const later = idOf(results[2]?.route)
      assert.deepInclude(results[4]?.collection, { name: "All", routeIds: [old, later] })
      const { body: collections } = yield* rider.get("/collections")
      assert.deepStrictEqual(idsIn(collections), [idOf(results[1]?.collection)])
      const publishing = yield* batch(script, [
        { op: "createCollection", collection: { name: "Shown", visibility: "public" } },
        { op: "updateCollection", collectionId: "$0", changes: { visibility: "public" } }
      ])
      assert.strictEqual(publishing.status, 428)
    }))

  it.effect("takes what an earlier operation made or changed by its index wherever it takes an id", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const script = yield* scriptOf(rider, "write")
      const old = yield* make(rider)
      const operations = [
        create({ name: "New" }),
        { op: "createCollection", collection: { name: "Made", routeIds: ["$0"] } },
        { op: "removeFromCollection", collectionId: "$1", routeId: "$0" },
        { op: "createLink", collectionId: "$1", link: {} },
        { op: "updateLink", collectionId: "$1", linkId: 999_999, changes: { label: "None" } },
        { op: "updateCollection", collectionId: old.id, changes: { name: "Changed" } },
        { op: "deleteCollection", collectionId: "$0" },
        { op: "deleteCollection", collectionId: "$5" }
      ]
      const asked = yield* batch(script, operations)
      assert.strictEqual(asked.status, 428)
      assert.deepInclude(errorIn(asked.body).details["impact"], { action: "collection.delete", resource: "collection" })
      assert.strictEqual((yield* rider.get(`/collections/${old.id}`)).status, 200)
      const { body } = yield* batch(script, operations, {}, { "x-service-confirm": "true" })
      const results = resultsIn(body)
      assert.deepStrictEqual(results.map(({ status }) => status), [201, 201, 200, 201, 404, 200, 404, 200])
      assert.deepInclude(results[2]?.collection, { name: "Made", routeIds: [] })
      assert.strictEqual((yield* rider.get(`/collections/${old.id}`)).status, 404)
    }))

  it.effect("takes the tag or the version that the feed has, and a conflict has what is there", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const id = yield* makeRoute(rider)
      const collection = yield* make(rider)
      const Changes = Schema.Struct({
        changes: Schema.Array(Schema.Struct({ type: Schema.String, version: Schema.Int, etag: Schema.String }))
      })
      const { changes } = yield* Schema.decodeUnknownEffect(Changes)((yield* rider.get("/sync")).body)
      const [route, list] = [changes.find(({ type }) => type === "route"), changes.find(({ type }) => type !== "route")]
      assert.strictEqual((yield* rider.get(`/routes/${id}`)).headers.get("etag"), route?.etag)
      assert.strictEqual((yield* rider.get(`/collections/${collection.id}`)).headers.get("etag"), list?.etag)
      const change = { op: "updateCollection", collectionId: collection.id, changes: { name: "Renamed" } }
      const { body } = yield* batch(rider, [
        { op: "update", id, ifMatch: route?.etag, changes: { name: "One" } },
        { op: "update", id, ifVersion: route?.version, changes: { name: "Two" } },
        { ...change, ifVersion: list?.version },
        { ...change, ifMatch: list?.etag }
      ])
      const results = resultsIn(body)
      assert.deepStrictEqual(results.map(({ status }) => status), [200, 409, 200, 409])
      assert.deepInclude(results[1]?.error?.details?.["current"], { id, name: "One" })
      assert.deepInclude(results[3]?.error?.details?.["current"], { id: collection.id, name: "Renamed" })
      const alone = yield* rider.patch(`/routes/${id}`, { name: "x" }, { headers: { "if-match": route?.etag ?? "" } })
      assert.deepInclude(errorIn(alone.body).details["current"], { id, name: "One" })
    }))

  it.effect("and a call make one of a clientId, however often they are repeated", () =>
    Effect.gen(function*() {
      const [rider, other] = [yield* signedIn, yield* signedIn]
      const clientId = "6f1f2c1e-3c1b-4c9e-9a53-0d8f0a5b7c11"
      const send = rider.post("/routes", newRoute({ clientId }))
      const answers = yield* Effect.all([send, send, send, send], { concurrency: "unbounded" })
      assert.deepStrictEqual(answers.map(({ status }) => status), [201, 201, 201, 201])
      const [id, ...others] = new Set(answers.map(({ body }) => idOf(body)))
      assert.deepStrictEqual(others, [])
      yield* rider.patch(`/routes/${id}`, { name: "Renamed", geometry: [[9, 47], [9.1, 47]] })
      const again = yield* batch(rider, [create({ clientId }), create({ clientId: clientId.toUpperCase() })])
      assert.deepStrictEqual(resultsIn(again.body).map(({ route }) => idOf(route)), [id, id])
      const [first, repeat] = [answers[0], yield* send]
      assert.deepStrictEqual([repeat.text, repeat.status], [first?.text, first?.status])
      for (const header of ["etag", "location"]) {
        assert.strictEqual(repeat.headers.get(header), first?.headers.get(header))
      }
      const stale = yield* rider.patch(`/routes/${id}`, {}, {
        headers: { "if-match": repeat.headers.get("etag") ?? "" }
      })
      assert.deepInclude(errorIn(stale.body).details["current"], { id, name: "Renamed" })
      const another = yield* rider.post("/routes", newRoute({ clientId, name: "Something else" }))
      assert.deepInclude(another.body, { id, name: "Renamed" })
      assert.notStrictEqual(idOf((yield* other.post("/routes", newRoute({ clientId }))).body), id)
      const list = rider.post("/collections", { name: "All", description: "Of mine", clientId })
      const made = yield* list
      yield* rider.patch(`/collections/${idOf(made.body)}`, { name: "Some", description: "Not all" })
      const listed = yield* list
      assert.deepStrictEqual([listed.text, listed.headers.get("etag")], [made.text, made.headers.get("etag")])
      yield* rider.delete(`/routes/${id}`)
      const deleted = yield* send
      assert.deepStrictEqual([deleted.status, errorIn(deleted.body).details["reason"]], [409, "client_id_used"])
      assert.deepStrictEqual(yield* namesOf(rider), [])
      assert.strictEqual((yield* rider.post("/routes", newRoute({ clientId: "mine" }))).status, 400)
    }))
})
