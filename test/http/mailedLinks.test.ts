import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { abortedInCommit } from "../support/Aborts.ts"
import { anonymous, newEmail, signedUp } from "../support/Actors.ts"
import { untilLocked, whileLocked } from "../support/Locks.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"
import { served, until, untilNone, within } from "../support/Waiting.ts"

const PASSWORD = "a long enough password"

/** Returns as many links by mail as `count`, each of one request. */
const linksTo = Effect.fnUntraced(function*(email: string, count: number, path: string, body: object) {
  const visitor = yield* anonymous
  const mailbox = yield* Mailbox
  const links: Array<string> = []
  for (let n = 0; n < count; n++) {
    const before = (yield* mailbox.mailsTo(email)).length
    yield* visitor.post(path, body)
    links.push(yield* mailbox.tokenAfter(email, before))
  }
  return links
})

const resetLinks = (email: string, count: number) => linksTo(email, count, "/auth/request-password-reset", { email })

const signUpLinks = (email: string, count: number) =>
  linksTo(email, count, "/auth/signup-email", { email, password: PASSWORD })

const useAtOnce = (path: string, links: ReadonlyArray<string>, times: number) =>
  Effect.flatMap(anonymous, (visitor) =>
    Effect.all(
      Array.from(
        { length: times },
        (_, n) => served(visitor.post(path, { token: links[n % links.length], password: PASSWORD }))
      ),
      { concurrency: "unbounded" }
    ))

const assertOneWins = (responses: ReadonlyArray<Answer>) => {
  const statuses = responses.map(({ status }) => status).toSorted((a, b) => a - b)
  assert.deepStrictEqual(statuses, [200, ...Array.from({ length: responses.length - 1 }, () => 400)])
}

layer(TestServer.layer({ DATABASE_POOL_SIZE: "4" }))("mailed links of one account", (it) => {
  for (const times of [2, 16, 64]) {
    it.effect(`that are used ${times} times at once reset the password once, and all others are 400`, () =>
      Effect.gen(function*() {
        const rider = yield* signedUp
        const other = yield* signedUp
        const links = yield* resetLinks(rider.email, Math.min(times, 3))
        const [responses, others] = yield* Effect.all([
          useAtOnce("/auth/reset-password", links, times),
          Effect.forEach(Array.from({ length: 8 }), () => other.get("/users/me"))
        ], { concurrency: 2 })
        assertOneWins(responses)
        assert.deepStrictEqual(others.map(({ status }) => status), Array.from({ length: 8 }, () => 200))
        const visitor = yield* anonymous
        const again = yield* visitor.post("/auth/login-email", { email: rider.email, password: PASSWORD })
        assert.strictEqual(again.status, 200)
      }))
  }

  it.effect("that are used meanwhile queue, and the metrics count them", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const visitor = yield* anonymous
      const { email, id } = yield* signedUp
      const links = yield* resetLinks(email, 2)
      const uses = yield* sql.withTransaction(Effect.gen(function*() {
        yield* sql`SELECT 1 FROM users WHERE id = ${id} FOR UPDATE`
        const uses = yield* Effect.forkChild(useAtOnce("/auth/reset-password", links, 3))
        const metrics = Effect.map(visitor.get("//metrics"), ({ text }) => text)
        yield* until(Effect.map(metrics, (text) => text.includes("bulkhead_waiting{class=\"links\"} 2\n")))
        assert.include(yield* metrics, "bulkhead_running{class=\"links\"} 1\n")
        return uses
      }))
      assertOneWins(yield* Fiber.join(uses))
    }))

  it.effect("that prove an address 16 times at once make one account, and all others are 400", () =>
    Effect.gen(function*() {
      assertOneWins(yield* useAtOnce("/auth/verify-email", yield* signUpLinks(newEmail(), 3), 16))
    }))

  it.effect("of both kinds at once make one account", () =>
    Effect.gen(function*() {
      const email = newEmail()
      const verification = yield* signUpLinks(email, 2)
      const reset = yield* resetLinks(email, 2)
      const responses = yield* Effect.all([
        useAtOnce("/auth/verify-email", verification, 8),
        useAtOnce("/auth/reset-password", reset, 8)
      ], { concurrency: 2 })
      assertOneWins(responses.flat())
    }))
})

layer(TestServer.layer())("a mailed link", (it) => {
  it.effect("is sent at once although its request is aborted while it commits", () =>
    Effect.gen(function*() {
      const mailbox = yield* Mailbox
      const abort = (path: string, body: object) =>
        abortedInCommit("outbox", path, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body)
        })
      const email = newEmail()
      yield* abort("/auth/signup-email", { email, password: PASSWORD })
      yield* mailbox.tokenFor(email)
      const rider = yield* signedUp
      yield* abort("/auth/request-password-reset", { email: rider.email })
      yield* mailbox.tokenAfter(rider.email, 1)
    }))
})

