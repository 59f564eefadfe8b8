import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Places } from "../../src/services/places/Places.ts"
import { anonymous, signedIn, signedInAs } from "../support/Actors.ts"
import { created, idOf, newRoute, shareTokenOf } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"

const NOT_FOUND = { statusCode: 404, code: "NOT_FOUND", message: "No such route" }

const issuePaths = (body: unknown) =>
  Schema.decodeUnknownSync(
    Schema.Struct({ details: Schema.Struct({ issues: Schema.Array(Schema.Struct({ path: Schema.String })) }) })
  )(body).details.issues.map(({ path }) => path)

const waypoints = (count: number) => Array.from({ length: count }, () => ({ coord: [1, 2] }))

const pageAt = (offset: number, relation: string) => `</api/v1/routes?limit=2&offset=${offset}>; rel="${relation}"`

layer(TestServer.layer({}, Places.layer))("routes", (it) => {
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

  it.effect("geometry comes back to the last digit, from the answer's own bytes", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const geometry = [[0.1, 0.2], [9.12345678901234, 47.000000000000014], [-0, 1e-7, -12.000000001], [180, -90]]
      const { text } = yield* rider.post("/routes", newRoute({ geometry }))
      assert.include(
        text,
        `"geometry":[[0.1,0.2],[9.12345678901234,47.000000000000014],[0,1e-7,-12.000000001],[180,-90]]`
      )
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

  it.effect("tags are normalised, counted after that, and told apart by what they say", () =>
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

  it.effect("limits hold exactly", () =>
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
      assert.deepStrictEqual(issuePaths(more.body), ["geometry"])
    }))

  it.effect("all issues of a body are told, each with its path", () =>
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
        "distance",
        "geometry.1",
        "name",
        "tags.1",
        "visibility",
        "waypoints.1.coord.0",
        "waypoints.1.coord.1"
      ])
    }))

  it.effect("only those see a route whom its visibility lets, and to all others it does not exist", () =>
    Effect.gen(function*() {
      const owner = yield* signedIn
      const stranger = yield* signedIn
      const nobody = yield* anonymous
      const expected = [
        { visibility: "private", byId: 404, byToken: 404 },
        { visibility: "unlisted", byId: 404, byToken: 200 },
        { visibility: "public", byId: 200, byToken: 200 }
      ]
      for (const { byId, byToken, visibility } of expected) {
        const route = created((yield* owner.post("/routes", newRoute({ visibility, favourite: true }))).body)
        const token = shareTokenOf(route)
        for (const ref of [route.id, token, token.toUpperCase()]) {
          assert.deepStrictEqual((yield* owner.get(`/routes/${ref}`)).body, route)
        }
        for (const viewer of [stranger, nobody]) {
          const refs = [[String(route.id), byId], [token, byToken], [token.toUpperCase(), byToken]] as const
          for (const [ref, status] of refs) {
            const answer = yield* viewer.get(`/routes/${ref}`)
            assert.strictEqual(answer.status, status, `${visibility} ${ref}`)
            assert.deepStrictEqual(answer.body, status === 200 ? { ...route, favourite: false } : NOT_FOUND)
          }
        }
        assert.deepStrictEqual((yield* stranger.patch(`/routes/${route.id}`, { name: "mine now" })).body, NOT_FOUND)
        assert.deepStrictEqual((yield* stranger.delete(`/routes/${route.id}`)).body, NOT_FOUND)
        assert.strictEqual((yield* nobody.patch(`/routes/${route.id}`, { name: "mine now" })).status, 401)
        assert.strictEqual((yield* nobody.delete(`/routes/${route.id}`)).status, 401)
      }
    }))

  it.effect("one does not learn whether a route exists: private, deleted and never made are answered alike", () =>
    Effect.gen(function*() {
      const owner = yield* signedIn
      const nobody = yield* anonymous
      const hidden = created((yield* owner.post("/routes", newRoute({}))).body)
      const deleted = created((yield* owner.post("/routes", newRoute({ visibility: "public" }))).body)
      assert.deepStrictEqual((yield* owner.delete(`/routes/${deleted.id}`)).body, { success: true })
      const refs = [hidden.id, deleted.id, shareTokenOf(hidden), shareTokenOf(deleted), 999_999_999, "f".repeat(32)]
      const answers = yield* Effect.forEach(refs, (ref) => nobody.get(`/routes/${ref}`))
      const seen = answers.map(({ headers, status, text }) => {
        const { date: _, ...rest } = Object.fromEntries(headers)
        return { status, text, headers: rest }
      })
      for (const answer of seen) assert.deepStrictEqual(answer, seen[0])
      assert.strictEqual(seen[0]?.status, 404)
    }))

  it.effect("what is neither an id nor a share token names nothing", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const refs = [
        "0",
        "-1",
        "1.5",
        "1e3",
        "0x10",
        "%201",
        "+1",
        "01",
        "NaN",
        "Infinity",
        "abc",
        "%00",
        "１２",
        "2147483648",
        "9007199254740993",
        "9223372036854775808",
        "1".repeat(40),
        "f".repeat(31),
        "f".repeat(33),
        "g".repeat(32),
        "%2e%2e",
        "a%2fb",
        "'%20OR%201=1"
      ]
      for (const ref of refs) {
        for (const method of ["get", "delete"] as const) {
          const answer = yield* rider[method](`/routes/${ref}`)
          assert.strictEqual(answer.status, 404, `${method} ${ref}`)
          assert.deepInclude(answer.body, { statusCode: 404, code: "NOT_FOUND" })
        }
        assert.strictEqual((yield* rider.patch(`/routes/${ref}`, { name: "x" })).status, 404, `patch ${ref}`)
      }
    }))

  it.effect("32 decimal digits are a share token, not a number", () =>
    Effect.gen(function*() {
      const nobody = yield* anonymous
      assert.deepStrictEqual((yield* nobody.get(`/routes/${"1".repeat(32)}`)).body, NOT_FOUND)
    }))

  it.effect("PATCH changes what it names; null clears what is optional and nothing else", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const full = newRoute({
        waypoints: [{ coord: [1, 2] }],
        description: "d",
        activity: "run",
        tags: ["a"],
        favourite: true,
        geometry: [[1, 2], [1, 3]],
        distance: 10,
        duration: 20,
        elevationGain: 30,
        startAddress: "s",
        endAddress: "e",
        routingPreferences: { surfacePreference: "any" }
      })
      const route = created((yield* rider.post("/routes", full)).body)
      yield* TestClock.adjust("1 minute")
      const renamed = created((yield* rider.patch(`/routes/${route.id}`, { name: "renamed" })).body)
      assert.isAbove(Date.parse(String(renamed["updatedAt"])), Date.parse(String(route["updatedAt"])))
      assert.deepStrictEqual<unknown>(renamed, { ...route, name: "renamed", updatedAt: renamed["updatedAt"] })

      const echoed = created((yield* rider.patch(`/routes/${route.id}`, renamed)).body)
      assert.deepStrictEqual(echoed, renamed)

      const nulls = Object.fromEntries(
        Object.keys(full).filter((key) => key !== "name" && key !== "waypoints").map((key) => [key, null])
      )
      const cleared = created((yield* rider.patch(`/routes/${route.id}`, nulls)).body)
      const optional = new Set([...Object.keys(nulls), "provenance", "visibility"])
      const kept = Object.fromEntries(Object.entries(renamed).filter(([key]) => !optional.has(key)))
      const { provenance, visibility } = renamed
      const defaults = { tags: [], favourite: false, routingPreferences: null, provenance, visibility }
      assert.deepStrictEqual<unknown>(cleared, { ...kept, ...defaults })
      for (const key of ["name", "waypoints", "visibility", "provenance"]) {
        const answer = yield* rider.patch(`/routes/${route.id}`, { [key]: null })
        assert.strictEqual(answer.status, 400, key)
      }
      assert.deepStrictEqual((yield* rider.get(`/routes/${route.id}`)).body, cleared)
    }))

  it.effect("a refused PATCH changes nothing, and a bad body does not tell whether a route exists", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const stranger = yield* signedIn
      const route = created((yield* rider.post("/routes", newRoute({}))).body)
      assert.strictEqual((yield* rider.patch(`/routes/${route.id}`, { name: "new", distance: -1 })).status, 400)
      assert.deepStrictEqual((yield* rider.get(`/routes/${route.id}`)).body, route)
      assert.strictEqual((yield* stranger.patch(`/routes/${route.id}`, { distance: -1 })).status, 400)
      assert.strictEqual((yield* stranger.patch("/routes/999999999", { distance: -1 })).status, 400)
    }))

  it.effect("changes of different members at once are all kept", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      for (let round = 0; round < 10; round++) {
        const { id } = created((yield* rider.post("/routes", newRoute({}))).body)
        const patches = [{ name: "n" }, { description: "d" }, { distance: 7 }, { tags: ["t"] }, { favourite: true }]
        yield* Effect.forEach(patches, (patch) => rider.patch(`/routes/${id}`, patch), { concurrency: "unbounded" })
        const route = created((yield* rider.get(`/routes/${id}`)).body)
        assert.deepInclude(route, { name: "n", description: "d", distance: 7, favourite: true })
      }
    }))

  it.effect("of many deletions at once one succeeds, and no change brings the route back", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      for (let round = 0; round < 10; round++) {
        const { id } = created((yield* rider.post("/routes", newRoute({ visibility: "public" }))).body)
        const calls = Array.from(
          { length: 32 },
          (_, n) => n % 2 === 0 ? rider.delete(`/routes/${id}`) : rider.patch(`/routes/${id}`, { name: `n${n}` })
        )
        const answers = yield* Effect.all(calls, { concurrency: "unbounded" })
        const deletions = answers.filter((_, n) => n % 2 === 0).map(({ status }) => status)
        assert.strictEqual(deletions.filter((status) => status === 200).length, 1)
        assert.isTrue(answers.every(({ status }) => status === 200 || status === 404))
        assert.strictEqual((yield* rider.get(`/routes/${id}`)).status, 404)
      }
    }))

  it.effect("text comes back as it was sent, whatever it looks like", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const texts = [
        "<script>alert(1)</script>",
        "'; DROP TABLE routes; --",
        "${7*7} {{7*7}} %s %n",
        "\\\" \\u0041 \\",
        "Ω≈ç√∫",
        "田中さん",
        "\u202Eabc",
        "Z͑ͫ̓ͪ̂",
        "👩‍👩‍👧‍👦🏳️‍🌈",
        "null",
        "undefined",
        "NaN",
        "true",
        "1e309",
        "../../etc/passwd",
        "__proto__",
        "a\u0001b\u007f",
        "x\u2028\u2029x",
        "line\r\nbreak",
        "\ufeffx"
      ]
      for (const text of texts) {
        const members = { name: `x${text}x`, description: text, startAddress: text }
        const route = created((yield* rider.post("/routes", newRoute(members))).body)
        const stored = created((yield* rider.get(`/routes/${route.id}`)).body)
        assert.deepInclude(stored, {
          name: `x${text}x`,
          description: text.trim(),
          startAddress: text.trim()
        })
      }
      for (const text of ["a\u0000b", "\ud800", "\udc00x"]) {
        assert.strictEqual((yield* rider.post("/routes", newRoute({ name: text }))).status, 400)
        assert.strictEqual(
          (yield* rider.post("/routes", newRoute({ waypoints: [{ coord: [1, 2], name: text }] }))).status,
          400
        )
      }
    }))

  it.effect("keys that JavaScript gives a meaning to are nothing but unknown members", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const raw = `{"name":"x","waypoints":[{"coord":[1,2]}],"__proto__":{"polluted":true},`
        + `"constructor":{"prototype":{"polluted":true}},"toString":1,"hasOwnProperty":1}`
      const answer = yield* rider.post("/routes", undefined, { raw, headers: { "content-type": "application/json" } })
      assert.strictEqual(answer.status, 201)
      assert.notInclude(answer.text, "polluted")
      assert.notProperty({}, "polluted")
    }))
})

