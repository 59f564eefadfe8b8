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
      assert.deepInclude(results[2]?.error, {
        code: "CONFLICT",
        details: { reason: "stale", etag: results[1]?.etag ?? "" }
      })
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

  it.effect("is refused with all issues, whatever its length", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const padding = create({ geometry: Array.from({ length: 5000 }, () => [9.123456789, 47.1]) })
      for (const more of [[], [padding]]) {
        const wrong = yield* batch(rider, [
          { op: "create", route: { name: "", waypoints: [] } },
          { op: "update", id: 0, changes: { name: 1 } },
          ...more
        ])
        assert.strictEqual(wrong.status, 400)
        const text = JSON.stringify(wrong.body)
        for (const path of ["0.route.name", "0.route.waypoints", "1.id", "1.changes.name"]) {
          assert.include(text, `"body.operations.${path}"`)
        }
        const broken = yield* batch(rider, [...more, create({ polyline6: "!" })])
        assert.include(JSON.stringify(broken.body), `body.operations.${more.length}.route.polyline6`)
      }
      const unknown = yield* batch(rider, [{ op: "rename", id: 1 }])
      assert.match(
        errorIn(unknown.body).message,
        /^body\.operations\.0: Expected .*`op` of "create", "update", .*Collection"$/
      )
      const tooMany = yield* batch(rider, Array.from({ length: 101 }, () => create()))
      assert.deepStrictEqual([tooMany.status, (yield* batch(rider, [])).status], [400, 400])
      assert.deepStrictEqual(yield* namesOf(rider), [])
    }))
})
