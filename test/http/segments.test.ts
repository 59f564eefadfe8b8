import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { anonymous, type Rider, signedIn } from "../support/Actors.ts"
import { exported, imported } from "../support/Archives.ts"
import { created, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"

/** Each of the two parts is 1,112 m long and climbs 20 m, with a gap of 110 km between them. */
const geometry = [[9.5, 47, 400], [9.5, 47.01, 420], [9.5, 48, 900], [9.5, 48.01, 920]]

const segments = [0, 2]

const METRES = 2 * 1111.95

const WITH_GAP = { geometry, segments }

const Measured = Schema.Struct({ distance: Schema.Finite, elevationGain: Schema.optionalKey(Schema.Finite) })

const measuresOf = Schema.decodeUnknownSync(Measured)

const GAP = "110"

const idOf = (rider: Rider, members: object = {}) =>
  Effect.map(rider.post("/routes", newRoute({ ...WITH_GAP, ...members })), ({ body }) => created(body).id)

layer(TestServer.layer())("segments", (it) => {
  it.effect("are stored with the line, and shown by the index into the form that is asked for", () =>
    Effect.gen(function*() {
      const owner = yield* signedIn
      const made = yield* owner.post("/routes", newRoute({ ...WITH_GAP, visibility: "public" }))
      assert.deepInclude(made.body, { segments })
      const { id } = created(made.body)
      const visitor = yield* anonymous
      for (const form of ["full", "polyline6", "simplified"]) {
        assert.deepInclude((yield* visitor.get(`/routes/${id}?geometry=${form}`)).body, { segments }, form)
      }
      assert.notProperty((yield* visitor.get(`/routes/${id}?geometry=none`)).body, "segments")
      assert.include((yield* owner.get("/routes")).text, "\"segments\":[0,2]")
      assert.include((yield* owner.get("/sync?geometry=full")).text, "\"segments\":[0,2]")

      const long = Array.from({ length: 1500 }, (_, index) => [9 + index / 1000, 47 + (index % 7) / 1000])
      const simplified = (yield* owner.get(
        `/routes/${yield* idOf(owner, { geometry: long, segments: [0, 500, 1400] })}?geometry=simplified`
      )).body
      const { geometry: shown, segments: starts } = Schema.decodeUnknownSync(Schema.Struct({
        geometry: Schema.Array(Schema.Unknown),
        segments: Schema.Array(Schema.Int)
      }))(simplified)
      assert.isAtMost(shown.length, 200)
      assert.deepStrictEqual(starts.map((start) => shown[start]), [long[0], long[500], long[1400]])
      assert.deepStrictEqual(starts.slice(1).map((start) => shown[start - 1]), [long[499], long[1399]])
    }))

  it.effect("have no gap in what is measured: distance, climb, profile", () =>
    Effect.gen(function*() {
      const owner = yield* signedIn
      const made = yield* owner.post("/routes", newRoute(WITH_GAP))
      const { distance, elevationGain } = measuresOf(made.body)
      assert.closeTo(distance, METRES, 1)
      assert.strictEqual(elevationGain, 40)
      const { id } = created(made.body)
      const { distance: along, points } = Schema.decodeUnknownSync(Schema.Struct({
        distance: Schema.Finite,
        points: Schema.Array(Schema.Struct({ distance: Schema.Finite, height: Schema.Finite }))
      }))((yield* owner.get(`/routes/${id}/profile`)).body)
      assert.closeTo(along, METRES, 1)
      assert.deepStrictEqual(points.map(({ height }) => height), [400, 420, 900, 920])
      const sampled = (yield* owner.get(`/routes/${id}/profile?points=3`)).body
      assert.closeTo(measuresOf(sampled).distance, METRES, 1)
      const picture = (yield* owner.get(`/routes/${id}/picture.svg?profile=true`)).text
      assert.notInclude(picture, GAP)
      const paths = [...picture.matchAll(/ d="(M[^"]*)"[^>]*stroke-linejoin/g)].map(([, path = ""]) => path)
      assert.isAbove(paths.length, 1)
      for (const path of paths) assert.strictEqual(path.split("M").length, 3, path)
    }))

  it.effect("none are no gap, and so is 0 alone", () =>
    Effect.gen(function*() {
      const owner = yield* signedIn
      for (const none of [undefined, null, [], [0]]) {
        const made = yield* owner.post("/routes", newRoute({ geometry, segments: none }))
        assert.strictEqual(made.status, 201)
        assert.notProperty(made.body, "segments")
        assert.isAbove(measuresOf(made.body).distance, 100_000)
      }
    }))

  it.effect("go with the line that they part, and stay with a line that is sent again", () =>
    Effect.gen(function*() {
      const owner = yield* signedIn
      const path = `/routes/${yield* idOf(owner)}`
      assert.deepInclude((yield* owner.patch(path, { name: "Other" })).body, { segments })
      const same = (yield* owner.patch(path, { geometry })).body
      assert.deepInclude(same, { segments })
      assert.closeTo(measuresOf(same).distance, METRES, 1)
      const joined = (yield* owner.patch(path, { geometry, segments: [0] })).body
      assert.notProperty(joined, "segments")
      assert.isAbove(measuresOf(joined).distance, 100_000)
      const parted = (yield* owner.patch(path, WITH_GAP)).body
      assert.deepInclude(parted, { segments })
      assert.closeTo(measuresOf(parted).distance, METRES, 1)
      assert.notProperty((yield* owner.patch(path, { geometry: geometry.toReversed() })).body, "segments")
      assert.notProperty((yield* owner.get(`${path}?geometry=simplified`)).body, "segments")
      yield* owner.patch(path, WITH_GAP)
      assert.notProperty((yield* owner.patch(path, { geometry: null })).body, "segments")
      yield* owner.patch(path, WITH_GAP)
      assert.notProperty((yield* owner.patch(path, { polyline6: "_izlhA~rlgdF_{geC~ywl@" })).body, "segments")
    }))

  it.effect("that are no parts of a line are refused wherever a route is stored", () =>
    Effect.gen(function*() {
      const owner = yield* signedIn
      const path = `/routes/${yield* idOf(owner)}`
      const position = "Expected the index of a position of the line"
      const order = "Expected 0 first, and each index greater than the one before"
      const cases: ReadonlyArray<readonly [segments: unknown, at: string, why?: string]> = [
        [[0, 4], "segments.1", position],
        [[0, 2, 9], "segments.2", position],
        [[1], "segments.0", order],
        [[0, 2, 2], "segments.2", order],
        [[0, 3, 2], "segments.2", order],
        [[0, -1], "segments.1"],
        [[0, 1.5], "segments.1"],
        [[0, "2"], "segments.1"],
        ["0,2", "segments"],
        [Array.from({ length: 1001 }, (_, index) => index), "segments"]
      ]
      for (const [wrong, at, why = ""] of cases) {
        for (const line of [{ geometry }, { polyline6: "_izlhA~rlgdF_{geC~ywl@????" }]) {
          for (
            const call of [
              owner.post("/routes", newRoute({ ...line, segments: wrong })),
              owner.patch(path, { ...line, segments: wrong })
            ]
          ) {
            const { status, text } = yield* call
            assert.strictEqual(status, 400, `${JSON.stringify(wrong)} ${text}`)
            assert.include(text, `"path":"body.${at}"`)
            assert.include(text, why)
          }
        }
      }
      const alone = yield* owner.patch(path, { segments: [0, 1] })
      assert.strictEqual(alone.status, 400)
      assert.include(alone.text, "segments: Expected geometry or polyline6 beside it")
      assert.include((yield* owner.post("/routes", newRoute({ segments }))).text, position)
      const batch = yield* owner.post("/routes/batch", {
        operations: [
          { op: "create", route: newRoute({ geometry, segments: [0, 4] }) },
          { op: "create", route: newRoute(WITH_GAP) }
        ]
      })
      const { results } = Schema.decodeUnknownSync(Schema.Struct({
        results: Schema.Array(Schema.Struct({ status: Schema.Int }))
      }))(batch.body)
      assert.deepStrictEqual(results.map(({ status }) => status), [400, 201])
      assert.include(batch.text, "segments.1")
      assert.deepInclude((yield* owner.get(path)).body, { segments })
    }))

  it.effect("survive the export and the import of an account, in both of its formats", () =>
    Effect.gen(function*() {
      const [owner, other] = [yield* signedIn, yield* signedIn]
      yield* idOf(owner)
      const { bytes } = yield* exported(owner)
      assert.strictEqual((yield* imported(other, bytes)).status, 201)
      const { text } = yield* other.get("/routes")
      assert.include(text, "\"segments\":[0,2]")
      assert.closeTo(measuresOf(JSON.parse(text)[0]).distance, METRES, 1)
    }))

  it.effect("give the same distance in every format that is exported and imported again", () =>
    Effect.gen(function*() {
      const owner = yield* signedIn
      const made = yield* owner.post("/routes", newRoute(WITH_GAP))
      const { id } = created(made.body)
      for (const format of ["gpx", "geojson", "tcx", "kml"]) {
        const file = yield* owner.get(`/routes/${id}/${format}`)
        const again = yield* owner.post("/routes/import?duplicates=allow", undefined, {
          raw: file.text,
          headers: { "content-type": "application/octet-stream" }
        })
        assert.deepInclude(again.body, { geometry, segments, warnings: [] }, format)
        assert.deepStrictEqual(measuresOf(again.body), measuresOf(made.body), format)
      }
    }))
})
