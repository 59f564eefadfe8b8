import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { USER_PATHS } from "../../src/schema/User.ts"
import { anonymous, newEmail, type Rider, signedIn, signedInAs, withHeaders } from "../support/Actors.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { operations } from "../support/OpenApi.ts"
import { created, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint, withToken } from "../support/Tokens.ts"

const NEW_PASSWORD = "another good password"

const record = Schema.decodeUnknownSync(Schema.Record(Schema.String, Schema.Json))

const sessionsIn = Schema.decodeUnknownSync(
  Schema.Array(Schema.Struct({ id: Schema.String, current: Schema.Boolean, userAgent: Schema.NullOr(Schema.String) }))
)

const logIn = (email: string, password: string, headers: Record<string, string> = {}) =>
  Effect.flatMap(anonymous, (visitor) => visitor.post("/auth/login-email", { email, password }, { headers }))

const signInAgain = Effect.fnUntraced(function*(rider: Rider, userAgent = "another browser") {
  const { body } = yield* logIn(rider.email, rider.password, { "user-agent": userAgent })
  const { accessToken } = Schema.decodeUnknownSync(Schema.Struct({ accessToken: Schema.String }))(body)
  return yield* withHeaders({ cookie: `__Host-service_session=${accessToken}` })
})

const requestReset = Effect.fnUntraced(function*(email: string) {
  const visitor = yield* anonymous
  const before = (yield* (yield* Mailbox).mailsTo(email)).length
  const answer = yield* visitor.post("/auth/request-password-reset", { email })
  assert.deepStrictEqual([answer.status, answer.body], [200, { success: true }])
  return yield* (yield* Mailbox).tokenAfter(email, before)
})

const reset = (token: string, password = NEW_PASSWORD) =>
  Effect.flatMap(anonymous, (visitor) => visitor.post("/auth/reset-password", { token, password }))

layer(TestServer.layer())("a forgotten password", (it) => {
  it.effect("is replaced by a mailed link, which ends every session and signs nobody in", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { token: script } = yield* mint(rider, "read")
      const answer = yield* reset(yield* requestReset(rider.email))
      assert.deepStrictEqual([answer.status, answer.body], [200, { success: true }])
      assert.isNull(answer.headers.get("set-cookie"))
      assert.strictEqual((yield* rider.get("/users/me")).status, 401)
      assert.strictEqual((yield* logIn(rider.email, rider.password)).status, 401)
      assert.strictEqual((yield* logIn(rider.email, NEW_PASSWORD)).status, 200)
      assert.strictEqual((yield* (yield* withToken(script)).get("/users/me")).status, 200)
      const subjects = (yield* (yield* Mailbox).mailsTo(rider.email)).map(({ subject }) => subject)
      assert.include(subjects, "Your password was changed")
    }))

  it.effect("proves the address of an account that never did", () =>
    Effect.gen(function*() {
      const email = newEmail()
      const visitor = yield* anonymous
      yield* visitor.post("/auth/signup-email", { email, password: "a long enough password" })
      yield* (yield* Mailbox).tokenFor(email)
      assert.strictEqual((yield* reset(yield* requestReset(email))).status, 200)
      assert.strictEqual((yield* logIn(email, NEW_PASSWORD)).status, 200)
      assert.strictEqual((yield* logIn(email, "a long enough password")).status, 401)
    }))

  it.effect("has a link for 30 minutes, for one purpose, of which the three newest are good", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const old = yield* requestReset(rider.email)
      yield* TestClock.adjust("30 minutes")
      assert.strictEqual((yield* reset(old)).status, 400)
      // More mails in an hour would not be sent.
      yield* TestClock.adjust("30 minutes")
      const links: Array<string> = []
      for (let n = 0; n < 4; n++) {
        yield* TestClock.adjust("1 second")
        links.push(yield* requestReset(rider.email))
      }
      assert.strictEqual((yield* reset(links[0] ?? "")).status, 400)
      const last = links[1] ?? ""
      const verify = yield* (yield* anonymous).post("/auth/verify-email", { token: last })
      assert.strictEqual(verify.status, 400)
      yield* TestClock.adjust("29 minutes")
      assert.strictEqual((yield* reset(last)).status, 200)
      assert.strictEqual((yield* reset(last)).status, 400)
    }))

  it.effect("is set by one of 64 callers with one link, and theirs is the password that counts", () =>
    Effect.gen(function*() {
      for (let round = 0; round < 3; round++) {
        const rider = yield* signedIn
        const token = yield* requestReset(rider.email)
        const passwords = Array.from({ length: 64 }, (_, n) => `wonderful password ${n} of 64`)
        const answers = yield* Effect.all(passwords.map((password) => reset(token, password)), {
          concurrency: "unbounded"
        })
        const winners = passwords.filter((_, n) => answers[n]?.status === 200)
        assert.strictEqual(winners.length, 1)
        assert.isTrue(answers.every(({ status }) => status === 200 || status === 400))
        assert.strictEqual((yield* logIn(rider.email, winners[0] ?? "")).status, 200)
      }
    }))

  it.effect("that the policy refuses leaves the link good", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const token = yield* requestReset(rider.email)
      assert.strictEqual((yield* reset(token, "short")).status, 400)
      assert.strictEqual((yield* reset(token)).status, 200)
    }))

  it.effect("of an address without an account gets the same answer and no mail", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const email = newEmail()
      const unknown = yield* visitor.post("/auth/request-password-reset", { email })
      assert.deepStrictEqual([unknown.status, unknown.body], [200, { success: true }])
      assert.deepStrictEqual(yield* (yield* Mailbox).mailsTo(email), [])
    }))
})

