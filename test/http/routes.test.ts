import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Places } from "../../src/services/geometry/Places.ts"
import { type Actor, anonymous, signedIn, signedInAs } from "../support/Actors.ts"
import { created, idOf, issuePaths, newRoute, shareTokenOf } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"

const waypoints = (count: number) => Array.from({ length: count }, () => ({ coord: [1, 2] }))

layer(TestServer.layer({}, Places.layer))("a stored route", (it) => {
  it.effect("a new route has every member of the contract, and who made it", () =>
    Effect.gen(function*() {
      const rider = yield* signedInAs({ name: "Alma Rider" })
      const answer = yield* rider.post("/routes", {
        name: "  Along the Rhine  ",
        description: "Flat,\nthen not.",
        activity: "cycle",
        visibility: "unlisted",
        tags: ["  Long  Ride ", "gravel"],
        favourite: true,
        waypoints: [
          { coord: [9.5209, 47.1415], type: "routed", name: "Vaduz", timestamp: "2026-05-01T10:00:00Z" },
          { coord: [9.4, 47.2] }
        ],
        geometry: [[9.5209, 47.1415, 455.5], [9.4, 47.2]],
        distance: 12_345.6,
        duration: 3600,
        elevationGain: 210.5,
        startAddress: "Städtle 1",
        endAddress: "Buchs",
        routingPreferences: { surfacePreference: "paved", avoidFerries: true, avoidHighways: false },
        provenance: "generation",
        ignored: "not in the contract",
        id: 7,
        shareToken: "0".repeat(32),
        placeCity: "Atlantis",
        user: { id: 1 },
        createdAt: "1999-01-01T00:00:00.000Z"
      })
      assert.strictEqual(answer.status, 201)
      const id = idOf(answer.body)
      const shareToken = shareTokenOf(answer.body)
      assert.match(shareToken, /^[0-9a-f]{32}$/)
      assert.notStrictEqual(shareToken, "0".repeat(32))
      assert.strictEqual(answer.headers.get("location"), `/api/v1/routes/${id}`)
      const { body: me } = yield* rider.get("/users/me")
      const { handle, idHash } = Schema.decodeUnknownSync(
        Schema.Struct({ handle: Schema.String, idHash: Schema.String })
      )(me)
      const at = "1970-01-01T00:00:00.000Z"
      assert.deepStrictEqual(answer.body, {
        id,
        name: "Along the Rhine",
        description: "Flat,\nthen not.",
        activity: "cycle",
        visibility: "unlisted",
        tags: ["long-ride", "gravel"],
        favourite: true,
        waypoints: [
          { coord: [9.5209, 47.1415], type: "routed", name: "Vaduz", timestamp: "2026-05-01T10:00:00Z" },
          { coord: [9.4, 47.2] }
        ],
        geometry: [[9.5209, 47.1415, 455.5], [9.4, 47.2]],
        distance: 12_345.6,
        duration: 3600,
        elevationGain: 210.5,
        startAddress: "Städtle 1",
        endAddress: "Buchs",
        placeCity: "Vaduz",
        placeRegion: "Vaduz",
        placeCountryCode: "LI",
        routingPreferences: { surfacePreference: "paved", avoidFerries: true, avoidHighways: false },
        provenance: "generation",
        shareToken,
        url: `http://localhost:3000/r/${shareToken}`,
        user: { id: rider.id, name: "Alma Rider", handle, idHash },
        createdAt: at,
        updatedAt: at
      })
      assert.deepStrictEqual((yield* rider.get(`/routes/${id}`)).body, answer.body)
    }))

  it.effect("what is left out has its default, and null is the same as left out", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const waypoints = [{ coord: [9.5, 47.1], type: null, name: null, timestamp: null }]
      const least = yield* rider.post("/routes", { name: "x", waypoints: [{ coord: [9.5, 47.1] }] })
      const nulls = yield* rider.post("/routes", {
        name: "x",
        waypoints,
        description: null,
        activity: null,
        visibility: null,
        tags: null,
        favourite: null,
        geometry: null,
        distance: null,
        duration: null,
        elevationGain: null,
        startAddress: null,
        endAddress: null,
        routingPreferences: null,
        provenance: null
      })
      const expected = {
        name: "x",
        visibility: "private",
        tags: [],
        favourite: false,
        waypoints: [{ coord: [9.5, 47.1] }],
        routingPreferences: null,
        provenance: "routing-engine"
      }
      for (const { body } of [least, nulls]) {
        const { createdAt: _c, id: _i, placeCity: _p, placeCountryCode: _cc, placeRegion: _r, ...rest } = created(body)
        const { shareToken: _s, updatedAt: _u, user: _o, ...members } = rest
        assert.deepStrictEqual(members, expected)
      }
    }))

  it.effect("geometry comes back to the last digit, in the response's own bytes", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const geometry = [[0.1, 0.2], [9.12345678901234, 47.000000000000014], [-0, 1e-7, -12.000000001], [180, -90]]
      const { text } = yield* rider.post("/routes", newRoute({ geometry }))
      assert.include(
        text,
        `"geometry":[[0.1,0.2],[9.12345678901234,47.000000000000014],[0,1e-7,-12.000000001],[180,-90]]`
      )
    }))

  it.effect("has another tag for its owner where others do not see the times of its waypoints", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const waypoints = [{ coord: [9.5, 47], timestamp: "2026-01-01T10:00:00Z" }, { coord: [9.6, 47] }]
      const timed = created((yield* rider.post("/routes", newRoute({ visibility: "unlisted", waypoints }))).body)
      const tagOf = (actor: Actor, path: string) =>
        Effect.map(actor.get(path), ({ headers }) => headers.get("etag") ?? assert.fail("no tag"))
      for (const path of [`/routes/${timed.shareToken}`, `/routes/${timed.shareToken}/gpx`]) {
        const seen = yield* tagOf(visitor, path)
        assert.notStrictEqual(yield* tagOf(rider, path), seen)
        const again = yield* rider.get(path, { headers: { "if-none-match": seen } })
        assert.strictEqual(again.status, 200)
      }
    }))

  it.effect("elevation gain and duration follow from elevations and timestamps unless they are given", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const geometry = Array.from({ length: 100 }, (_, at) => [9.5, 47 + at / 1000, 400 + 5 * at])
      const waypoints = [
        { coord: [9.5, 47], timestamp: "2026-01-01T10:00:00+01:00" },
        { coord: [9.5, 47.05], timestamp: "at noon" },
        { coord: [9.5, 47.099], timestamp: "2026-01-01T11:00:00Z" }
      ]
      const derived = created((yield* rider.post("/routes", newRoute({ geometry, waypoints }))).body)
      assert.deepInclude(derived, { elevationGain: 495, duration: 7200 })
      const given = created(
        (yield* rider.post("/routes", newRoute({ geometry, waypoints, elevationGain: 5, duration: 6 }))).body
      )
      assert.deepInclude(given, { elevationGain: 5, duration: 6 })
      const flat = created((yield* rider.post("/routes", newRoute({ geometry: [[9.5, 47], [9.6, 47]] }))).body)
      assert.notProperty(flat, "elevationGain")
      assert.notProperty(flat, "duration")
      const changed = (id: number, patch: object) =>
        Effect.map(rider.patch(`/routes/${id}`, patch), ({ body }) => created(body)["elevationGain"])
      assert.strictEqual(yield* changed(flat.id, { geometry }), 495)
      assert.strictEqual(yield* changed(flat.id, { geometry: geometry.slice(0, 50) }), 245)
      assert.strictEqual(yield* changed(flat.id, { geometry, elevationGain: 7 }), 7)
      assert.strictEqual(yield* changed(flat.id, { geometry: [[9.5, 47], [9.6, 47]] }), 7)
    }))

  it.effect("distance is measured along the geometry unless it is given", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const geometry = [[0, 0], [0, 1], [1, 1]]
      const measured = created((yield* rider.post("/routes", newRoute({ geometry }))).body)
      assert.approximately(Number(measured["distance"]), 222_373, 20)
      const given = created((yield* rider.post("/routes", newRoute({ geometry, distance: 5 }))).body)
      assert.strictEqual(given["distance"], 5)
      assert.notProperty(created((yield* rider.post("/routes", newRoute({ geometry: [] }))).body), "distance")
    }))

  it.effect("a changed geometry is measured again unless the change has a distance; place, box and simplified line follow", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const before = { visibility: "public", geometry: [[9.5209, 47.1415], [9.53, 47.15]], distance: 5 }
      const after = Array.from({ length: 300 }, (_, n) => [174.76 + n / 3000, -36.85 + Math.sin(n / 20) / 100])
      const { id } = created((yield* rider.post("/routes", newRoute(before))).body)
      const { distance } = created((yield* rider.post("/routes", newRoute({ geometry: after }))).body)
      assert.isAbove(Number(distance), 10_000)
      const changed = yield* rider.patch(`/routes/${id}`, { geometry: after })
      assert.deepInclude(changed.body, { distance, placeCountryCode: "NZ" })
      const line = Schema.decodeUnknownSync(Schema.Struct({ geometry: Schema.Array(Schema.Unknown) }))
      const { geometry } = line((yield* rider.get(`/routes/${id}?geometry=simplified`)).body)
      assert.isBelow(geometry.length, after.length)
      assert.deepStrictEqual([geometry[0], geometry.at(-1)], [after[0], after.at(-1)])
      const inBox = (box: string) => rider.get(`/routes/public?gate=public&bbox=${box}`)
      assert.strictEqual((yield* inBox("174,-37,175,-36")).headers.get("x-total-count"), "1")
      assert.strictEqual((yield* inBox("9,47,10,48")).headers.get("x-total-count"), "0")

      const patch = (body: object) => Effect.map(rider.patch(`/routes/${id}`, body), ({ body }) => created(body))
      assert.strictEqual((yield* patch({ geometry: before.geometry, distance: 7 }))["distance"], 7)
      assert.strictEqual((yield* patch({ name: "renamed", waypoints: [{ coord: [1, 2] }] }))["distance"], 7)
      assert.notProperty(yield* patch({ geometry: after, distance: null }), "distance")
      assert.strictEqual((yield* patch({ geometry: after }))["distance"], distance)
      assert.notProperty(yield* patch({ geometry: null }), "distance")
      assert.strictEqual((yield* patch({ geometry: null, distance: 8 }))["distance"], 8)
    }))

  it.effect("the place is that of the geometry's first position, else of the first waypoint, also after a change", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const vaduz = [9.5209, 47.1415]
      const paris = [2.3488, 48.8534]
      const body = newRoute({ waypoints: [{ coord: vaduz }], geometry: [paris, vaduz] })
      const route = created((yield* rider.post("/routes", body)).body)
      assert.strictEqual(route["placeCity"], "Paris")
      const patched = (patch: unknown) => Effect.map(rider.patch(`/routes/${route.id}`, patch), (a) => created(a.body))
      assert.strictEqual((yield* patched({ waypoints: [{ coord: [0, 0] }] }))["placeCity"], "Paris")
      assert.strictEqual((yield* patched({ geometry: [vaduz] }))["placeCity"], "Vaduz")
      assert.notProperty(yield* patched({ geometry: null }), "placeCity")
      assert.strictEqual((yield* patched({ waypoints: [{ coord: paris }] }))["placeCity"], "Paris")
      assert.strictEqual((yield* patched({ placeCity: "Atlantis", name: "y" }))["placeCity"], "Paris")
    }))

  it.effect("tags are normalised, then counted and compared", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const tagsOf = (tags: ReadonlyArray<unknown>) => rider.post("/routes", newRoute({ tags }))
      const kept = yield* tagsOf(["Gravel", "gravel", "  Long \t Ride", "3-peaks", "a".repeat(24)])
      assert.deepStrictEqual(created(kept.body)["tags"], ["gravel", "long-ride", "3-peaks", "a".repeat(24)])
      const many = Array.from({ length: 11 }, (_, n) => `tag-${n}`)
      assert.strictEqual((yield* tagsOf(many.slice(0, 10))).status, 201)
      assert.strictEqual((yield* tagsOf([...many.slice(0, 10), "TAG-1"])).status, 201)
      assert.strictEqual((yield* tagsOf(many)).status, 400)
      for (const tag of ["-x", "é", "🚲", "", " ", "a".repeat(25), "a_b", "a\u0000", 1, null]) {
        assert.strictEqual((yield* tagsOf([tag])).status, 400, JSON.stringify(tag))
      }
    }))

  it.effect("limits are exact", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const status = (members: Readonly<Record<string, unknown>>) =>
        Effect.map(rider.post("/routes", newRoute(members)), (a) => a.status)
      const accepted = [
        { name: "🚲".repeat(255) },
        { name: ` ${"n".repeat(255)} ` },
        { description: "d".repeat(10_000) },
        { startAddress: "s".repeat(255) },
        { waypoints: waypoints(1000) },
        { waypoints: [{ coord: [180, -90], name: "w".repeat(255), type: "t".repeat(64) }] },
        { distance: 1e8, duration: 0, elevationGain: 1e6 },
        { geometry: [] },
        { geometry: [[-180, 90]] }
      ]
      for (const members of accepted) {
        assert.strictEqual(yield* status(members), 201, JSON.stringify(members).slice(0, 90))
      }
      const refused = [
        { name: "" },
        { name: "   " },
        { name: null },
        { name: 7 },
        { name: "n".repeat(256) },
        { description: "d".repeat(10_001) },
        { startAddress: "s".repeat(256) },
        { waypoints: [] },
        { waypoints: waypoints(1001) },
        { waypoints: null },
        { waypoints: [{}] },
        { waypoints: [{ coord: [180.0001, 0] }] },
        { waypoints: [{ coord: [0, -90.0001] }] },
        { waypoints: [{ coord: [0] }] },
        { waypoints: [{ coord: [0, 0, 0] }] },
        { waypoints: [{ coord: ["1", "2"] }] },
        { waypoints: [{ coord: ["NaN", "Infinity"] }] },
        { waypoints: [{ coord: [null, null] }] },
        { waypoints: [{ coord: [1, 2], name: "w".repeat(256) }] },
        { waypoints: [{ coord: [1, 2], type: "" }] },
        { distance: -1 },
        { distance: 1e308 },
        { distance: "NaN" },
        { duration: "5" },
        { elevationGain: 1e6 + 1 },
        { geometry: [[1, 2], [181, 0]] },
        { geometry: [[1, 2], ["1", "2"]] },
        { geometry: [[1, 2, 3, 4]] },
        { geometry: [[1]] },
        { geometry: [[1, 2, null]] },
        { geometry: "[[1,2]]" },
        { geometry: {} },
        { visibility: "PUBLIC" },
        { visibility: "" },
        { visibility: "hidden" },
        { provenance: "made-up" },
        { activity: "swim" },
        { favourite: "true" },
        { routingPreferences: { surfacePreference: "" } },
        { routingPreferences: { avoidFerries: 1 } },
        { routingPreferences: [] }
      ]
      for (const members of refused) {
        assert.strictEqual(yield* status(members), 400, JSON.stringify(members).slice(0, 90))
      }
    }))

  it.effect("a geometry of 100,000 positions is kept, of one more refused", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const geometry = Array.from({ length: 100_000 }, (_, n) => [n / 1000 - 50, (n % 1800) / 100, n % 900])
      const { body, status } = yield* rider.post("/routes", newRoute({ geometry }))
      assert.strictEqual(status, 201)
      assert.deepStrictEqual(created(body)["geometry"], geometry)
      const more = yield* rider.post("/routes", newRoute({ geometry: [...geometry, [1, 2]] }))
      assert.strictEqual(more.status, 400)
      assert.deepStrictEqual(issuePaths(more.body), ["body.geometry"])
    }))

  it.effect("all issues of a body are reported, each with its path", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { body, status } = yield* rider.post("/routes", {
        waypoints: [{ coord: [1, 2] }, { coord: [200, 95] }],
        geometry: [[1, 2], [1, 200]],
        tags: ["ok", "-no"],
        visibility: "hidden",
        distance: -1
      })
      assert.strictEqual(status, 400)
      assert.deepStrictEqual(issuePaths(body).toSorted(), [
        "body.distance",
        "body.geometry.1",
        "body.name",
        "body.tags.1",
        "body.visibility",
        "body.waypoints.1.coord.0",
        "body.waypoints.1.coord.1"
      ])
    }))
})
