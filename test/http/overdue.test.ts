import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { anonymous, newEmail, signedIn } from "../support/Actors.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { CLIENT_ID, SignInProvider } from "../support/SignInProvider.ts"
import { TestServer } from "../support/TestServer.ts"

/** The account of a leaver is to be deleted. */
interface Leaver {
  readonly sub: string
  readonly email: string
  readonly password: string
}

/** The request opens an account. */
interface Attempt {
  readonly path: string
  readonly body: Readonly<Record<string, string>>
}

const byPassword = ({ email, password }: Leaver) =>
  Effect.succeed<Attempt>({ path: "/auth/login-email", body: { email, password } })

const byProvider = ({ email, sub }: Leaver) =>
  Effect.flatMap(SignInProvider, ({ idToken }) => idToken({ sub, email })).pipe(
    Effect.map((idToken): Attempt => ({ path: "/auth/google", body: { idToken } }))
  )

/** Returns the token of the link that a request has mailed. */
const mailedAfter = Effect.fnUntraced(function*({ email }: Leaver, { body, path }: Attempt) {
  const mailbox = yield* Mailbox
  const before = (yield* mailbox.mailsTo(email)).length
  yield* (yield* anonymous).post(path, body)
  return yield* mailbox.tokenAfter(email, before)
})

const byReset = Effect.fnUntraced(function*(leaver: Leaver) {
  const token = yield* mailedAfter(leaver, { path: "/auth/request-password-reset", body: { email: leaver.email } })
  return { path: "/auth/reset-password", body: { token, password: "a long enough password" } }
})

const newLeaver = (): Leaver => ({ sub: crypto.randomUUID(), email: newEmail(), password: "a long enough password" })

const rider = Effect.gen(function*() {
  const { delete: remove, email, password } = yield* signedIn
  yield* remove("/users/me")
  return { ...newLeaver(), email, password }
})

const linked = Effect.gen(function*() {
  const visitor = yield* anonymous
  const leaver = newLeaver()
  const { body, path } = yield* byProvider(leaver)
  const { headers } = yield* visitor.post(path, body)
  yield* visitor.delete("/users/me", { headers: { cookie: headers.getSetCookie()[0]?.split(";")[0] ?? "" } })
  return leaver
})

const serverLayer = Layer.unwrap(
  Effect.map(
    SignInProvider,
    ({ issuer }) =>
      TestServer.layer({
        GOOGLE_ISSUER: issuer,
        GOOGLE_CLIENT_ID: CLIENT_ID,
        GOOGLE_CLIENT_SECRET: "secret"
      })
  )
).pipe(Layer.provideMerge(SignInProvider.layer))

layer(serverLayer)("an account whose 30 days are over, before any sweep", (it) => {
  const ways = [
    ["a password", rider, byPassword, 401],
    ["a linked provider", linked, byProvider, 401],
    ["a provider that vouches for the address", rider, byProvider, 401],
    ["a link that resets the password", rider, byReset, 400]
  ] as const

  for (const [name, leaving, by, refusal] of ways) {
    it.effect(`is opened by ${name} until the last second, and from then on not`, () =>
      Effect.gen(function*() {
        const leavers = [yield* leaving, yield* leaving] as const
        yield* TestClock.adjust("29 days")
        yield* TestClock.adjust("23 hours")
        yield* TestClock.adjust("59 minutes")
        const [first, second] = [yield* by(leavers[0]), yield* by(leavers[1])]
        const visitor = yield* anonymous
        yield* TestClock.adjust("59 seconds")
        const open = yield* visitor.post(first.path, first.body)
        assert.strictEqual(open.status, 200, open.text)
        yield* TestClock.adjust("1 second")
        const closed = yield* visitor.post(second.path, second.body)
        assert.strictEqual(closed.status, refusal, closed.text)
        assert.notInclude(closed.text, "accessToken")
        assert.isEmpty(closed.headers.getSetCookie())
      }))
  }
})
