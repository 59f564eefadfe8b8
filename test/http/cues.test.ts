import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { anonymous, signedIn } from "../support/Actors.ts"
import { exported, imported } from "../support/Archives.ts"
import { created, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"

const cue = (begin_shape_index: number, members: object = {}) => ({
  instruction: "Turn right.",
  type: 10,
  begin_shape_index,
  length: 0.3,
  time: 42.5,
  ...members
})

const geometry = [[9.5, 47.1], [9.51, 47.1], [9.52, 47.12]]

const CUES = [cue(0), cue(2)]

layer(TestServer.layer())("cues", (it) => {
  it.effect("are stored as they are given, and shown with the whole line only", () =>
    Effect.gen(function*() {
      const owner = yield* signedIn
      const made = yield* owner.post("/routes", newRoute({ geometry, cues: CUES, visibility: "public" }))
      assert.deepInclude(made.body, { cues: CUES })
      const { id } = created(made.body)
      const visitor = yield* anonymous
      for (const form of ["full", "polyline6"]) {
        assert.deepInclude((yield* visitor.get(`/routes/${id}?geometry=${form}`)).body, { cues: CUES })
      }
      for (const form of ["simplified", "none"]) {
        assert.notProperty((yield* visitor.get(`/routes/${id}?geometry=${form}`)).body, "cues")
      }
      assert.include((yield* owner.get("/routes")).text, "Turn right.")
    }))

  it.effect("stay when other members change, and go with the line that they point into", () =>
    Effect.gen(function*() {
      const owner = yield* signedIn
      const { id } = created((yield* owner.post("/routes", newRoute({ geometry, cues: CUES }))).body)
      const path = `/routes/${id}`
      assert.deepInclude((yield* owner.patch(path, { name: "Other" })).body, { cues: CUES })
      assert.deepInclude((yield* owner.patch(path, { cues: [cue(1)] })).body, { cues: [cue(1)] })
      assert.notProperty((yield* owner.patch(path, { geometry: geometry.toReversed() })).body, "cues")
      assert.deepInclude((yield* owner.patch(path, { geometry, cues: CUES })).body, { cues: CUES })
      assert.notProperty((yield* owner.patch(path, { cues: null })).body, "cues")
      yield* owner.patch(path, { cues: CUES })
      assert.notProperty((yield* owner.patch(path, { geometry: null })).body, "cues")
      assert.notProperty((yield* owner.get(path)).body, "cues")
    }))

  it.effect("with an index outside the polyline are refused wherever a route is stored", () =>
    Effect.gen(function*() {
      const owner = yield* signedIn
      const beyond = { cues: [cue(2), cue(3)] }
      const path = `/routes/${created((yield* owner.post("/routes", newRoute({ geometry }))).body).id}`
      const message = "body.cues.1.begin_shape_index: Expected the index of a position of the geometry, 0 to 2"
      for (
        const call of [
          owner.post("/routes", newRoute({ geometry, ...beyond })),
          owner.patch(path, beyond),
          owner.patch(path, { geometry, ...beyond })
        ]
      ) assert.deepInclude((yield* call).body, { statusCode: 400, message })
      const bare = yield* owner.post("/routes", newRoute({ cues: CUES }))
      assert.deepInclude(bare.body, {
        message: "body.cues.0.begin_shape_index: Expected no cues, the route has no geometry"
      })
      const batch = yield* owner.post("/routes/batch", {
        operations: [{ op: "create", route: newRoute({ geometry, ...beyond }) }]
      })
      assert.deepInclude(batch.body, {
        results: [{ op: "create", status: 400, error: JSON.parse((yield* owner.patch(path, beyond)).text) }]
      })
      for (
        const wrong of [
          cue(0, { type: 256 }),
          cue(-1),
          cue(0, { instruction: "x".repeat(501) }),
          cue(0, { time: -1 }),
          cue(0, { length: 1e300 })
        ]
      ) {
        assert.strictEqual((yield* owner.patch(path, { cues: [wrong] })).status, 400)
      }
    }))

  it.effect("are exported and imported with the account, and counted with its bytes", () =>
    Effect.gen(function*() {
      const owner = yield* signedIn
      yield* owner.post("/routes", newRoute({ geometry, cues: CUES, name: "Exported" }))
      const { bytes } = yield* exported(owner)
      const other = yield* signedIn
      assert.strictEqual((yield* imported(other, bytes)).status, 201)
      assert.include((yield* other.get("/routes")).text, JSON.stringify(CUES))
      const usage = yield* SqlClient.SqlClient.use((sql) =>
        sql`
          SELECT u.stored_bytes = (
            SELECT sum(octet_length(concat(waypoints, geometry, simplified, polyline6, description, cues)))
            FROM routes r WHERE r.user_id = u.user_id
          ) AS "isExact" FROM route_usage u WHERE u.user_id IN (${owner.id}, ${other.id})`
      )
      assert.deepStrictEqual(usage, [{ isExact: true }, { isExact: true }])
    }))

  it.effect("are in files", () =>
    Effect.gen(function*() {
      const owner = yield* signedIn
      const path = `/routes/${created((yield* owner.post("/routes", newRoute({ geometry, cues: CUES }))).body).id}`
      for (const format of ["gpx", "tcx", "fit"]) {
        assert.include((yield* owner.get(`${path}/${format}`)).text, "Turn right.", format)
      }
      const { text } = yield* owner.get(`${path}/gpx`)
      const again = yield* owner.call("POST", "/routes/import?duplicates=allow", {
        raw: text,
        headers: { "content-type": "application/gpx+xml" }
      })
      assert.deepInclude(again.body, { cues: CUES })
    }))
})
