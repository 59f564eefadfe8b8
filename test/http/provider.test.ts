import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { anonymous, newEmail, signedInAs, withHeaders } from "../support/Actors.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { CLIENT_ID, type Person, SignInProvider } from "../support/SignInProvider.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint, withToken } from "../support/Tokens.ts"
import { served } from "../support/Waiting.ts"

const SignedIn = Schema.Struct({
  accessToken: Schema.String,
  user: Schema.Struct({
    id: Schema.Int,
    email: Schema.String,
    name: Schema.String,
    handle: Schema.String,
    avatar: Schema.optionalKey(Schema.String),
    isEmailVerified: Schema.Boolean,
    hasPassword: Schema.Boolean
  })
})

const signInBy = (body: object) => Effect.flatMap(anonymous, (visitor) => visitor.post("/auth/google", body))

const signInAs = Effect.fnUntraced(function*(person: Person) {
  const idToken = yield* (yield* SignInProvider).idToken(person)
  return yield* signInBy({ idToken })
})

const userIn = (body: unknown) => Schema.decodeUnknownSync(SignedIn)(body).user

const newPerson = (members: Partial<Person> = {}): Person => ({
  sub: crypto.randomUUID(),
  email: newEmail(),
  ...members
})

const serverLayer = Layer.unwrap(
  Effect.map(SignInProvider, ({ issuer }) =>
    TestServer.layer({
      GOOGLE_ISSUER: issuer,
      GOOGLE_CLIENT_ID: CLIENT_ID,
      GOOGLE_CLIENT_SECRET: "canary-client-secret"
    }))
).pipe(
  Layer.provideMerge(SignInProvider.layer)
)

