import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { anonymous, newEmail, signedUp, signedUpAs, withHeaders } from "../support/Actors.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { TestServer } from "../support/TestServer.ts"
import { served, until } from "../support/Waiting.ts"

const PASSWORD = "a long enough password"

const INVALID_LINK = {
  statusCode: 400,
  code: "VALIDATION_FAILED",
  message: "body.token: Expected a link that was not used and has not expired",
  details: { issues: [{ path: "body.token", message: "Expected a link that was not used and has not expired" }] }
}

const WRONG = {
  statusCode: 401,
  code: "UNAUTHORIZED",
  message: "Wrong email address or password",
  details: { reason: "wrong_credentials" }
}

const signUp = Effect.fnUntraced(function*(email: string, password = PASSWORD) {
  const visitor = yield* anonymous
  const answer = yield* visitor.post("/auth/signup-email", { email, password })
  assert.deepStrictEqual([answer.status, answer.body], [201, { success: true }])
  return yield* (yield* Mailbox).tokenFor(email)
})

const verify = (token: string, password?: string) =>
  Effect.flatMap(
    anonymous,
    (visitor) => visitor.post("/auth/verify-email", password === undefined ? { token } : { token, password })
  )

const logIn = (email: string, password = PASSWORD) =>
  Effect.flatMap(anonymous, (visitor) => visitor.post("/auth/login-email", { email, password }))

const userOf = Schema.decodeUnknownSync(Schema.Struct({ user: Schema.Record(Schema.String, Schema.Unknown) }))

