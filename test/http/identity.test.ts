import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { USER_PATHS } from "../../src/schema/User.ts"
import { anonymous, signedIn, signedInAs } from "../support/Actors.ts"
import { operations } from "../support/OpenApi.ts"
import { created, newRoute } from "../support/Routes.ts"
import { signInAgain } from "../support/SignIns.ts"
import { TestServer } from "../support/TestServer.ts"
import { served } from "../support/Waiting.ts"

const record = Schema.decodeUnknownSync(Schema.Record(Schema.String, Schema.Json))

const sessionsIn = Schema.decodeUnknownSync(
  Schema.Array(Schema.Struct({ id: Schema.String, current: Schema.Boolean, userAgent: Schema.NullOr(Schema.String) }))
)

layer(TestServer.layer())("sessions of one's own", (it) => {
  it.effect("are listed to their owner alone, with the current one and what is known of the device", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const stranger = yield* signedIn
      yield* TestClock.adjust("1 second")
      const elsewhere = yield* signInAgain(rider, "a phone")
      const answer = yield* elsewhere.get("/me/sessions")
      const [phone, first] = sessionsIn(answer.body)
      assert.deepInclude(phone, { current: true, userAgent: "a phone" })
      assert.deepInclude(first, { current: false })
      assert.strictEqual(answer.headers.get("x-total-count"), "2")
      assert.lengthOf(sessionsIn((yield* stranger.get("/me/sessions")).body), 1)
      const keys = Object.keys(record(Schema.decodeUnknownSync(Schema.Array(Schema.Json))(answer.body)[0]))
      assert.deepStrictEqual(keys.toSorted(), [
        "createdAt",
        "current",
        "expiresAt",
        "id",
        "ipAddress",
        "lastSeenAt",
        "userAgent"
      ])
    }))

  it.effect("are ended one by one, by their owner, once", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const elsewhere = yield* signInAgain(rider)
      const stranger = yield* signedIn
      const other = sessionsIn((yield* rider.get("/me/sessions")).body).find(({ current }) => !current)
      assert.strictEqual((yield* stranger.delete(`/me/sessions/${other?.id}`)).status, 404)
      const deletions = yield* Effect.all(
        Array.from({ length: 16 }, () => rider.delete(`/me/sessions/${other?.id.toUpperCase()}`)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(deletions.filter(({ status }) => status === 200).length, 1)
      assert.strictEqual((yield* elsewhere.get("/users/me")).status, 401)
      for (const id of ["0", "not-a-uuid", "00000000-0000-4000-8000-000000000000"]) {
        assert.strictEqual((yield* rider.delete(`/me/sessions/${id}`)).status, 404)
      }
      const own = sessionsIn((yield* rider.get("/me/sessions")).body)[0]
      const ended = yield* rider.delete(`/me/sessions/${own?.id}`)
      assert.strictEqual(ended.status, 200)
      assert.match(ended.headers.getSetCookie().at(-1) ?? "", /^__Host-service_session=;/)
      assert.strictEqual((yield* rider.get("/users/me")).status, 401)
    }))

  it.effect("all end at once", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const elsewhere = yield* signInAgain(rider)
      const stranger = yield* signedIn
      const answer = yield* elsewhere.post("/me/sessions/logout-everywhere")
      assert.deepStrictEqual([answer.status, answer.body], [200, { success: true }])
      assert.match(answer.headers.getSetCookie().at(-1) ?? "", /^__Host-service_session=;/)
      assert.strictEqual((yield* rider.get("/users/me")).status, 401)
      assert.strictEqual((yield* elsewhere.get("/users/me")).status, 401)
      assert.strictEqual((yield* stranger.get("/users/me")).status, 200)
    }))

  it.effect("keep 512 characters of what a browser calls itself", () =>
    Effect.gen(function*() {
      const elsewhere = yield* signInAgain(yield* signedIn, "b".repeat(513))
      const current = sessionsIn((yield* elsewhere.get("/me/sessions")).body).find(({ current }) => current)
      assert.strictEqual(current?.userAgent, "b".repeat(512))
    }))
})

