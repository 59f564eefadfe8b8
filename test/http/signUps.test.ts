import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { anonymous, newEmail, signedUp } from "../support/Actors.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { TestServer } from "../support/TestServer.ts"
import { until, untilNone, untilSwept } from "../support/Waiting.ts"

const PASSWORD = "a long enough password"

const User = Schema.Struct({
  id: Schema.Int,
  email: Schema.String,
  name: Schema.String,
  handle: Schema.String,
  isEmailVerified: Schema.Boolean
})

const userIn = (body: unknown) => Schema.decodeUnknownSync(Schema.Struct({ user: User }))(body).user

interface Person {
  readonly email: string
  readonly name?: string
  readonly password?: string
}

/** Asks for an account; the link's token comes by mail to the address as it was typed. */
const signUp = Effect.fnUntraced(function*({ email, name, password = PASSWORD }: Person) {
  const mailbox = yield* Mailbox
  const before = (yield* mailbox.mailsTo(email)).length
  const visitor = yield* anonymous
  const response = yield* visitor.post("/auth/signup-email", {
    email,
    password,
    ...(name === undefined ? {} : { name })
  })
  assert.deepStrictEqual([response.status, response.body], [201, { success: true }])
  return yield* mailbox.tokenAfter(email, before)
})

const verify = (token: string, password?: string) =>
  Effect.flatMap(
    anonymous,
    (visitor) => visitor.post("/auth/verify-email", password === undefined ? { token } : { token, password })
  )

const logIn = (email: string, password = PASSWORD) =>
  Effect.flatMap(anonymous, (visitor) => visitor.post("/auth/login-email", { email, password }))

const profileStatus = (handle: string) =>
  Effect.flatMap(anonymous, (visitor) => Effect.map(visitor.get(`/users/${handle}`), ({ status }) => status))

const countOf = (table: string, email: string) =>
  SqlClient.SqlClient.use((sql) => sql`SELECT 1 FROM ${sql(table)} WHERE email_key = ${email.toLowerCase()}`).pipe(
    Effect.map((rows) => rows.length)
  )

/** Makes a name and the handle that is made of it. */
const newName = () => {
  const name = `rider ${crypto.randomUUID().slice(0, 18)}`
  return { name, handle: name.replaceAll(" ", "-") }
}

const shuffled = <A>(all: ReadonlyArray<A>) =>
  all.map((value) => ({ value, at: Math.random() })).toSorted((a, b) => a.at - b.at).map(({ value }) => value)