layer(TestServer.layer())("accounts by email", (it) => {
  it.effect("sign-up mails a link that signs in, once", () =>
    Effect.gen(function*() {
      const email = newEmail()
      const token = yield* signUp(email)
      const first = yield* verify(token)
      assert.strictEqual(first.status, 200)
      const { idHash, id, handle, ...user } = userOf(first.body).user
      assert.match(String(idHash), /^[0-9a-f]{32}$/)
      assert.isTrue(Number.isSafeInteger(id))
      assert.match(String(handle), /^[a-z0-9-]{3,30}$/)
      assert.deepStrictEqual(user, {
        email,
        name: email.split("@")[0],
        isEmailVerified: true,
        role: "user",
        preferences: null,
        deletionStatus: "active",
        deletionRequestedAt: null,
        hasPassword: true
      })
      const second = yield* verify(token)
      assert.deepStrictEqual([second.status, second.body], [400, INVALID_LINK])
    }))

  it.effect("a link expires after 24 hours", () =>
    Effect.gen(function*() {
      const [early, late] = [yield* signUp(newEmail()), yield* signUp(newEmail())]
      yield* TestClock.adjust("23 hours")
      yield* TestClock.adjust("59 minutes")
      yield* TestClock.adjust("59 seconds")
      assert.strictEqual((yield* verify(early)).status, 200)
      yield* TestClock.adjust("1 second")
      const answer = yield* verify(late)
      assert.deepStrictEqual([answer.status, answer.body], [400, INVALID_LINK])
    }))

  it.effect("a wrong, cut or changed token is refused alike", () =>
    Effect.gen(function*() {
      const token = yield* signUp(newEmail())
      const changed = token.startsWith("A") ? `B${token.slice(1)}` : `A${token.slice(1)}`
      for (const wrong of ["x", token.slice(0, -1), changed, `${token}A`]) {
        const answer = yield* verify(wrong)
        assert.deepStrictEqual([answer.status, answer.body], [400, INVALID_LINK])
      }
      assert.strictEqual((yield* verify(token)).status, 200)
    }))

  it.effect("of 64 callers with one token one gets in", () =>
    Effect.gen(function*() {
      const token = yield* signUp(newEmail())
      const answers = yield* Effect.all(Array.from({ length: 64 }, () => served(verify(token))), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [200, ...Array.from({ length: 63 }, () => 400)]
      )
    }))

  it.effect("64 sign-ups of one address are one account", () =>
    Effect.gen(function*() {
      const email = newEmail()
      const visitor = yield* anonymous
      const answers = yield* Effect.all(
        Array.from({ length: 64 }, () => served(visitor.post("/auth/signup-email", { email, password: PASSWORD }))),
        { concurrency: "unbounded" }
      )
      assert.isTrue(answers.every(({ status }) => status === 201))
      const token = yield* (yield* Mailbox).tokenFor(email)
      assert.strictEqual((yield* verify(token, PASSWORD)).status, 200)
      assert.strictEqual((yield* logIn(email)).status, 200)
    }))

  it.effect("a known address gets the same response, and a mail that says so", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const visitor = yield* anonymous
      const known = yield* visitor.post("/auth/signup-email", { email: rider.email.toUpperCase(), password: PASSWORD })
      const fresh = yield* visitor.post("/auth/signup-email", { email: newEmail(), password: PASSWORD })
      assert.deepStrictEqual([known.status, known.text], [fresh.status, fresh.text])
      const mails = Effect.flatMap(Mailbox, ({ mailsTo }) => mailsTo(rider.email))
      yield* until(Effect.map(mails, ({ length }) => length === 2))
      assert.strictEqual((yield* mails)[1]?.subject, "You already have an account")
      assert.strictEqual((yield* logIn(rider.email, PASSWORD)).status, 403)
    }))

  it.effect("the password that counts is the one of the link that was opened", () =>
    Effect.gen(function*() {
      const email = newEmail()
      const owners = yield* signUp(email, "the owner's own password")
      yield* signUp(email, "somebody else's password")
      assert.strictEqual((yield* verify(owners, "the owner's own password")).status, 200)
      assert.strictEqual((yield* logIn(email, "the owner's own password")).status, 200)
      const other = yield* logIn(email, "somebody else's password")
      assert.deepStrictEqual([other.status, other.body], [401, WRONG])
    }))

  it.effect("log-in before verification is 403 for the right password only, and mails a new link", () =>
    Effect.gen(function*() {
      const email = newEmail()
      const first = yield* signUp(email)
      const wrong = yield* logIn(email, "not the password at all")
      assert.deepStrictEqual([wrong.status, wrong.body], [401, WRONG])
      const right = yield* logIn(email)
      assert.deepStrictEqual([right.status, right.body], [403, {
        statusCode: 403,
        code: "FORBIDDEN",
        message: "Verify your email address first: a new link has been mailed",
        details: { reason: "email_unverified" }
      }])
      const second = yield* (yield* Mailbox).tokenAfter(email, 1)
      assert.notStrictEqual(second, first)
      assert.strictEqual((yield* verify(second)).status, 200)
      assert.strictEqual((yield* logIn(email)).status, 200)
    }))

  it.effect("an unknown address and a wrong password have the same response", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const wrong = yield* logIn(rider.email, "not the password at all")
      const unknown = yield* logIn(newEmail(), "not the password at all")
      assert.deepStrictEqual([wrong.status, wrong.text], [401, JSON.stringify(WRONG)])
      assert.deepStrictEqual([unknown.status, unknown.text], [401, JSON.stringify(WRONG)])
      const names = (answer: typeof wrong) => [...answer.headers.keys()].filter((name) => name !== "date")
      assert.deepStrictEqual(names(unknown), names(wrong))
    }))

  it.effect("addresses compare without case and white space, passwords after NFKC", () =>
    Effect.gen(function*() {
      const email = newEmail()
      yield* verify(yield* signUp(email, "pass-word with an A\u030Angstrom"))
      const answer = yield* logIn(`  ${email.toUpperCase()} `, "pass-word with an \u212Bngstrom")
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(userOf(answer.body).user["email"], email)
    }))

  it.effect("passwords have 12 to 1,024 code points after NFKC", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const status = (password: unknown) =>
        Effect.map(visitor.post("/auth/signup-email", { email: newEmail(), password }), (answer) => answer.status)
      const composed = "A\u030A"
      for (
        const refused of [
          "a".repeat(11),
          "\u{1F6B2}".repeat(11),
          composed.repeat(11),
          "a".repeat(1025),
          composed.repeat(1025),
          "\uFB03".repeat(342),
          "",
          null,
          123456789012
        ]
      ) {
        assert.strictEqual(yield* status(refused), 400, String(refused))
      }
      for (
        const accepted of [
          "a".repeat(12),
          "\u{1F6B2}".repeat(12),
          "\uFB03".repeat(4),
          "a".repeat(1024),
          "\u{1F6B2}".repeat(1024),
          composed.repeat(1024),
          "\uFB03".repeat(341)
        ]
      ) {
        assert.strictEqual(yield* status(accepted), 201, accepted)
      }
      const email = newEmail()
      yield* verify(yield* signUp(email, composed.repeat(1024)))
      assert.strictEqual((yield* logIn(email, composed.repeat(1024))).status, 200)
      assert.strictEqual((yield* logIn(email, "\u00C5".repeat(1024))).status, 200)
    }))

  it.effect("what is no address is refused, whatever it looks like", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      for (
        const email of [
          "",
          "a",
          "a@b",
          "a@@b.example",
          "a b@c.example",
          "a\r\nbcc: x@y.example@c.example",
          "<a@b.example>",
          "a@b.example,c@d.example",
          `${"a".repeat(250)}@b.example`,
          "\"a b\"@c.example",
          "a\uFF20evil.example@b.example",
          "a\u0000@b.example",
          "a@b..example",
          null,
          7
        ]
      ) {
        const answer = yield* visitor.post("/auth/signup-email", { email, password: PASSWORD })
        assert.strictEqual(answer.status, 400, JSON.stringify(email))
      }
    }))

  it.effect("members that belong to the server are ignored", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const email = newEmail()
      const sent = { email, password: PASSWORD, role: "admin", isEmailVerified: true, id: 1, deletionStatus: "x" }
      assert.strictEqual((yield* visitor.post("/auth/signup-email", sent)).status, 201)
      assert.strictEqual((yield* logIn(email)).status, 403)
      const token = yield* (yield* Mailbox).tokenFor(email)
      assert.strictEqual(userOf((yield* verify(token)).body).user["role"], "user")
    }))

  it.effect("names of which handles collide get handles of their own", () =>
    Effect.gen(function*() {
      const riders = yield* Effect.all(
        Array.from({ length: 8 }, () => signedUpAs({ name: "Žofie Nováková" })),
        { concurrency: 8 }
      )
      const handles = yield* Effect.forEach(riders, (rider) =>
        Effect.map(rider.get("/users/me"), ({ body }) => Schema.decodeUnknownSync(HandleOnly)(body).handle))
      assert.strictEqual(new Set(handles).size, 8)
      assert.isTrue(handles.every((handle) =>
        handle.startsWith("zofie-novakova")
      ))
    }))

  it.effect("a password never comes back in an error", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const answer = yield* visitor.post("/auth/signup-email", { email: "no", password: "canary-pw" })
      assert.strictEqual(answer.status, 400)
      assert.notInclude(answer.text, "canary-pw")
    }))

  it.effect("a browser of another site cannot sign users in", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const attempt = (headers: Readonly<Record<string, string>>) =>
        Effect.flatMap(withHeaders(headers), (caller) =>
          Effect.map(
            caller.post("/auth/login-email", { email: rider.email, password: rider.password }),
            ({ status }) => status
          ))
      assert.strictEqual(yield* attempt({ "sec-fetch-site": "cross-site" }), 403)
      assert.strictEqual(yield* attempt({ "sec-fetch-site": "same-site" }), 403)
      assert.strictEqual(yield* attempt({ origin: "https://evil.example" }), 403)
      assert.strictEqual(yield* attempt({ origin: "null" }), 403)
      assert.strictEqual(yield* attempt({ "sec-fetch-site": "same-origin" }), 200)
      assert.strictEqual(yield* attempt({ "sec-fetch-site": "none" }), 200)
      assert.strictEqual(yield* attempt({ origin: "http://localhost:3000" }), 200)
      assert.strictEqual(yield* attempt({}), 200)
    }))
})

const roleIn = (body: unknown) => Schema.decodeUnknownSync(Schema.Struct({ role: Schema.String }))(body).role

const HandleOnly = Schema.Struct({ handle: Schema.String })

layer(TestServer.layer({ ADMIN_EMAILS: " Boss@Example.com , ,second@example.com" }))("administrators", (it) => {
  it.effect("are users with a listed and verified address", () =>
    Effect.gen(function*() {
      const boss = yield* signedUpAs({ email: "boss@example.com" })
      const other = yield* signedUp
      assert.strictEqual(roleIn((yield* boss.get("/users/me")).body), "admin")
      assert.strictEqual(roleIn((yield* other.get("/users/me")).body), "user")
    }))
})