layer(serverLayer)("sign-in by a provider", (it) => {
  it.effect("makes an account at the first time and finds it again by the subject", () =>
    Effect.gen(function*() {
      const person = newPerson({ name: "Alma Rider", picture: "https://img.example.com/a.png" })
      const first = yield* signInAs(person)
      assert.strictEqual(first.status, 200)
      const { id, ...user } = userIn(first.body)
      assert.deepStrictEqual<unknown>(user, {
        email: person.email,
        name: "Alma Rider",
        handle: "alma-rider",
        avatar: "https://img.example.com/a.png",
        isEmailVerified: true,
        hasPassword: false
      })
      const me = yield* (yield* withHeaders({ cookie: first.headers.getSetCookie()[0]?.split(";")[0] ?? "" })).get(
        "/users/me"
      )
      assert.strictEqual(me.status, 200)
      const moved = yield* signInAs({ ...person, email: newEmail() })
      assert.strictEqual(userIn(moved.body).id, id)
      assert.strictEqual(userIn(moved.body).email, person.email)
    }))

  it.effect("takes a code, an ID token, what one-tap posts, or a code that is an ID token", () =>
    Effect.gen(function*() {
      const provider = yield* SignInProvider
      const person = newPerson()
      yield* provider.expectCode(person)
      const byCode = yield* signInBy({ code: "4/an-authorization-code" })
      assert.strictEqual(byCode.status, 200, byCode.text)
      const { id } = userIn(byCode.body)
      for (const member of ["idToken", "credential", "code"]) {
        const answer = yield* signInBy({ [member]: yield* provider.idToken(person) })
        assert.strictEqual(userIn(answer.body).id, id)
      }
      for (const body of [{}, { code: "" }, { code: 1 }, { code: "a", idToken: "b" }, { code: "x".repeat(9000) }]) {
        assert.strictEqual((yield* signInBy(body)).status, 400, JSON.stringify(body).slice(0, 60))
      }
    }))

  it.effect("accepts an ID token again until it expires, always for the same account", () =>
    Effect.gen(function*() {
      const person = newPerson()
      const idToken = yield* (yield* SignInProvider).idToken(person)
      const answers = yield* Effect.all(Array.from({ length: 16 }, () => signInBy({ idToken })), {
        concurrency: "unbounded"
      })
      assert.isTrue(answers.every(({ status }) => status === 200))
      yield* TestClock.adjust("59 minutes")
      yield* TestClock.adjust("59 seconds")
      const last = yield* signInBy({ idToken })
      assert.strictEqual(last.status, 200)
      assert.deepStrictEqual(
        new Set(answers.map(({ body }) => userIn(body).id)),
        new Set([userIn(last.body).id])
      )
      const rows = yield* SqlClient.SqlClient.use((sql) => sql`SELECT 1 FROM users WHERE email = ${person.email}`)
      assert.strictEqual(rows.length, 1)
      yield* TestClock.adjust("1 second")
      assert.deepInclude((yield* signInBy({ idToken })).body, { statusCode: 401, code: "UNAUTHORIZED" })
    }))

  it.effect("is refused for an address that the provider has not verified, and makes no account", () =>
    Effect.gen(function*() {
      const person = newPerson({ email_verified: false })
      assert.strictEqual((yield* signInAs(person)).status, 403)
      const rows = yield* SqlClient.SqlClient.use((sql) => sql`SELECT 1 FROM users WHERE email = ${person.email}`)
      assert.strictEqual(rows.length, 0)
    }))

  it.effect("links the account with the verified address, to which both sign-ins then lead", () =>
    Effect.gen(function*() {
      const rider = yield* signedInAs({})
      const person = newPerson({ email: rider.email.toUpperCase() })
      const linked = yield* signInAs(person)
      assert.deepInclude(userIn(linked.body), { id: rider.id, email: rider.email, hasPassword: true })
      assert.strictEqual((yield* rider.get("/users/me")).status, 200)
      const visitor = yield* anonymous
      const { email, password } = rider
      assert.strictEqual((yield* visitor.post("/auth/login-email", { email, password })).status, 200)
      const another = yield* signInAs(newPerson({ email: rider.email }))
      assert.deepInclude(another.body, { statusCode: 409, code: "CONFLICT" })
    }))

  it.effect("makes an account of its own for the provider's user where the address has a sign-up, and ends that", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const email = newEmail()
      const password = "the attacker waits here"
      yield* visitor.post("/auth/signup-email", { email, password })
      const link = yield* (yield* Mailbox).tokenFor(email)
      const owner = userIn((yield* signInAs(newPerson({ email }))).body)
      assert.deepInclude(owner, { email, isEmailVerified: true, hasPassword: false })
      assert.strictEqual((yield* visitor.post("/auth/login-email", { email, password })).status, 401)
      assert.strictEqual((yield* visitor.post("/auth/verify-email", { token: link })).status, 400)
    }))

  it.effect("and the link of a sign-up for its address, used at once, make one account", () =>
    Effect.gen(function*() {
      for (let round = 0; round < 5; round++) {
        const visitor = yield* anonymous
        const email = newEmail()
        const password = "a long enough password"
        yield* visitor.post("/auth/signup-email", { email, password, name: "By A Link" })
        const token = yield* (yield* Mailbox).tokenFor(email)
        const person = newPerson({ email, name: "By The Provider" })
        const [linked, provided] = yield* Effect.all(
          [visitor.post("/auth/verify-email", { token }), signInAs(person)],
          { concurrency: "unbounded" }
        )
        assert.strictEqual(provided.status, 200, provided.text)
        assert.include([200, 400], linked.status, linked.text)
        const rows = yield* SqlClient.SqlClient.use((sql) =>
          sql<{ name: string }>`SELECT name FROM users WHERE email_key = ${email}`
        )
        assert.deepStrictEqual(rows, [{ name: linked.status === 200 ? "By A Link" : "By The Provider" }])
        const byPassword = yield* visitor.post("/auth/login-email", { email, password })
        assert.strictEqual(byPassword.status, linked.status === 200 ? 200 : 401)
      }
    }))

  it.effect("lets a user without a password add one, so that both ways work", () =>
    Effect.gen(function*() {
      const person = newPerson()
      const first = Schema.decodeUnknownSync(SignedIn)((yield* signInAs(person)).body)
      const rider = yield* withToken(first.accessToken)
      assert.strictEqual((yield* rider.post("/users/me/password", { newPassword: "a fine pass phrase" })).status, 200)
      const visitor = yield* anonymous
      const byEmail = yield* visitor.post("/auth/login-email", { email: person.email, password: "a fine pass phrase" })
      assert.strictEqual(userIn(byEmail.body).id, first.user.id)
      assert.strictEqual(userIn((yield* signInAs(person)).body).id, first.user.id)
    }))

  it.effect("of 64 first times at once makes one account", () =>
    Effect.gen(function*() {
      for (let round = 0; round < 3; round++) {
        const person = newPerson({ name: "Racing Rider" })
        const answers = yield* Effect.all(Array.from({ length: 64 }, () => served(signInAs(person))), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
        assert.strictEqual(new Set(answers.map(({ body }) => userIn(body).id)).size, 1)
      }
    }))

  it.effect("keeps the tokens of a verified account", () =>
    Effect.gen(function*() {
      const rider = yield* signedInAs({})
      const { token } = yield* mint(rider, "read")
      yield* signInAs(newPerson({ email: rider.email }))
      assert.strictEqual((yield* (yield* withToken(token)).get("/users/me")).status, 200)
    }))

  it.effect("is refused for what the provider did not sign, and no response has the client secret", () =>
    Effect.gen(function*() {
      const idToken = yield* (yield* SignInProvider).idToken(newPerson())
      const [head, , signature] = idToken.split(".")
      const other = Buffer.from(JSON.stringify({ sub: "1", email: "a@example.com" })).toString("base64url")
      for (const token of [`${head}.${other}.${signature}`, "a.b.c", `${head}.${other}.`]) {
        const answer = yield* signInBy({ idToken: token })
        assert.deepStrictEqual(answer.body, {
          statusCode: 401,
          code: "UNAUTHORIZED",
          message: "The sign-in was not accepted",
          details: { reason: "sign_in_refused" }
        })
        assert.notInclude(answer.text, "canary")
      }
    }))
})

layer(TestServer.layer())("without a provider", (it) => {
  it.effect("sign-in by it is refused with a reason", () =>
    Effect.gen(function*() {
      assert.deepInclude((yield* signInBy({ code: "x" })).body, { statusCode: 503, code: "INTERNAL" })
    }))
})
