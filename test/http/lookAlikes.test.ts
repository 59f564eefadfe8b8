import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { anonymous, newEmail, signedInAs, withHeaders } from "../support/Actors.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { CLIENT_ID, SignInProvider } from "../support/SignInProvider.ts"
import { TestServer } from "../support/TestServer.ts"

const PASSWORD = "a long enough password"

const ADMIN = "kim.admin@example.com"
const LOOK_ALIKE = "\u212Aim.admin@example.com"

const BOSS = "boss@example.com"

const server = Layer.unwrap(
  Effect.map(SignInProvider, ({ issuer }) =>
    TestServer.layer({
      ADMIN_EMAILS: `${ADMIN},${BOSS}`,
      GOOGLE_ISSUER: issuer,
      GOOGLE_CLIENT_ID: CLIENT_ID,
      GOOGLE_CLIENT_SECRET: "secret"
    }))
).pipe(Layer.provideMerge(SignInProvider.layer))

const SignedIn = Schema.Struct({
  accessToken: Schema.String,
  user: Schema.Struct({ id: Schema.Int, email: Schema.String, role: Schema.String })
})

const signedInBy = ({ body }: { readonly body: unknown }) => Schema.decodeUnknownSync(SignedIn)(body)

const logIn = (email: string) =>
  Effect.flatMap(anonymous, (visitor) => visitor.post("/auth/login-email", { email, password: PASSWORD }))

const signUp = Effect.fnUntraced(function*(email: string) {
  const visitor = yield* anonymous
  assert.strictEqual((yield* visitor.post("/auth/signup-email", { email, password: PASSWORD })).status, 201)
  const token = yield* (yield* Mailbox).tokenFor(email)
  return yield* visitor.post("/auth/verify-email", { token, password: PASSWORD })
})

/** Makes an account of an address that is refused by now. */
const stored = Effect.fnUntraced(function*(email: string) {
  const sql = yield* SqlClient.SqlClient
  const plain = newEmail()
  const { user } = signedInBy(yield* signUp(plain))
  yield* sql`UPDATE users SET email = ${email}, email_key = ${email} WHERE id = ${user.id}`
  return user.id
})

layer(server)("an address that looks like another one", (it) => {
  it.effect("is 400 where an account would be made of it, with what is accepted", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const boss = yield* signedInAs({ email: BOSS })
      const spellings = [
        LOOK_ALIKE,
        "\u017Fam@example.com",
        "\u0130da@example.com",
        "stra\u00DFe@example.com",
        "\uFF41@x.org"
      ]
      for (const email of spellings) {
        const provider = yield* SignInProvider
        const responses = [
          yield* visitor.post("/auth/signup-email", { email, password: PASSWORD }),
          yield* boss.post("/admin/invitations", { email }),
          yield* visitor.post("/auth/google", { idToken: yield* provider.idToken({ sub: email, email }) })
        ]
        for (const { status, text } of responses) {
          assert.strictEqual(status, 400, text)
          assert.include(text, "Expected an email address without characters before the @ that Unicode folds to others")
          assert.include(text, "\"path\":\"body.email\"")
        }
        assert.strictEqual((yield* logIn(email)).status, 401)
        assert.strictEqual((yield* visitor.post("/auth/request-password-reset", { email })).status, 200)
      }
      assert.strictEqual(
        (yield* visitor.post("/auth/signup-email", {
          email: "J\u00F6rg.\u5C71@example.com",
          password: PASSWORD
        })).status,
        201
      )
    }))

  it.effect("and is stored already is known by its exact spelling, and has nothing of the other mailbox", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const visitor = yield* anonymous
      const provider = yield* SignInProvider
      const id = yield* stored(LOOK_ALIKE)
      yield* stored("\u00C9va@example.com")
      yield* sql`
        INSERT INTO sign_ups (email, email_key, name, created_at, expires_at)
        VALUES (${LOOK_ALIKE}, ${LOOK_ALIKE}, 'x', 'epoch', 'infinity')`

      const { user } = signedInBy(yield* logIn(LOOK_ALIKE))
      assert.deepInclude(user, { id, email: LOOK_ALIKE, role: "user" })
      assert.strictEqual((yield* logIn(ADMIN)).status, 401)
      assert.strictEqual((yield* logIn("\u00C9va@example.com")).status, 200)
      assert.strictEqual((yield* logIn("\u00E9va@example.com")).status, 401)

      const owner = signedInBy(yield* signUp(ADMIN))
      assert.deepInclude(owner.user, { email: ADMIN, role: "admin" })
      assert.strictEqual(signedInBy(yield* logIn("KIM.Admin@Example.com")).user.id, owner.user.id)
      const admin = yield* withHeaders({ authorization: `Bearer ${owner.accessToken}` })
      assert.strictEqual((yield* admin.get("/admin/overview")).status, 200)

      const linked = yield* visitor.post("/auth/google", {
        idToken: yield* provider.idToken({ sub: "kim", email: ADMIN })
      })
      assert.strictEqual(signedInBy(linked).user.id, owner.user.id)
      const exact = yield* visitor.post("/auth/google", {
        idToken: yield* provider.idToken({ sub: "kelvin", email: LOOK_ALIKE })
      })
      assert.deepInclude(signedInBy(exact).user, { id, role: "user" })

      const mailbox = yield* Mailbox
      const before = (yield* mailbox.mailsTo(ADMIN)).length
      yield* visitor.post("/auth/request-password-reset", { email: LOOK_ALIKE })
      const token = yield* mailbox.tokenFor(LOOK_ALIKE)
      const password = "another good password"
      assert.strictEqual((yield* visitor.post("/auth/reset-password", { token, password })).status, 200)
      assert.lengthOf(yield* mailbox.mailsTo(ADMIN), before)
      assert.strictEqual((yield* logIn(ADMIN)).status, 200)
      assert.strictEqual((yield* logIn(LOOK_ALIKE)).status, 401)
    }))
})