layer(TestServer.withSweeps())("a sign-up", (it) => {
  it.effect("shows no profile and takes no handle before its link is used, like one of a known address", () =>
    Effect.gen(function*() {
      const known = yield* signedUp
      const names = [newName(), newName()] as const
      const visitor = yield* anonymous
      const unknown = newEmail()
      const token = yield* signUp({ email: unknown, name: names[0].name })
      yield* visitor.post("/auth/signup-email", { email: known.email, password: PASSWORD, name: names[1].name })
      for (const { handle } of names) assert.strictEqual(yield* profileStatus(handle), 404)
      for (const { handle } of names) {
        const other = yield* signedUp
        assert.strictEqual((yield* other.patch("/users/me", { handle })).status, 200)
      }
      const { handle, name } = userIn((yield* verify(token)).body)
      assert.strictEqual(name, names[0].name)
      assert.notStrictEqual(handle, names[0].handle)
      assert.isTrue(handle.startsWith(names[0].handle.slice(0, 24)))
    }))

  it.effect("is refused alike for a known address and an unknown one when its password is tried, for as long and at the same cost", () =>
    Effect.gen(function*() {
      const known = yield* signedUp
      const visitor = yield* anonymous
      const mailbox = yield* Mailbox
      const hashes = Effect.map(
        visitor.get("//metrics"),
        ({ text }) => Number(/^password_hash_duration_seconds_count (\d+)$/m.exec(text)?.[1])
      )
      const tried = Effect.fnUntraced(function*(email: string, password = PASSWORD) {
        const before = yield* hashes
        const { body, status } = yield* logIn(email, password)
        return { body, status, hashes: (yield* hashes) - before }
      })
      const mailed = (email: string, count: number) =>
        until(Effect.map(mailbox.mailsTo(email), (mails) => mails.length === count))
      const unknown = newEmail()
      const stranger = yield* tried(newEmail())
      assert.strictEqual(stranger.status, 401)
      for (const { email, mails } of [{ email: known.email, mails: 1 }, { email: unknown, mails: 0 }]) {
        assert.deepStrictEqual(yield* tried(email), stranger)
        yield* visitor.post("/auth/signup-email", { email, password: PASSWORD })
        yield* mailed(email, mails + 1)
      }
      assert.deepInclude(yield* tried(known.email, known.password), { status: 200, hashes: 1 })
      const both = Effect.all([tried(known.email), tried(unknown)])
      const [ofKnown, ofUnknown] = yield* both
      assert.strictEqual(ofKnown.status, 403)
      assert.deepStrictEqual(ofKnown, { ...ofUnknown, hashes: stranger.hashes })
      for (const email of [known.email, unknown]) {
        assert.deepStrictEqual(yield* tried(email, "not the right password"), stranger)
      }
      yield* mailed(known.email, 3)
      yield* TestClock.adjust("6 days")
      yield* TestClock.adjust("12 hours")
      assert.deepStrictEqual(yield* both, [ofKnown, ofKnown])
      yield* mailed(known.email, 4)
      yield* mailed(unknown, 3)
      yield* TestClock.adjust("23 hours")
      for (const email of [known.email, unknown]) yield* visitor.post("/auth/request-password-reset", { email })
      yield* mailed(known.email, 5)
      yield* mailed(unknown, 4)
      assert.deepStrictEqual(yield* both, [ofKnown, ofKnown])
    }))

  it.effect("is tried by the password of the newest of its address, also of two at one instant", () =>
    Effect.gen(function*() {
      const email = newEmail()
      yield* signUp({ email, password: "the password of the first" })
      yield* signUp({ email, password: "the password of the second" })
      assert.strictEqual((yield* logIn(email, "the password of the first")).status, 401)
      assert.strictEqual((yield* logIn(email, "the password of the second")).status, 403)
    }))

  it.effect("gives the account its name, its handle and its spelling of the address when its link is used", () =>
    Effect.gen(function*() {
      const email = newEmail()
      const [evil, own] = [newName(), newName()]
      const theirs = yield* signUp({
        email: email.toUpperCase(),
        name: evil.name,
        password: "somebody else's password"
      })
      const mine = yield* signUp({ email, name: own.name })
      const { id: _id, ...user } = userIn((yield* verify(mine, PASSWORD)).body)
      assert.deepStrictEqual(user, { email, name: own.name, handle: own.handle, isEmailVerified: true })
      assert.strictEqual((yield* verify(theirs)).status, 400)
      assert.strictEqual((yield* logIn(email, "somebody else's password")).status, 401)
      assert.strictEqual((yield* logIn(email)).status, 200)
      assert.strictEqual(yield* profileStatus(evil.handle), 404)
      assert.strictEqual(yield* countOf("sign_ups", email), 0)
    }))

  for (const concurrency of [1, "unbounded"] as const) {
    it.effect(`of many of one address is the account whose link is used first, ${concurrency} at once`, () =>
      Effect.gen(function*() {
        for (let round = 0; round < 2; round++) {
          const email = newEmail()
          // An hour has mails for as many.
          const people = Array.from({ length: 5 }, (_, n) => ({
            ...newName(),
            email: n % 2 === 0 ? email : email.toUpperCase(),
            password: `wonderful password ${n} of 5`
          }))
          const links = yield* Effect.forEach(
            people,
            (person) => Effect.map(signUp(person), (token) => ({ person, token }))
          )
          const uses = yield* Effect.forEach(
            shuffled(links),
            ({ person, token }) => Effect.map(verify(token, person.password), (response) => ({ person, response })),
            { concurrency }
          )
          const winner = uses.find(({ response }) => response.status === 200)
          assert.deepStrictEqual(
            uses.map(({ response }) => response.status).toSorted((a, b) => a - b),
            [200, 400, 400, 400, 400]
          )
          if (winner === undefined) return assert.fail("no link could be used")
          const { person: { handle, name, email: typed }, response } = winner
          assert.deepInclude(userIn(response.body), { email: typed, name, handle })
          assert.strictEqual(yield* countOf("users", email), 1)
          assert.strictEqual(yield* countOf("sign_ups", email), 0)
          for (const { person, response } of [winner, ...uses.slice(-1)]) {
            assert.strictEqual((yield* logIn(email, person.password)).status, response.status === 200 ? 200 : 401)
          }
        }
      }))
  }

  it.effect("is kept for seven days, and no longer signs in from that instant", () =>
    Effect.gen(function*() {
      const email = newEmail()
      yield* signUp({ email })
      yield* TestClock.adjust("6 days")
      yield* TestClock.adjust("86399 seconds")
      assert.strictEqual(yield* countOf("sign_ups", email), 1)
      assert.strictEqual((yield* logIn(email, "not the right password")).status, 401)
      const other = newEmail()
      yield* signUp({ email: other })
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* logIn(email)).status, 401)
      yield* untilSwept(Effect.map(countOf("sign_ups", email), (count) => count === 0))
      assert.strictEqual(yield* countOf("sign_ups", other), 1)
    }))

  it.effect("stays as long as a link that was mailed since can be used", () =>
    Effect.gen(function*() {
      const email = newEmail()
      const mailbox = yield* Mailbox
      yield* signUp({ email })
      yield* TestClock.adjust("6 days")
      yield* TestClock.adjust("12 hours")
      const before = (yield* mailbox.mailsTo(email)).length
      assert.strictEqual((yield* logIn(email)).status, 403)
      const token = yield* mailbox.tokenAfter(email, before)
      yield* TestClock.adjust("23 hours")
      assert.strictEqual((yield* logIn(email)).status, 403)
      assert.strictEqual((yield* verify(token)).status, 200)
    }))

  it.effect("becomes an account by the link of a reset too, with the password that is chosen then", () =>
    Effect.gen(function*() {
      const email = newEmail()
      const { handle, name } = newName()
      yield* signUp({ email, name })
      const mailbox = yield* Mailbox
      const before = (yield* mailbox.mailsTo(email)).length
      const visitor = yield* anonymous
      assert.strictEqual((yield* visitor.post("/auth/request-password-reset", { email })).status, 200)
      const token = yield* mailbox.tokenAfter(email, before)
      const password = "another good password"
      const responses = yield* Effect.all(
        Array.from({ length: 8 }, () => visitor.post("/auth/reset-password", { token, password })),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        responses.map(({ status }) => status).toSorted((a, b) => a - b),
        [200, 400, 400, 400, 400, 400, 400, 400]
      )
      assert.include((yield* visitor.get(`//reset-password?token=${token}`)).text, "This link was used already.")
      assert.deepInclude(userIn((yield* logIn(email, password)).body), { email, handle, name })
      assert.strictEqual((yield* logIn(email)).status, 401)
    }))
})

