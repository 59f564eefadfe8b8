import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { anonymous, newEmail, signedIn, signedInAs } from "./support/Actors.ts"
import { Mailbox } from "./support/Mailbox.ts"
import { CLIENT_ID, SignInProvider } from "./support/SignInProvider.ts"
import { TestServer } from "./support/TestServer.ts"

const MONTH = 30 * 86_400

/** The 30 days' last second, in which all is still open, and their end. */
const LAST_SECOND = MONTH - 1

const requestedAgo = (email: string, seconds: number) =>
  Effect.flatMap(
    Effect.clockWith((clock) => clock.currentTimeMillis),
    (now) =>
      SqlClient.SqlClient.use((sql) =>
        sql`UPDATE users SET deletion_requested_at = ${new Date(now - seconds * 1000)} WHERE email = ${email}`
      )
  )

const byPassword = Effect.fnUntraced(function*(seconds: number) {
  const { email, password } = yield* signedIn
  yield* requestedAgo(email, seconds)
  return yield* (yield* anonymous).post("/auth/login-email", { email, password })
})

const byLinkedProvider = Effect.fnUntraced(function*(seconds: number) {
  const provider = yield* SignInProvider
  const visitor = yield* anonymous
  const person = { sub: crypto.randomUUID(), email: newEmail() }
  yield* visitor.post("/auth/google", { idToken: yield* provider.idToken(person) })
  yield* requestedAgo(person.email, seconds)
  return yield* visitor.post("/auth/google", { idToken: yield* provider.idToken(person) })
})

const byProviderEmail = Effect.fnUntraced(function*(seconds: number) {
  const { email } = yield* signedIn
  yield* requestedAgo(email, seconds)
  const idToken = yield* (yield* SignInProvider).idToken({ sub: crypto.randomUUID(), email })
  return yield* (yield* anonymous).post("/auth/google", { idToken })
})

const byVerification = Effect.fnUntraced(function*(seconds: number) {
  const visitor = yield* anonymous
  const email = newEmail()
  yield* visitor.post("/auth/signup-email", { email, password: "a long enough password" })
  const token = yield* (yield* Mailbox).tokenFor(email)
  yield* requestedAgo(email, seconds)
  return yield* visitor.post("/auth/verify-email", { token })
})

const byReset = Effect.fnUntraced(function*(seconds: number) {
  const visitor = yield* anonymous
  const email = newEmail()
  yield* signedInAs({ email })
  const mailbox = yield* Mailbox
  const before = (yield* mailbox.mailsTo(email)).length
  yield* visitor.post("/auth/request-password-reset", { email })
  const token = yield* mailbox.tokenAfter(email, before)
  yield* requestedAgo(email, seconds)
  return yield* visitor.post("/auth/reset-password", { token, password: "a long enough password" })
})

const serverLayer = Layer.unwrap(
  Effect.map(
    SignInProvider,
    ({ issuer }) =>
      TestServer.layer({ GOOGLE_ISSUER: issuer, GOOGLE_CLIENT_ID: CLIENT_ID, GOOGLE_CLIENT_SECRET: "secret" })
  )
).pipe(Layer.provideMerge(SignInProvider.layer))

layer(serverLayer)("an account whose 30 days are over, before any sweep", (it) => {
  const ways = [
    ["a password", byPassword, 401],
    ["a linked provider", byLinkedProvider, 401],
    ["a provider that vouches for the address", byProviderEmail, 401],
    ["a link that proves the address", byVerification, 400],
    ["a link that resets the password", byReset, 400]
  ] as const

  for (const [name, way, refusal] of ways) {
    it.effect(`is opened by ${name} until the last second, and from then on not`, () =>
      Effect.gen(function*() {
        const open = yield* way(LAST_SECOND)
        assert.strictEqual(open.status, 200, open.text)
        const closed = yield* way(MONTH)
        assert.strictEqual(closed.status, refusal, closed.text)
        assert.notInclude(closed.text, "accessToken")
        assert.isEmpty(closed.headers.getSetCookie())
      }))
  }
})