layer(TestServer.layer())("lists of routes", (it) => {
  it.effect("the owner's routes, newest first, those of one instant by id", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const other = yield* signedIn
      yield* other.post("/routes", newRoute({ visibility: "public" }))
      const ids: Array<number> = []
      for (const visibility of ["private", "unlisted", "public", "private", "private"]) {
        ids.unshift(created((yield* rider.post("/routes", newRoute({ visibility }))).body).id)
        if (visibility === "unlisted") yield* TestClock.adjust("1 second")
      }
      const all = yield* rider.get("/routes")
      assert.deepStrictEqual(idsIn(all.body), ids)
      assert.strictEqual(all.headers.get("x-total-count"), "5")
      yield* rider.delete(`/routes/${ids[0]}`)
      const left = yield* rider.get("/routes")
      assert.deepStrictEqual(idsIn(left.body), ids.slice(1))
      assert.strictEqual(left.headers.get("x-total-count"), "4")
    }))

  it.effect("pages have their total and links to the others", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      for (let n = 0; n < 5; n++) yield* rider.post("/routes", newRoute({ name: `r${n}` }))
      const page = yield* rider.get("/routes?limit=2&offset=2")
      assert.strictEqual(idsIn(page.body).length, 2)
      assert.strictEqual(page.headers.get("x-total-count"), "5")
      assert.strictEqual(
        page.headers.get("link"),
        [pageAt(0, "first"), pageAt(0, "prev"), pageAt(4, "next"), pageAt(4, "last")].join(", ")
      )
      const first = yield* rider.get("/routes?limit=2&offset=0")
      assert.strictEqual(
        first.headers.get("link"),
        [pageAt(0, "first"), pageAt(2, "next"), pageAt(4, "last")].join(", ")
      )
      const beyond = yield* rider.get("/routes?limit=2&offset=100")
      assert.deepStrictEqual(beyond.body, [])
      assert.strictEqual(beyond.headers.get("x-total-count"), "5")
      const nobodys = yield* (yield* signedIn).get("/routes")
      assert.deepStrictEqual(nobodys.body, [])
      assert.strictEqual(nobodys.headers.get("x-total-count"), "0")
    }))

  it.effect("queries are plain decimals within their bounds, given once", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      for (const query of ["limit=1", "limit=200", "offset=0", "offset=9007199254740991"]) {
        assert.strictEqual((yield* rider.get(`/routes?${query}`)).status, 200, query)
      }
      const refused = [
        "limit=0",
        "limit=201",
        "limit=-1",
        "limit=",
        "limit=1e2",
        "limit=%2B5",
        "limit=5.0",
        "limit=05",
        "limit=NaN",
        "limit=5&limit=6",
        "limit=%201",
        "offset=-1",
        "offset=9007199254740992",
        "offset=9223372036854775808",
        "offset="
      ]
      for (const query of refused) {
        const answer = yield* rider.get(`/routes?${query}`)
        assert.strictEqual(answer.status, 400, query)
        assert.deepStrictEqual(issuePaths(answer.body).map((path) => path.split(".")[0]), [query.split("=")[0]])
      }
    }))

  it.effect("statistics follow: live routes and their metres", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const statistics = Effect.map(rider.get("/users/me"), ({ body }) => statisticsIn(body))
      assert.deepStrictEqual(yield* statistics, { totalRoutes: 0, totalDistance: 0 })
      const first = created((yield* rider.post("/routes", newRoute({ distance: 1000.5 }))).body)
      const second = created((yield* rider.post("/routes", newRoute({ distance: 500 }))).body)
      yield* rider.post("/routes", newRoute({}))
      assert.deepStrictEqual(yield* statistics, { totalRoutes: 3, totalDistance: 1500.5 })
      yield* rider.patch(`/routes/${first.id}`, { distance: 2000 })
      yield* rider.delete(`/routes/${second.id}`)
      assert.deepStrictEqual(yield* statistics, { totalRoutes: 2, totalDistance: 2000 })
    }))

  it.effect("nobody lists, makes or changes routes without signing in", () =>
    Effect.gen(function*() {
      const nobody = yield* anonymous
      const answers = yield* Effect.all([
        nobody.get("/routes"),
        nobody.post("/routes", newRoute({})),
        nobody.patch("/routes/1", {}),
        nobody.delete("/routes/1")
      ])
      for (const { body, headers, status } of answers) {
        assert.strictEqual(status, 401)
        assert.deepStrictEqual(body, { statusCode: 401, code: "UNAUTHORIZED", message: "Sign in first" })
        assert.match(headers.get("www-authenticate") ?? "", /^Bearer/)
      }
    }))
})

const idsIn = (body: unknown) =>
  Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ id: Schema.Int })))(body).map(({ id }) => id)

const statisticsIn = (body: unknown) =>
  Schema.decodeUnknownSync(Schema.Struct({ statistics: Schema.Record(Schema.String, Schema.Finite) }))(body).statistics