layer(TestServer.layer({ PASSWORD_MIN_STRENGTH: "2" }))("a password that must have a strength of 2", (it) => {
  it.effect("is refused with the reason when it is common or contains its owner's name or address", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const outcome = (password: string, email = newEmail(), name = "Alma Rider") =>
        Effect.map(
          visitor.post("/auth/signup-email", { email, password, name }),
          ({ status, text }) => `${status} ${text}`
        )
      for (
        const common of [
          "password1234",
          "aaaaaaaaaaaa",
          "x".repeat(64),
          "123456789012",
          "qwertyuiop12",
          "PasswordPassword",
          "1qaz2wsx3edc"
        ]
      ) {
        assert.match(yield* outcome(common), /^400 .*common/, common)
      }
      assert.match(yield* outcome("xx alma rider 77!"), /^400 .*your name/)
      assert.match(yield* outcome("my BERTHOLD.k 1981", "berthold.k@example.com"), /^400 .*your email address/)
      assert.match(yield* outcome("a fine pass phrase"), /^201/)
    }))

  it.effect("is refused at a reset, which keeps the link, and at a change", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const token = yield* requestReset(rider.email)
      assert.strictEqual((yield* reset(token, "password1234")).status, 400)
      const change = { currentPassword: rider.password, newPassword: "password1234" }
      assert.strictEqual((yield* rider.post("/users/me/password", change)).status, 400)
      assert.strictEqual((yield* reset(token)).status, 200)
    }))
})

layer(TestServer.layer({ PASSWORD_MIN_STRENGTH: "4" }))("a password that must have a strength of 4", (it) => {
  it.effect("is refused when a strength of 2 would do", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const status = (password: string) =>
        Effect.map(visitor.post("/auth/signup-email", { email: newEmail(), password }), (answer) => answer.status)
      assert.strictEqual(yield* status("blue monkey1"), 400)
      assert.strictEqual(yield* status("kV9#tq2!Lm0z"), 201)
    }))
})