layer(TestServer.layer())("what is mailed", (it) => {
  it.effect("is determined after the response: before it the same is stored for every address, and no account is read", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const mailbox = yield* Mailbox
      const rider = yield* signedUp
      const stranger = newEmail()
      yield* untilNone(sql`SELECT 1 FROM outbox`)
      const before = (yield* mailbox.mailsTo(rider.email)).length
      const [isLocked, mayUnlock] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const lock = sql`LOCK TABLE email_tokens, sign_ups IN ACCESS EXCLUSIVE MODE`.pipe(
        Effect.andThen(Deferred.succeed(isLocked, undefined)),
        Effect.andThen(Deferred.await(mayUnlock)),
        sql.withTransaction
      )
      const locking = yield* Effect.forkChild(lock)
      yield* Deferred.await(isLocked)
      const visitor = yield* anonymous
      for (const email of [rider.email, stranger]) {
        const response = yield* visitor.post("/auth/request-password-reset", { email })
        assert.deepStrictEqual([response.status, response.body], [200, { success: true }])
      }
      const rows = yield* sql<{ payload: string; user_id: number | null }>`SELECT payload, user_id FROM outbox`
      assert.deepStrictEqual(rows.map(({ user_id }) => user_id), [null, null])
      assert.notInclude(JSON.stringify(rows.map(({ payload }) => payload)), rider.email)
      yield* Deferred.succeed(mayUnlock, undefined)
      yield* Fiber.join(locking)
      yield* mailbox.tokenAfter(rider.email, before)
      yield* untilNone(sql`SELECT 1 FROM outbox`)
      assert.deepStrictEqual(yield* mailbox.mailsTo(stranger), [])
    }))

  it.effect("to one address is five mails an hour and ten a day, of all kinds; responses stay the same", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const mailbox = yield* Mailbox
      const rider = yield* signedUp
      const visitor = yield* anonymous
      const ask = Effect.fnUntraced(function*(times: number) {
        for (let n = 0; n < times; n++) {
          const email = n % 2 === 0 ? rider.email : rider.email.toUpperCase()
          const reset = yield* visitor.post("/auth/request-password-reset", { email })
          assert.deepStrictEqual([reset.status, reset.body], [200, { success: true }])
          const again = yield* visitor.post("/auth/signup-email", { email, password: PASSWORD })
          assert.deepStrictEqual([again.status, again.body], [201, { success: true }])
        }
        yield* untilNone(sql`SELECT 1 FROM outbox`)
        return (yield* mailbox.mailsTo(rider.email)).length
      })
      assert.strictEqual(yield* ask(4), 5)
      yield* TestClock.adjust("59 minutes")
      assert.strictEqual(yield* ask(1), 5)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* ask(4), 10)
      yield* TestClock.adjust("2 hours")
      assert.strictEqual(yield* ask(1), 10)
      yield* TestClock.adjust("21 hours")
      assert.strictEqual(yield* ask(4), 15)
      const stored = yield* sql`SELECT recipient FROM mail_quotas`
      assert.notInclude(JSON.stringify(stored), "example.com")
    }))
})
