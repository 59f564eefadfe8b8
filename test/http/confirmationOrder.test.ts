import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { signedIn } from "../support/Actors.ts"
import { idOf, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { scriptOf } from "../support/Tokens.ts"

const NOWHERE = 999_999_999

const CUE = { instruction: "Turn right.", type: 10, begin_shape_index: 7, length: 0.3, time: 42.5 }

const LINE = [[9.5, 47.1], [9.51, 47.1]]

const Results = Schema.decodeUnknownSync(
  Schema.Struct({ results: Schema.Array(Schema.Struct({ status: Schema.Finite })) })
)

const statusesIn = (body: unknown) => Results(body).results.map(({ status }) => status)

layer(TestServer.layer())("what a token must confirm", (it) => {
  it.effect("is looked up before it is asked to confirm", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const others = idOf((yield* (yield* signedIn).post("/routes", newRoute({}))).body)
      const script = yield* scriptOf(rider, "write")
      const statuses = [
        yield* script.post("/collections", { name: "x", visibility: "public", routeIds: [NOWHERE] }),
        yield* script.post("/collections", { name: "x", visibility: "public", routeIds: [others] }),
        yield* script.patch(`/collections/${NOWHERE}`, { visibility: "public" }),
        yield* script.delete(`/collections/${NOWHERE}`),
        yield* script.patch(`/routes/${NOWHERE}`, { visibility: "public" }),
        yield* script.patch(`/routes/${others}`, { visibility: "public" }),
        yield* script.delete(`/routes/${NOWHERE}`),
        yield* script.post(`/routes/${NOWHERE}/restore`)
      ]
      assert.deepStrictEqual(statuses.map(({ status }) => status), statuses.map(() => 404))
      const { status } = yield* script.post("/collections", { name: "x", visibility: "public", routeIds: [] })
      assert.strictEqual(status, 428)
      assert.strictEqual((yield* rider.get("/collections")).headers.get("x-total-count"), "0")
    }))

  it.effect("is not made by an earlier operation of a batch: its id can be guessed", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const script = yield* scriptOf(rider, "write")
      const last = idOf((yield* rider.post("/routes", newRoute({}))).body)
      const guesses = [last + 1, last + 2].flatMap((id) => [
        { op: "update", id, changes: { visibility: "public" } },
        { op: "delete", id }
      ])
      const operations = [{ op: "create", route: newRoute({}) }, ...guesses]
      const { body, status } = yield* script.post("/routes/batch", { operations })
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(statusesIn(body), [201, 404, 404, 404, 404])
    }))

  it.effect("is validated before it is asked to confirm", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const id = idOf((yield* rider.post("/routes", newRoute({}))).body)
      const script = yield* scriptOf(rider, "write")
      const wrong = { visibility: "public", geometry: LINE, cues: [CUE] }
      const attempts = [
        yield* script.post("/routes", newRoute(wrong)),
        yield* script.post("/routes", newRoute({ visibility: "public", polyline6: "?" })),
        yield* script.patch(`/routes/${id}`, wrong),
        yield* script.post("/routes/batch", {
          atomic: true,
          operations: [{ op: "create", route: newRoute({ visibility: "public", polyline6: "?" }) }]
        })
      ]
      assert.deepStrictEqual(attempts.map(({ status }) => status), [400, 400, 400, 400])
    }))

  it.effect("is asked of an atomic batch only where all that it names is there", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const script = yield* scriptOf(rider, "write")
      const id = idOf((yield* rider.post("/routes", newRoute({}))).body)
      const collection = idOf((yield* rider.post("/collections", { name: "All" })).body)
      const publish = { op: "update", id, changes: { visibility: "public" } }
      const absent = [
        { op: "update", id: NOWHERE, changes: { name: "x" } },
        { op: "delete", id: NOWHERE },
        { op: "restore", id },
        { op: "addToCollection", collectionId: NOWHERE, routeId: id },
        { op: "addToCollection", collectionId: collection, routeId: NOWHERE },
        { op: "removeFromCollection", collectionId: NOWHERE, routeId: id }
      ]
      for (const operation of absent) {
        const answer = yield* script.post("/routes/batch", { atomic: true, operations: [publish, operation] })
        assert.strictEqual(answer.status, 404, JSON.stringify(operation))
        assert.deepNestedInclude(answer.body, { "details.operation": 1 })
        const each = yield* script.post("/routes/batch", { operations: [publish, operation] })
        assert.strictEqual(each.status, 428, JSON.stringify(operation))
      }
    }))

  it.effect("is asked for a route that the same batch takes out of the trash first", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const script = yield* scriptOf(rider, "write")
      const id = idOf((yield* rider.post("/routes", newRoute({}))).body)
      yield* rider.delete(`/routes/${id}`)
      const operations = [{ op: "restore", id }, { op: "update", id, changes: { visibility: "public" } }]
      for (const atomic of [false, true]) {
        assert.strictEqual((yield* script.post("/routes/batch", { atomic, operations })).status, 428)
      }
      assert.strictEqual((yield* rider.get(`/routes/${id}`)).status, 404)
      const confirmed = yield* script.post("/routes/batch", { operations }, {
        headers: { "x-service-confirm": "true" }
      })
      assert.strictEqual(confirmed.status, 200)
      assert.deepInclude((yield* rider.get(`/routes/${id}`)).body, { visibility: "public" })
    }))
})
