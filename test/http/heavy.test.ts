import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { type Rider, signedIn } from "../support/Actors.ts"
import { newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"

const COUNT = 100_000
const listed = (count: number, at: (index: number) => string) => Array.from({ length: count }, (_, index) => at(index))

const zigzag = (count: number) =>
  `[${listed(count, (index) => `[${(9 + index / COUNT).toFixed(7)},${47 + index % 2}]`).join()}]`

/** Puts the body of a new route around the text of a geometry. */
const bodyOf = (geometry: string, changes = {}) =>
  JSON.stringify(newRoute({ ...changes, geometry: null })).replace("\"geometry\":null", () => `"geometry":${geometry}`)

const sent = (rider: Rider, raw: string) =>
  rider.post("/routes", undefined, { raw, headers: { "content-type": "application/json" } })

const ShortRoute = Schema.Struct({ id: Schema.Int, geometry: Schema.Array(Schema.Array(Schema.Finite)) })

layer(TestServer.layer())("a request of much work", (it) => {
  for (const count of [5000, COUNT]) {
    it.effect(
      `that stores a zigzag of ${count} positions is 201, and can be read simplified`,
      () =>
        Effect.gen(function*() {
          const rider = yield* signedIn
          const raw = bodyOf(zigzag(count))
          const answer = yield* sent(rider, raw)
          assert.strictEqual(answer.status, 201)
          const { geometry, id } = Schema.decodeUnknownSync(ShortRoute)(answer.body)
          assert.deepStrictEqual<unknown>(geometry, JSON.parse(zigzag(count)))
          const read = yield* rider.get(`/routes/${id}?geometry=simplified`)
          assert.isAtMost(Schema.decodeUnknownSync(ShortRoute)(read.body).geometry.length, 200)
        })
    )
  }

  it.effect("that is broken has the same reasons as a short one", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const long = zigzag(5000).slice(1, -1)
      const bodies = [
        [bodyOf(`[${long},[200,0]]`), "geometry.5000"],
        [bodyOf(`[${long}]`, { name: "" }), "name"],
        [bodyOf(`[${long}],"distance":1e999`), "distance"],
        [bodyOf(`[${long}]`, { waypoints: [] }), "waypoints"]
      ] as const
      for (const [raw, path] of bodies) {
        const answer = yield* sent(rider, raw)
        assert.strictEqual(answer.status, 400, path)
        assert.include(answer.text, `"path":"body.${path}"`)
      }
      assert.strictEqual((yield* sent(rider, bodyOf(`[${long}`))).status, 400)
      const broken = new TextEncoder().encode(bodyOf(`[${long}]`))
      broken[20] = 0xff
      const answer = yield* rider.post("/routes", undefined, {
        raw: broken,
        headers: { "content-type": "application/json" }
      })
      assert.strictEqual(answer.status, 400)
    }))

  it.effect("that changes a long line changes its length, place and box with it", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const stored = yield* sent(rider, bodyOf("[[1,2],[3,4]]"))
      const { id } = Schema.decodeUnknownSync(ShortRoute)(stored.body)
      const answer = yield* rider.patch(`/routes/${id}`, undefined, {
        raw: `{"geometry":${zigzag(5000)},"name":"Longer"}`,
        headers: { "content-type": "application/json" }
      })
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(Schema.decodeUnknownSync(ShortRoute)(answer.body).geometry.length, 5000)
      assert.deepInclude(answer.body, { name: "Longer" })
    }))
})