layer(TestServer.layer())("a change of credentials", (it) => {
  it.effect("are the three newest of a reset, for 30 minutes and for nothing else, and leave those of others", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const rider = yield* signedUp
      const other = yield* signedUp
      const visitor = yield* anonymous
      const newcomer = newEmail()
      const [signUp] = yield* signUpLinks(newcomer, 1)
      const [theirs] = yield* resetLinks(other.email, 1)
      const links: Array<string> = []
      for (let n = 0; n < 4; n++) {
        yield* TestClock.adjust("1 second")
        links.push(...yield* resetLinks(rider.email, 1))
      }
      const statusOf = (path: string, token: string | undefined) =>
        Effect.map(visitor.post(path, { token, password: PASSWORD }), ({ status }) => status)
      const [first, second, third, fourth] = links
      assert.strictEqual(yield* statusOf("/auth/reset-password", first), 400)
      assert.strictEqual(yield* statusOf("/auth/verify-email", second), 400)
      assert.strictEqual(yield* statusOf("/auth/reset-password", signUp), 400)
      assert.strictEqual(yield* statusOf("/auth/reset-password", second), 200)
      for (const token of [second, third, fourth]) {
        assert.strictEqual(yield* statusOf("/auth/reset-password", token), 400)
      }
      assert.strictEqual(yield* statusOf("/auth/reset-password", theirs), 200)
      assert.strictEqual(yield* statusOf("/auth/verify-email", signUp), 200)
      // The mails of the last hour are as many as an address gets. One that is sent later would count in the next hour.
      yield* untilNone(sql`SELECT 1 FROM outbox`)
      yield* TestClock.adjust("1 hour")
      const [late, inTime] = yield* Effect.forEach(
        [rider, other],
        ({ email }) => Effect.map(resetLinks(email, 1), ([link]) => link)
      )
      yield* untilNone(sql`SELECT 1 FROM outbox`)
      yield* TestClock.adjust("1799 seconds")
      assert.strictEqual(yield* statusOf("/auth/reset-password", inTime), 200)
      yield* untilNone(sql`SELECT 1 FROM outbox`)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* statusOf("/auth/reset-password", late), 400)
    }))

  it.effect("locks the account before its links, tokens and sessions", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const rider = yield* signedUp
      const { body } = yield* rider.post("/auth/tokens", { name: "x", scope: "read" })
      const [session] = yield* sql<{ id: string }>`SELECT id FROM sessions WHERE user_id = ${rider.id}`
      const [link] = yield* resetLinks(rider.email, 1)
      yield* untilNone(sql`SELECT 1 FROM outbox`)
      const visitor = yield* anonymous
      assert.isObject(body)
      const tokenId = Object.entries(body ?? {}).find(([name]) => name === "id")?.[1]
      const calls = [
        visitor.post("/auth/reset-password", { token: link, password: PASSWORD }),
        rider.delete(`/auth/tokens/${tokenId}`),
        rider.delete(`/me/sessions/${session?.id}`),
        visitor.post("/auth/request-password-reset", { email: rider.email })
      ]
      const [isLocked, mayUnlock] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      // Each of them is waiting for the account, and none has locked its key or a row that refers to it.
      const lock = Effect.gen(function*() {
        yield* sql`SELECT 1 FROM users WHERE id = ${rider.id} FOR NO KEY UPDATE`
        yield* Deferred.succeed(isLocked, undefined)
        yield* Deferred.await(mayUnlock)
        yield* sql`SELECT 1 FROM users WHERE id = ${rider.id} FOR UPDATE NOWAIT`
        for (const table of ["email_tokens", "personal_access_tokens", "sessions"]) {
          const rows = yield* sql`SELECT 1 FROM ${sql(table)} WHERE user_id = ${rider.id} FOR UPDATE NOWAIT`
          assert.isAbove(rows.length, 0, table)
        }
      }).pipe(sql.withTransaction)
      const locking = yield* Effect.forkChild(lock)
      yield* Deferred.await(isLocked)
      const responses = yield* Effect.forkChild(Effect.all(calls, { concurrency: "unbounded" }))
      yield* untilLocked(calls.length)
      yield* Deferred.succeed(mayUnlock, undefined)
      yield* Fiber.join(locking)
      const statuses = (yield* Fiber.join(responses)).map(({ status }) => status)
      assert.deepStrictEqual([statuses[0], statuses[1]], [200, 200])
    }))
})

layer(TestServer.layer(), { excludeTestServices: true })("a reset", (it) => {
  it.effect("of an address that is verified meanwhile is mailed at once", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const email = newEmail()
      yield* visitor.post("/auth/signup-email", { email, password: PASSWORD })
      const { tokenAfter, tokenFor } = yield* Mailbox
      const token = yield* tokenFor(email)
      // The verification has locked the sign-up, and waits for another transaction, which takes its handle.
      const handle = email.slice(0, 30).replace(/-$/, "")
      const verified = yield* whileLocked(
        (sql) =>
          sql`INSERT INTO users (email, email_key, email_verified_at, name, handle, created_at, updated_at)
            VALUES ('a@b.c', 'a@b.c', now(), 'x', ${handle}, now(), now())`,
        Effect.gen(function*() {
          const verified = yield* Effect.forkChild(visitor.post("/auth/verify-email", { token }))
          yield* untilLocked(1)
          yield* visitor.post("/auth/request-password-reset", { email })
          yield* untilLocked(2)
          return verified
        })
      )
      yield* Fiber.join(verified)
      yield* within(10_000)(tokenAfter(email, 1))
    }))
})