layer(TestServer.layer())("a password", (it) => {
  it.effect("needs nothing but its length by default, and signs in", () =>
    Effect.gen(function*() {
      for (
        const password of [
          "password1234",
          "aaaaaaaaaaaa",
          "x".repeat(64),
          "my alma rider password",
          "p\u{1F6B2}".repeat(512)
        ]
      ) {
        const email = newEmail()
        const visitor = yield* anonymous
        const signUp = yield* visitor.post("/auth/signup-email", { email, password, name: "Alma Rider" })
        assert.strictEqual(signUp.status, 201, password)
        const token = yield* (yield* Mailbox).tokenFor(email)
        assert.strictEqual((yield* visitor.post("/auth/verify-email", { token })).status, 200)
        assert.strictEqual((yield* logIn(email, password)).status, 200, password)
        assert.strictEqual((yield* reset(yield* requestReset(email), "aaaaaaaaaaaa")).status, 200)
      }
    }))

  it.effect("is changed by who knows it, and every other session ends", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const elsewhere = yield* signInAgain(rider)
      const change = (body: object) => Effect.map(rider.post("/users/me/password", body), ({ status }) => status)
      assert.strictEqual(yield* change({ newPassword: NEW_PASSWORD }), 400)
      assert.strictEqual(yield* change({ currentPassword: "wrong", newPassword: NEW_PASSWORD }), 403)
      assert.strictEqual(yield* change({ currentPassword: rider.password, newPassword: "short" }), 400)
      assert.strictEqual((yield* elsewhere.get("/users/me")).status, 200)
      assert.strictEqual(yield* change({ currentPassword: rider.password, newPassword: NEW_PASSWORD }), 200)
      assert.strictEqual((yield* rider.get("/users/me")).status, 200)
      assert.strictEqual((yield* elsewhere.get("/users/me")).status, 401)
      assert.strictEqual((yield* logIn(rider.email, rider.password)).status, 401)
      assert.strictEqual((yield* logIn(rider.email, NEW_PASSWORD)).status, 200)
    }))

  it.effect("of 16 changes at once is that of the one that succeeded", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const passwords = Array.from({ length: 16 }, (_, n) => `splendid password ${n} of 16`)
      const answers = yield* Effect.all(
        passwords.map((newPassword) =>
          rider.post("/users/me/password", { currentPassword: rider.password, newPassword })
        ),
        { concurrency: "unbounded" }
      )
      const winners = passwords.filter((_, n) => answers[n]?.status === 200)
      assert.strictEqual(winners.length, 1)
      assert.strictEqual((yield* logIn(rider.email, winners[0] ?? "")).status, 200)
    }))
})

layer(TestServer.layer())("sessions of one's own", (it) => {
  it.effect("are listed, the one that asks among them, with what is known of the device", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* TestClock.adjust("1 second")
      const elsewhere = yield* signInAgain(rider, "a phone")
      const answer = yield* elsewhere.get("/me/sessions")
      const [phone, first] = sessionsIn(answer.body)
      assert.deepInclude(phone, { current: true, userAgent: "a phone" })
      assert.deepInclude(first, { current: false })
      assert.strictEqual(answer.headers.get("x-total-count"), "2")
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
      const answer = yield* elsewhere.post("/me/sessions/logout-everywhere")
      assert.deepStrictEqual([answer.status, answer.body], [200, { success: true }])
      assert.match(answer.headers.getSetCookie().at(-1) ?? "", /^__Host-service_session=;/)
      assert.strictEqual((yield* rider.get("/users/me")).status, 401)
      assert.strictEqual((yield* elsewhere.get("/users/me")).status, 401)
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

  it.effect("have a handle of the contract's shape that nobody else has", () =>
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
          calls.filter((call) =>
            call !== undefined
          ),
          { concurrency: "unbounded" }
        )
        const winners = new Set(answers.flatMap(({ status }, n) => status === 200 ? [n % 8] : []))
        assert.strictEqual(winners.size, 1)
        assert.isTrue(answers.every(({ status }) => status === 200 || status === 409))
      }
    }))

  it.effect("are seen by anybody under the handle of now, and under no other", () =>
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
