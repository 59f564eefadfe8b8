import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { anonymous, newEmail, signedUp } from "../support/Actors.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { logIn, signInAgain } from "../support/SignIns.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint, withToken } from "../support/Tokens.ts"
import { served, until } from "../support/Waiting.ts"

const NEW_PASSWORD = "another good password"

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
  it.effect("is replaced by a mailed link, which ends every session and does not sign in", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const { token: script } = yield* mint(rider, "read")
      const answer = yield* reset(yield* requestReset(rider.email))
      assert.deepStrictEqual([answer.status, answer.body], [200, { success: true }])
      assert.isNull(answer.headers.get("set-cookie"))
      assert.strictEqual((yield* rider.get("/users/me")).status, 401)
      assert.strictEqual((yield* logIn(rider.email, rider.password)).status, 401)
      assert.strictEqual((yield* logIn(rider.email, NEW_PASSWORD)).status, 200)
      assert.strictEqual((yield* (yield* withToken(script)).get("/users/me")).status, 200)
      const mails = (yield* Mailbox).mailsTo(rider.email)
      yield* until(Effect.map(mails, (all) => all.some(({ subject }) => subject === "Your password was changed")))
    }))

  it.effect("verifies the address of an account that is not verified", () =>
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
      const rider = yield* signedUp
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
        const rider = yield* signedUp
        const token = yield* requestReset(rider.email)
        const passwords = Array.from({ length: 64 }, (_, n) => `wonderful password ${n} of 64`)
        const answers = yield* Effect.all(passwords.map((password) => served(reset(token, password))), {
          concurrency: "unbounded"
        })
        const winners = passwords.filter((_, n) => answers[n]?.status === 200)
        assert.strictEqual(winners.length, 1)
        assert.isTrue(answers.every(({ status }) => status === 200 || status === 400))
        assert.strictEqual((yield* logIn(rider.email, winners[0] ?? "")).status, 200)
      }
    }))

  it.effect("that the policy refuses does not consume the link", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const token = yield* requestReset(rider.email)
      assert.strictEqual((yield* reset(token, "short")).status, 400)
      assert.strictEqual((yield* reset(token)).status, 200)
    }))

  it.effect("of an address without an account gets the same response and no mail", () =>
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
      const rider = yield* signedUp
      const token = yield* requestReset(rider.email)
      assert.strictEqual((yield* reset(token, "password1234")).status, 400)
      const change = { currentPassword: rider.password, newPassword: "password1234" }
      assert.strictEqual((yield* rider.post("/users/me/password", change)).status, 400)
      assert.strictEqual((yield* reset(token)).status, 200)
    }))
})

layer(TestServer.layer({ PASSWORD_MIN_STRENGTH: "1" }))("a password that must have a strength of 1", (it) => {
  it.effect("is refused without any", () =>
    Effect.gen(function*() {
      const email = newEmail()
      const { status } = yield* (yield* anonymous).post("/auth/signup-email", { email, password: "aaaaaaaaaaaa" })
      assert.strictEqual(status, 400)
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
      const rider = yield* signedUp
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
      const rider = yield* signedUp
      const passwords = Array.from({ length: 16 }, (_, n) => `splendid password ${n} of 16`)
      const answers = yield* Effect.all(
        passwords.map((newPassword) =>
          served(rider.post("/users/me/password", { currentPassword: rider.password, newPassword }))
        ),
        { concurrency: "unbounded" }
      )
      const winners = passwords.filter((_, n) => answers[n]?.status === 200)
      assert.strictEqual(winners.length, 1)
      assert.strictEqual((yield* logIn(rider.email, winners[0] ?? "")).status, 200)
    }))
})
