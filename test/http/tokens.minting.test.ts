import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type Rider, signedIn } from "../support/Actors.ts"
import { untilLocked, whileLocked } from "../support/Locks.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"
import { mint } from "../support/Tokens.ts"
import { until } from "../support/Waiting.ts"

const ENDLESS = { name: "a script", scope: "write", expiresInDays: null }

const Issues = Schema.Struct({
  details: Schema.Struct({ issues: Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String })) })
})

const issueIn = ({ body }: Answer) => Schema.decodeUnknownSync(Issues)(body).details.issues[0]

const noticesTo = Effect.fnUntraced(function*({ email }: Rider, count: number) {
  const mails = (yield* Mailbox).mailsTo(email)
  yield* until(Effect.map(mails, ({ length }) => length === count))
  return yield* mails
})

const tokensOf = Effect.fnUntraced(function*(rider: Rider) {
  return (yield* rider.get("/auth/tokens")).headers.get("x-total-count")
})

const hashes = Effect.gen(function*() {
  const { call } = yield* TestServer
  const { text } = yield* call("GET", "//metrics")
  return Number(/^password_hash_duration_seconds_count(?:{[^}]*})? (\d+)/m.exec(text)?.[1] ?? 0)
})

layer(TestServer.layer())("a new personal access token", (it) => {
  it.effect("is mailed to its owner: its name, scope, instant and end, never the token", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { hint, token } = yield* mint(rider, "write", { name: "bike computer", expiresInDays: 10 })
      const [mail] = yield* noticesTo(rider, 1)
      assert.deepStrictEqual([mail?.subject, mail?.link], ["A new access token was made", undefined])
      assert.strictEqual(
        mail?.text,
        `The personal access token "bike computer" (${hint}) was made on Jan 1, 1970, 00:00 UTC. Its scope is "write": `
          + "anyone who has it can read and change your routes and collections. It expires on Jan 11, 1970, 00:00 UTC."
      )
      assert.match(mail?.ifNotYou ?? "", /^If this was not you, .*revoke the token and request a password reset/)
      assert.notInclude(JSON.stringify(mail), token)
    }))

  it.effect("has its name in one line of the mail, without characters that reorder text", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* mint(rider, "read", { name: "laptop\u202E\r\n\r\nThis is fine,\tignore it\u200B" })
      const [mail] = yield* noticesTo(rider, 1)
      assert.include(mail?.text, "\"laptop This is fine, ignore it\"")
    }))

  it.effect("without an end needs the current password", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const mintWith = (members: object) => rider.post("/auth/tokens", { ...ENDLESS, ...members })
      for (const missing of [{}, { currentPassword: null }]) {
        const answer = yield* mintWith(missing)
        assert.strictEqual(answer.status, 400)
        assert.deepStrictEqual(issueIn(answer), {
          path: "body.currentPassword",
          message: "Expected the current password, for a token without an end"
        })
      }
      const before = yield* hashes
      const wrong = yield* mintWith({ currentPassword: "a wrong password" })
      assert.deepInclude(wrong.body, { statusCode: 403, code: "FORBIDDEN", message: "The current password is wrong" })
      assert.strictEqual(yield* hashes, before + 1)
      assert.strictEqual(yield* tokensOf(rider), "0")
      const rows = yield* SqlClient.SqlClient.use((sql) =>
        sql`SELECT 1 FROM audit_events WHERE user_id = ${rider.id} AND event = 'token.mint_failed'`
      )
      assert.strictEqual(rows.length, 1)

      const right = yield* mintWith({ currentPassword: rider.password })
      assert.strictEqual(right.status, 201)
      assert.deepInclude(right.body, { expiresAt: null })
      assert.notInclude(right.text, rider.password)
      const [mail] = yield* noticesTo(rider, 1)
      assert.include(mail?.text, "It never expires.")
      for (const end of [{ expiresInDays: undefined }, { expiresInDays: 366 }]) {
        assert.strictEqual((yield* mintWith(end)).status, 201)
      }
    }))

  it.effect("needs an end where the account has no password", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* SqlClient.SqlClient.use((sql) => sql`UPDATE users SET password_hash = NULL WHERE id = ${rider.id}`)
      for (const members of [{}, { currentPassword: rider.password }]) {
        const refused = yield* rider.post("/auth/tokens", { ...ENDLESS, ...members })
        assert.strictEqual(refused.status, 400)
        assert.deepStrictEqual(issueIn(refused), {
          path: "body.expiresInDays",
          message: "Expected 1 to 366, since the account has no password: give an end, or set a password first"
        })
      }
      assert.strictEqual((yield* rider.post("/auth/tokens", { ...ENDLESS, expiresInDays: 1 })).status, 201)
      yield* rider.post("/users/me/password", { newPassword: "a long enough password" })
      const minted = yield* rider.post("/auth/tokens", { ...ENDLESS, currentPassword: "a long enough password" })
      assert.strictEqual(minted.status, 201)
    }))

  it.effect("without an end is not made by a password that was changed meanwhile", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const calling = rider.post("/auth/tokens", { ...ENDLESS, currentPassword: rider.password })
      // The request verifies the old password, then waits for the account.
      const request = yield* whileLocked(
        (sql) => sql`UPDATE users SET password_hash = 'another' WHERE id = ${rider.id}`,
        Effect.tap(Effect.forkChild(calling), () => untilLocked(1))
      )
      assert.strictEqual((yield* Fiber.join(request)).status, 403)
    }))
})
