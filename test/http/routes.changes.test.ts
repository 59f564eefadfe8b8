import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { anonymous, signedIn } from "../support/Actors.ts"
import { created, newRoute, shareTokenOf } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { served } from "../support/Waiting.ts"

const NOT_FOUND = { statusCode: 404, code: "NOT_FOUND", message: "No such route" }

layer(TestServer.layer())("reads and changes of a route", (it) => {
  it.effect("a route is visible by its visibility; to all others it does not exist", () =>
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

  it.effect("private, deleted and unknown routes have the same response", () =>
    Effect.gen(function*() {
      const owner = yield* signedIn
      const nobody = yield* anonymous
      const hidden = created((yield* owner.post("/routes", newRoute({}))).body)
      const deleted = created((yield* owner.post("/routes", newRoute({ visibility: "public" }))).body)
      assert.deepStrictEqual((yield* owner.delete(`/routes/${deleted.id}`)).body, { success: true })
      const refs = [hidden.id, deleted.id, shareTokenOf(hidden), shareTokenOf(deleted), 999_999_999, "f".repeat(32)]
      const answers = yield* Effect.forEach(refs, (ref) => nobody.get(`/routes/${ref}`))
      const seen = answers.map(({ headers, status, text }) => {
        const { date: _, "x-request-id": _id, ...rest } = Object.fromEntries(headers)
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

  it.effect("a refused PATCH changes nothing, and a bad body does not reveal whether a route exists", () =>
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
        yield* Effect.forEach(patches, (patch) => served(rider.patch(`/routes/${id}`, patch)), {
          concurrency: "unbounded"
        })
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
          (_, n) =>
            served(n % 2 === 0 ? rider.delete(`/routes/${id}`) : rider.patch(`/routes/${id}`, { name: `n${n}` }))
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
