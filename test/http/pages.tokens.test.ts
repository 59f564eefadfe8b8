import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { PAGES } from "../../src/http/request/RouteTemplates.ts"
import { type Actor, anonymous, newEmail, type Rider, signedIn, withHeaders } from "../support/Actors.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"
import { mint, refusalOf, withToken } from "../support/Tokens.ts"

const PASSWORD = "a long enough password"

/** Sends what a browser sends for a form of our own pages. */
const submit = (actor: Actor, page: keyof typeof PAGES, fields: Readonly<Record<string, string>>, headers = {}) =>
  actor.call("POST", `/${PAGES[page]}`, {
    raw: new URLSearchParams(fields).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin", ...headers }
  })

const show = (actor: Actor) => actor.get(`/${PAGES.revokeTokens}`)

/** Returns the page after a reset by a mailed link. */
const resetBy = Effect.fnUntraced(function*(email: string) {
  const visitor = yield* anonymous
  const mailbox = yield* Mailbox
  const before = (yield* mailbox.mailsTo(email)).length
  yield* visitor.post("/auth/request-password-reset", { email })
  return yield* submit(visitor, "resetPassword", {
    token: yield* mailbox.tokenAfter(email, before),
    password: PASSWORD
  })
})

/** Returns the browser of somebody who signs in on the page. */
const signedInOn = Effect.fnUntraced(function*({ email }: Rider, password: string) {
  const entered = yield* submit(yield* anonymous, "revokeTokens", { email, password })
  assert.deepStrictEqual([entered.status, entered.headers.get("location")], [303, "revoke-tokens"])
  return yield* withHeaders({
    cookie: entered.headers.getSetCookie().map((cookie) => cookie.split(";")[0]).join("; ")
  })
})

const assertAlert = ({ text }: Answer, message: string) =>
  assert.include(text, `<p class="error" id="error" role="alert">${message}`)

layer(TestServer.layer())("tokens that a password reset leaves alive", (it) => {
  it.effect("are counted on the page after it, which leads to where they are revoked", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const none = yield* resetBy(rider.email)
      assert.include(none.text, "Your account has no personal access token")
      assert.notInclude(none.text, "revoke-tokens")

      const other = yield* signedIn
      yield* mint(other, "read")
      assert.include((yield* resetBy(other.email)).text, "1 personal access token of your account still works")

      const third = yield* signedIn
      const { id } = yield* mint(third, "read")
      yield* mint(third, "write")
      yield* mint(third, "write")
      yield* third.delete(`/auth/tokens/${id}`)
      const page = yield* resetBy(third.email)
      assert.include(page.text, "2 personal access tokens of your account still work")
      assert.include(page.text, `<a href="${PAGES.revokeTokens.slice(1)}">`)
    }))

  it.effect("are not mentioned to somebody invited but as none", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const email = newEmail()
      yield* visitor.post("/auth/signup-email", { email, password: "another long password" })
      yield* (yield* Mailbox).tokenFor(email)
      assert.include((yield* resetBy(email)).text, "Your account has no personal access token")
    }))

  it.effect("are listed after signing in with the new password, and all revoked by a button", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const tokens = [
        yield* mint(rider, "read", { name: "<b>bike</b> computer\u202E" }),
        yield* mint(rider, "write", { name: "backup" })
      ]
      const stranger = yield* signedIn
      const theirs = yield* mint(stranger, "read")
      yield* resetBy(rider.email)
      assert.include((yield* show(rider)).text, "autocomplete=\"current-password\"")
      const wrong = yield* submit(yield* anonymous, "revokeTokens", { email: rider.email, password: rider.password })
      assert.strictEqual(wrong.status, 401)
      assertAlert(wrong, "Wrong email address or password.")

      const browser = yield* signedInOn(rider, PASSWORD)
      const list = yield* show(browser)
      assert.include(list.text, `of the account <strong>${rider.email}</strong> work`)
      assert.include(
        list.text,
        `<strong>&lt;b&gt;bike&lt;/b&gt; computer</strong> (${tokens[0]?.hint}): read only, made on `
      )
      for (const { token } of tokens) assert.notInclude(list.text, token)

      const revoked = yield* submit(browser, "revokeTokens", {})
      assert.strictEqual(revoked.status, 200)
      assert.include(revoked.text, "No personal access token of your account works any more.")
      for (const { token } of tokens) assert.strictEqual(yield* refusalOf(token), "token_revoked")
      assert.strictEqual((yield* (yield* withToken(theirs.token)).get("/users/me")).status, 200)
      assert.include((yield* show(browser)).text, "has no personal access token. There is nothing to do.")
    }))

  it.effect("are revoked by nobody but a signed-in owner, on the page itself", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { token } = yield* mint(rider, "write")
      const anyone = yield* submit(yield* anonymous, "revokeTokens", {})
      assert.strictEqual(anyone.status, 401)
      assertAlert(anyone, "You are not signed in: sign in again.")
      assert.include(anyone.text, "name=\"password\"")
      assert.strictEqual((yield* submit(yield* withToken(token), "revokeTokens", {})).status, 401)
      const elsewhere = yield* submit(rider, "revokeTokens", {}, { "sec-fetch-site": "cross-site" })
      assert.strictEqual(elsewhere.status, 403)
      assert.strictEqual((yield* (yield* withToken(token)).get("/users/me")).status, 200)
    }))

  it.effect("of an account pending deletion stay until the deletion is cancelled", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { token } = yield* mint(rider, "write")
      yield* rider.delete("/users/me")
      const browser = yield* signedInOn(rider, rider.password)
      for (const answer of [yield* show(browser), yield* submit(browser, "revokeTokens", {})]) {
        assert.strictEqual(answer.status, 403)
        assertAlert(answer, "The account is pending deletion: cancel the deletion first.")
      }
      yield* submit(browser, "cancelDeletion", {})
      assert.strictEqual((yield* (yield* withToken(token)).get("/users/me")).status, 200)
    }))
})