layer(TestServer.layer())("profiles", (it) => {
  it.effect("are changed by what a patch names", () =>
    Effect.gen(function*() {
      const rider = yield* signedInAs({ name: "Alma" })
      const before = record((yield* rider.get("/users/me")).body)
      const patched = yield* rider.patch("/users/me", {
        name: " Alma R. ",
        avatar: "https://img.example.com/a.png?x=1",
        preferences: { units: "metric", overlays: { wind: true }, sportSpeeds: { run: 12.5 }, unknown: 1 },
        email: "other@example.com",
        role: "admin",
        id: 1,
        isEmailVerified: false
      })
      assert.strictEqual(patched.status, 200)
      assert.deepStrictEqual<unknown>(record(patched.body), {
        ...before,
        name: "Alma R.",
        avatar: "https://img.example.com/a.png?x=1",
        preferences: { units: "metric", overlays: { wind: true }, sportSpeeds: { run: 12.5 } }
      })
      const merged = yield* rider.patch("/users/me", {
        avatar: null,
        preferences: { overlays: { heatmap: false }, units: null, selectedSports: ["run"] }
      })
      assert.deepStrictEqual<unknown>(record(merged.body)["preferences"], {
        overlays: { wind: true, heatmap: false },
        sportSpeeds: { run: 12.5 },
        selectedSports: ["run"]
      })
      assert.notProperty(record(merged.body), "avatar")
      assert.isNull(record((yield* rider.patch("/users/me", { preferences: null })).body)["preferences"])
    }))

  it.effect("keep all of several changes made at once", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const patches = [{ units: "metric" }, { mapStyle: "dark" }, { showPois: true }, { overlays: { wind: true } }, {
        overlays: { bike: false }
      }]
      yield* Effect.all(patches.map((preferences) => rider.patch("/users/me", { preferences })), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual<unknown>(record((yield* rider.get("/users/me")).body)["preferences"], {
        units: "metric",
        mapStyle: "dark",
        showPois: true,
        overlays: { wind: true, bike: false }
      })
    }))

  it.effect("refuse what is no avatar, no preference and no name", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const refused = [
        { avatar: "http://example.com/a.png" },
        { avatar: "https://user:pass@example.com/a.png" },
        { avatar: "data:image/png;base64,AAAA" },
        { avatar: "javascript:alert(1)" },
        { avatar: "//example.com/a.png" },
        { avatar: "https:\\\\example.com" },
        { avatar: "https://" },
        { avatar: `https://example.com/${"a".repeat(2048)}` },
        { avatar: 1 },
        { name: "" },
        { name: "n".repeat(101) },
        { name: null },
        { preferences: { sportSpeeds: { run: -1 } } },
        { preferences: { sportSpeeds: { run: "NaN" } } },
        { preferences: { showPois: "yes" } },
        { preferences: { defaultRouteVisibility: "hidden" } },
        { preferences: [] }
      ]
      for (const patch of refused) {
        assert.strictEqual((yield* rider.patch("/users/me", patch)).status, 400, JSON.stringify(patch).slice(0, 80))
      }
    }))

  it.effect("have a unique handle of the contract's shape", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const other = yield* signedIn
      const status = (handle: unknown) => Effect.map(rider.patch("/users/me", { handle }), (answer) => answer.status)
      for (
        const handle of [
          "ab",
          "a".repeat(31),
          "Alma",
          "al_ma",
          "älma",
          "аlma",
          "me",
          "profile",
          "",
          null,
          "a b"
        ]
      ) {
        assert.strictEqual(yield* status(handle), 400, String(handle))
      }
      for (const handle of ["alma-1", "alma-1", "admin", "routes", "by-user", "api", "12345", "---"]) {
        assert.strictEqual(yield* status(handle), 200, handle)
      }
      assert.strictEqual(yield* status("alma-1"), 200)
      const taken = yield* other.patch("/users/me", { handle: "alma-1", name: "Thief" })
      assert.deepInclude(taken.body, { statusCode: 409, code: "CONFLICT" })
      assert.notStrictEqual(record((yield* other.get("/users/me")).body)["name"], "Thief")
    }))

  it.effect("are found by a handle of digits, which is never read as an id", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const other = yield* signedIn
      const visitor = yield* anonymous
      assert.strictEqual((yield* rider.patch("/users/me", { handle: "4711" })).status, 200)
      assert.deepInclude(record((yield* visitor.get("/users/4711")).body), { id: rider.id, handle: "4711" })
      const handle = String(other.id + 1000)
      assert.strictEqual((yield* visitor.get(`/users/${handle}`)).status, 404)
      assert.strictEqual((yield* rider.patch("/users/me", { handle })).status, 200)
      assert.strictEqual(record((yield* visitor.get(`/users/${handle}`)).body)["id"], rider.id)
    }))

  it.effect("derive a first handle of digits from a name of digits", () =>
    Effect.gen(function*() {
      const rider = yield* signedInAs({ name: "20 26" })
      assert.strictEqual(record((yield* rider.get("/users/me")).body)["handle"], "20-26")
      const other = yield* signedInAs({ name: "2026" })
      assert.strictEqual(record((yield* other.get("/users/me")).body)["handle"], "2026")
    }))

  it("cannot have as a handle what is a path of its own below /users/, and may have everything else", () => {
    const segments = operations.flatMap(({ path }) => /^\/api\/v1\/users\/([a-z0-9-]+)/.exec(path)?.[1] ?? [])
    assert.includeMembers(segments, ["me", "profile"])
    assert.deepStrictEqual(new Set(Object.values<string>(USER_PATHS)), new Set(segments))
  })

  it.effect("of 64 users who want one handle one gets it", () =>
    Effect.gen(function*() {
      const riders = yield* Effect.all(Array.from({ length: 8 }, () => signedIn), { concurrency: 4 })
      for (let round = 0; round < 4; round++) {
        const calls = Array.from({ length: 64 }, (_, n) =>
          riders[n % 8]?.patch("/users/me", { handle: `wanted-${round}` }))
        const answers = yield* Effect.all(
          calls.flatMap((call) =>
            call === undefined ? [] : [served(call)]
          ),
          { concurrency: "unbounded" }
        )
        const winners = new Set(answers.flatMap(({ status }, n) => status === 200 ? [n % 8] : []))
        assert.strictEqual(winners.size, 1)
        assert.deepStrictEqual([...new Set(answers.map(({ status }) => status))].toSorted(), [200, 409])
      }
    }))

  it.effect("are visible to anyone under the current handle, and under no other", () =>
    Effect.gen(function*() {
      const rider = yield* signedInAs({ name: "Seen Rider" })
      const visitor = yield* anonymous
      yield* rider.patch("/users/me", { handle: "seen-rider-1" })
      yield* rider.post("/routes", newRoute({ visibility: "public" }))
      yield* rider.post("/routes", newRoute({ visibility: "unlisted" }))
      const me = record((yield* rider.get("/users/me")).body)
      const seen = yield* visitor.get("/users/seen-rider-1")
      const { createdAt, ...summary } = record(seen.body)
      assert.match(String(createdAt), /^\d{4}-\d\d-\d\dT/)
      assert.deepStrictEqual<unknown>(summary, {
        id: me["id"],
        name: "Seen Rider",
        handle: "seen-rider-1",
        idHash: me["idHash"],
        publicRoutes: 1
      })
      yield* rider.patch("/users/me", { handle: "seen-rider-2" })
      assert.strictEqual((yield* visitor.get("/users/seen-rider-1")).status, 404)
      assert.strictEqual((yield* visitor.get("/users/seen-rider-2")).status, 200)
      for (const nobody of ["nobody-here", "NO", "1", "%00"]) {
        assert.deepInclude((yield* visitor.get(`/users/${nobody}`)).body, { statusCode: 404, code: "NOT_FOUND" })
      }
      const route = created((yield* rider.post("/routes", newRoute({}))).body)
      assert.deepInclude(route["user"], { handle: "seen-rider-2" })
    }))
})
