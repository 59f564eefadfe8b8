import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { anonymous, newEmail, withHeaders } from "../support/Actors.ts"
import { COMPILE_CACHE } from "../support/CompileCache.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { CLIENT_ID, SignInProvider } from "../support/SignInProvider.ts"
import { SECRETS, TestServer } from "../support/TestServer.ts"
import { untilNone } from "../support/Waiting.ts"

const PASSWORD = "a long enough password"
const ADMIN = "admin@example.com"

const CLOSED = {
  statusCode: 403,
  code: "FORBIDDEN",
  message: "Sign-up is closed here: ask an administrator for an invitation",
  details: { reason: "signup_disabled" }
}

const programs = join(import.meta.dirname, "../../src")

/** Returns what the program for operators writes, and how it ends. */
const user = (databaseUrl: string, ...args: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const child = spawn(process.execPath, ["--disable-proto=delete", join(programs, "user.ts"), ...args], {
      env: { ...COMPILE_CACHE, ...SECRETS, DATABASE_URL: databaseUrl, BASE_URL: "https://routes.example.com" },
      stdio: ["ignore", "pipe", "pipe"]
    })
    const code = new Promise<number | null>((resolve) => child.once("close", resolve))
    const output = await text(child.stdout)
    return { code: await code, output }
  })

class DatabaseUrl extends Context.Service<DatabaseUrl, string>()("test/DatabaseUrl") {
  static readonly layer = Layer.effect(DatabaseUrl, clonedDatabase)
}

const closedServer = Layer.unwrap(
  Effect.gen(function*() {
    const { issuer } = yield* SignInProvider
    return TestServer.on(yield* DatabaseUrl, {
      SIGNUP_ENABLED: "false",
      ADMIN_EMAILS: ADMIN,
      GOOGLE_ISSUER: issuer,
      GOOGLE_CLIENT_ID: CLIENT_ID,
      GOOGLE_CLIENT_SECRET: "secret"
    })
  })
).pipe(Layer.provideMerge([SignInProvider.layer, DatabaseUrl.layer]))

const tokenIn = (output: string) => /https:\/\/routes\.example\.com\/reset-password\?token=([\w-]+)/.exec(output)?.[1]

/** The operator creates the account of the administrator. */
const createdAdmin = Effect.gen(function*() {
  const visitor = yield* anonymous
  const { code, output } = yield* user(yield* DatabaseUrl, "create", ADMIN)
  assert.strictEqual(code, 0, output)
  const reset = yield* visitor.post("/auth/reset-password", { token: tokenIn(output), password: PASSWORD })
  assert.strictEqual(reset.status, 200)
  return yield* signedInBy(ADMIN)
})

const signedInBy = Effect.fnUntraced(function*(email: string) {
  const { headers, status } = yield* (yield* anonymous).post("/auth/login-email", { email, password: PASSWORD })
  assert.strictEqual(status, 200)
  return yield* withHeaders({ cookie: headers.getSetCookie().map((cookie) => cookie.split(";")[0]).join("; ") })
})

layer(closedServer)("where sign-up is closed", (it) => {
  it.effect("an operator creates the first account, and its owner invites others by mail, for 7 days and once", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const admin = yield* createdAdmin
      const lookAlike = yield* user(yield* DatabaseUrl, "create", "\u212Aim@example.com")
      assert.strictEqual(lookAlike.code, 1)
      assert.include(lookAlike.output, "Expected an email address without characters before the @ that Unicode folds")
      const email = newEmail()
      assert.strictEqual((yield* admin.post("/admin/invitations", { email })).status, 201)
      const token = yield* (yield* Mailbox).tokenFor(email)
      const [mail] = yield* (yield* Mailbox).mailsTo(email)
      assert.strictEqual(mail?.subject, "You are invited")
      assert.include(mail?.ifNotYou, "ignore this mail")
      // A stranger who knows the address requests as many resets as are good at once.
      for (let n = 0; n < 3; n++) {
        yield* TestClock.adjust("1 second")
        const before = (yield* (yield* Mailbox).mailsTo(email)).length
        assert.strictEqual((yield* visitor.post("/auth/request-password-reset", { email })).status, 200)
        yield* (yield* Mailbox).tokenAfter(email, before)
      }
      const late = newEmail()
      assert.strictEqual((yield* admin.post("/admin/invitations", { email: late })).status, 201)
      const lateToken = yield* (yield* Mailbox).tokenFor(late)
      const reset = (token: string) => visitor.post("/auth/reset-password", { token, password: PASSWORD })
      yield* TestClock.adjust("6 days")
      assert.strictEqual((yield* reset(token)).status, 200)
      assert.strictEqual((yield* reset(token)).status, 400)
      yield* TestClock.adjust("25 hours")
      assert.strictEqual((yield* reset(lateToken)).status, 400)
      const idToken = yield* (yield* SignInProvider).idToken({ sub: late, email: late })
      assert.deepStrictEqual((yield* visitor.post("/auth/google", { idToken })).body, CLOSED)
      assert.strictEqual((yield* (yield* signedInBy(email)).get("/users/me")).status, 200)
      const returned = yield* signedInBy(ADMIN)
      assert.strictEqual((yield* returned.post("/admin/invitations", { email })).status, 409)
      assert.strictEqual((yield* returned.post("/admin/invitations", { email: "nobody" })).status, 400)
      const { body } = yield* returned.get("/admin/audit?event=admin.user_invited")
      assert.isArray(body)
      assert.lengthOf(Array.isArray(body) ? body : [], 2)
    }))

  it.effect("strangers get 403 with the reason for each way in, and those who were invited do not", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const visitor = yield* anonymous
      const provider = yield* SignInProvider
      const email = newEmail()
      const signUp = yield* visitor.post("/auth/signup-email", { email, password: PASSWORD })
      assert.deepStrictEqual(signUp.body, CLOSED)
      const signInAs = Effect.fnUntraced(function*(email: string) {
        return yield* visitor.post("/auth/google", { idToken: yield* provider.idToken({ sub: email, email }) })
      })
      assert.deepStrictEqual((yield* signInAs(email)).body, CLOSED)
      // The sign-up has been pending since before the service was closed.
      const token = "x".repeat(43)
      const hash = createHash("sha256").update(token).digest("base64url")
      yield* sql`
        WITH s AS (
          INSERT INTO sign_ups (email, email_key, name, created_at, expires_at)
          VALUES (${email}, ${email}, 'x', 'epoch', 'infinity') RETURNING id
        )
        INSERT INTO email_tokens (token_hash, sign_up_id, purpose, created_at, expires_at)
        SELECT ${hash}, id, 'verify-email', 'epoch', 'infinity' FROM s`
      assert.deepStrictEqual((yield* visitor.post("/auth/verify-email", { token })).body, CLOSED)
      yield* visitor.post("/auth/request-password-reset", { email })
      yield* untilNone(sql`SELECT 1 FROM outbox`)
      assert.deepStrictEqual(yield* (yield* Mailbox).mailsTo(email), [])
      yield* sql`UPDATE sign_ups SET is_invited = true WHERE email = ${email}`
      assert.strictEqual((yield* signInAs(email)).status, 200)
    }))
})

layer(TestServer.layer({ PROVIDER_SIGN_IN_ENABLED: "false" }))("where sign-in by a provider is switched off", (it) => {
  it.effect("it is 403 with the reason", () =>
    Effect.gen(function*() {
      const { body } = yield* (yield* anonymous).post("/auth/google", { idToken: "x" })
      assert.deepInclude(body, { statusCode: 403, details: { reason: "provider_sign_in_disabled" } })
    }))
})
