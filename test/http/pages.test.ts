import { assert, it as test, layer } from "@effect/vitest"
import { Effect } from "effect"
import { plainWords, STYLESHEET } from "../../src/http/pages/layout/Layout.ts"
import { PAGES, templateOf } from "../../src/http/request/RouteTemplates.ts"
import { GatewayTimeout } from "../../src/schema/Errors.ts"
import { textsIn } from "../../src/services/texts/Texts.ts"
import { type Actor, anonymous, newEmail, signedIn, signedUp, withHeaders } from "../support/Actors.ts"
import { DatabaseProxy } from "../support/DatabaseProxy.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const PASSWORD = "a long enough password"

const pathOf = (page: keyof typeof PAGES) => `/${PAGES[page]}`

/** Sends what a browser sends for a form of our own pages. */
const submit = (actor: Actor, page: keyof typeof PAGES, fields: Readonly<Record<string, string>>, headers = {}) =>
  actor.call("POST", pathOf(page), {
    raw: new URLSearchParams(fields).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin", ...headers }
  })

/** Returns the token of a new sign-up's mail. */
const signUp = Effect.fnUntraced(function*(email: string) {
  yield* (yield* anonymous).post("/auth/signup-email", { email, password: PASSWORD })
  return yield* (yield* Mailbox).tokenFor(email)
})

const resetToken = Effect.fnUntraced(function*(email: string) {
  const mailbox = yield* Mailbox
  const before = (yield* mailbox.mailsTo(email)).length
  yield* (yield* anonymous).post("/auth/request-password-reset", { email })
  return yield* mailbox.tokenAfter(email, before)
})

const cookiesOf = ({ headers }: Answer) => headers.getSetCookie().map((cookie) => cookie.slice(0, cookie.indexOf("=")))

const SESSION = ["__Host-service_session", "__Host-service_device"]

const assertAlert = ({ text }: Answer, message: string) => {
  assert.match(text, /<title>Error: /)
  assert.include(text, `<p class="error" id="error" role="alert">${message}`)
}

layer(TestServer.layer())("pages", (it) => {
  it.effect("a verification link changes nothing until its form is sent, which signs in once", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const email = newEmail()
      const token = yield* signUp(email)
      for (const method of ["GET", "HEAD", "GET"]) {
        const { headers, status } = yield* visitor.call(method, `${pathOf("verifyEmail")}?token=${token}`)
        assert.strictEqual(status, 200)
        assert.deepStrictEqual(headers.getSetCookie(), [])
      }
      const verified = yield* submit(visitor, "verifyEmail", { token, password: PASSWORD })
      assert.strictEqual(verified.status, 200)
      assert.deepStrictEqual(cookiesOf(verified), SESSION)
      assert.include(verified.text, `signed in as <strong>${email}</strong>`)
      const again = yield* submit(visitor, "verifyEmail", { token, password: PASSWORD })
      assert.deepStrictEqual([again.status, again.headers.getSetCookie()], [400, []])
      assertAlert(again, "This link was used already.")
      assert.include(again.text, "Your address is already verified: <a href=\"sign-in\">sign in</a>")
    }))

  it.effect("load nothing from elsewhere, run one script of a file, are not stored and send no referrer", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      for (const path of Object.values(PAGES)) {
        const { headers, text } = yield* visitor.get(`/${path}?token=canary`)
        assert.strictEqual(headers.get("content-type"), "text/html; charset=utf-8")
        assert.strictEqual(
          headers.get("content-security-policy"),
          `default-src 'none'; style-src 'self'; img-src ${
            path === PAGES.home ? "'self' " : ""
          }data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; script-src 'self'${
            path === PAGES.home ? "; connect-src 'self'" : ""
          }`
        )
        // With "no-referrer" a browser sends the form with "Origin: null", which over plain HTTP is refused as
        // cross-site.
        assert.strictEqual(headers.get("referrer-policy"), "strict-origin")
        assert.strictEqual(headers.get("cache-control"), "no-store")
        assert.strictEqual(
          text.match(/<script type="module" src="[./]*assets\/forms-[\w-]{16}\.js"><\/script>/g)?.length,
          1
        )
        assert.notMatch(text, /<script(?! type="module" src=)|<style|https?:|\son\w+=|\sstyle=/)
      }
    }))

  it.effect("escape what a link and a form bring", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const hostile = "\"><script>alert(1)</script>"
      const { text: unusable } = yield* visitor.get(`${pathOf("resetPassword")}?token=${encodeURIComponent(hostile)}`)
      assert.notInclude(unusable, "<script>")
      const shown = yield* submit(visitor, "resetPassword", { token: hostile, email: hostile, password: "short" })
      const refused = yield* submit(visitor, "cancelDeletion", { email: hostile, password: "x" })
      assert.strictEqual(refused.status, 401)
      for (const { text } of [shown, refused]) {
        assert.include(text, "value=\"&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;\"")
        assert.notInclude(text, "<script>")
      }
    }))

  it.effect("a password that is refused keeps the form and its link, and the next one is set", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const rider = yield* signedIn
      const token = yield* resetToken(rider.email)
      const refused = yield* submit(visitor, "resetPassword", { token, password: "short" })
      assert.strictEqual(refused.status, 400)
      assertAlert(refused, "Choose another password. Use 12 to 1,024 characters.")
      assert.include(refused.text, "aria-describedby=\"password-hint error\" aria-invalid=\"true\"")
      assert.include(refused.text, `name="token" value="${token}"`)
      assert.notInclude(refused.text, "short")
      const set = yield* submit(visitor, "resetPassword", { token, password: PASSWORD })
      assert.deepStrictEqual([set.status, set.headers.getSetCookie()], [200, []])
      assert.strictEqual(
        (yield* visitor.post("/auth/login-email", { email: rider.email, password: PASSWORD })).status,
        200
      )
      const again = yield* submit(visitor, "resetPassword", { token, password: PASSWORD })
      assertAlert(again, "This link was used already.")
      assert.include(again.text, "A password was set by it: <a href=\"sign-in\">sign in</a>.")
    }))

  it.effect("a form that is refused names the address that it named before, and marks the field that is wrong", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const email = newEmail()
      const token = yield* signUp(email)
      const shown = yield* visitor.get(`${pathOf("verifyEmail")}?token=${token}`)
      assert.include(shown.text, `makes the account of <strong>${email}</strong>`)
      assert.notInclude(shown.text, "aria-invalid")
      const wrong = yield* submit(visitor, "verifyEmail", { token, email, password: "wrong" })
      assertAlert(wrong, "The password is not that of the sign-up")
      assert.strictEqual(wrong.text.split(`name="email" value="${email}"`).length, 3)
      const marked = ({ text }: Answer) =>
        [...text.matchAll(/<input type="password" id="(\w+)".*aria-invalid="true"/g)].map(([, name]) => name)
      assert.deepStrictEqual(marked(wrong), ["password"])
      const short = yield* submit(visitor, "verifyEmail", { token, newPassword: "short" })
      assertAlert(short, "Choose another password. Use 12 to 1,024 characters.")
      assert.deepStrictEqual(marked(short), ["newPassword"])
      assert.include(short.text, "makes the account of your email address")
      assert.notInclude(short.text, "name=\"email\"")
    }))

  it.effect("forms that another site sends, of another type or over 32 KiB are refused with a page", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const token = yield* signUp(newEmail())
      const answers = [
        yield* submit(visitor, "verifyEmail", { token }, { "sec-fetch-site": "cross-site" }),
        yield* visitor.call("POST", pathOf("verifyEmail"), {
          raw: `token=${token}`,
          headers: { origin: "https://evil.example.com", "content-type": "application/x-www-form-urlencoded" }
        }),
        yield* visitor.post(pathOf("verifyEmail"), { token }),
        yield* submit(visitor, "verifyEmail", { token: "x".repeat(33_000) })
      ]
      assert.deepStrictEqual(answers.map(({ status }) => status), [403, 403, 415, 413])
      for (const answer of answers) assert.include(answer.text, "role=\"alert\"")
      assert.strictEqual((yield* visitor.delete(pathOf("verifyEmail"))).headers.get("allow"), "GET, POST, HEAD")
      assert.strictEqual((yield* submit(visitor, "verifyEmail", { token, password: PASSWORD })).status, 200)
    }))

  it.effect("an account that is to be deleted is kept by signing in and pressing a button", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const { email, password, ...rider } = yield* signedIn
      yield* rider.delete("/users/me")
      const { text } = yield* visitor.get(pathOf("cancelDeletion"))
      assert.include(text, "autocomplete=\"current-password\"")
      assert.include(text, "href=\"../forgot-password\"", "for an account without a password")
      const wrong = yield* submit(visitor, "cancelDeletion", { email, password: "wrong" })
      assert.strictEqual(wrong.status, 401)
      assertAlert(wrong, "Wrong email address or password.")
      assert.include(wrong.text, `value="${email}" aria-describedby="error" aria-invalid="true"`)
      const entered = yield* submit(visitor, "cancelDeletion", { email, password })
      assert.deepStrictEqual([entered.status, entered.headers.get("location")], [303, "cancel-deletion"])
      assert.deepStrictEqual(cookiesOf(entered), SESSION)
      const cookie = entered.headers.getSetCookie().map((cookie) => cookie.split(";")[0]).join("; ")
      const returned = yield* withHeaders({ cookie })
      assert.include((yield* returned.get(pathOf("cancelDeletion"))).text, "Keep the account")
      assert.strictEqual((yield* returned.get("/routes")).status, 403)
      assert.strictEqual(
        (yield* submit(returned, "cancelDeletion", {}, { "sec-fetch-site": "cross-site" })).status,
        403
      )
      assert.include((yield* submit(returned, "cancelDeletion", {})).text, "The deletion is cancelled.")
      assert.strictEqual((yield* returned.get("/routes")).status, 200)
      const again = yield* submit(returned, "cancelDeletion", {})
      assert.strictEqual(again.status, 409)
      assertAlert(again, "There is no deletion that can be cancelled.")
      assert.notInclude(again.text, "<form")
      assert.include((yield* returned.get(pathOf("cancelDeletion"))).text, "is not going to be deleted")
      assert.strictEqual((yield* submit(visitor, "cancelDeletion", {})).status, 401)
    }))

  it.effect("mails tell people who did not cause them what to do", () =>
    Effect.gen(function*() {
      const mailbox = yield* Mailbox
      const visitor = yield* anonymous
      const { email } = yield* signedUp
      yield* visitor.post("/auth/signup-email", { email, password: PASSWORD })
      yield* submit(visitor, "resetPassword", { token: yield* resetToken(email), password: PASSWORD })
      yield* until(Effect.map(mailbox.mailsTo(email), (mails) => mails.length === 4))
      const mails = yield* mailbox.mailsTo(email)
      assert.deepStrictEqual(mails.map(({ subject }) => subject).toSorted(), [
        "Reset your password",
        "Verify your email address",
        "You already have an account",
        "Your password was changed"
      ])
      for (const { ifNotYou } of mails) assert.match(ifNotYou ?? "", /^If (you did|it was|this was) not .*[.]$/)
    }))

  it.effect("the first page says what this is and leads to the documentation", () =>
    Effect.gen(function*() {
      const { text } = yield* (yield* anonymous).get(pathOf("home"))
      assert.include(text, "Route Planning Service is for people who run")
      for (const link of ["api", "api/openapi.json", "me/cancel-deletion"]) assert.include(text, `href="${link}"`)
    }))

  it.effect("the stylesheet is kept for a year under a path with its hash, and no other path has one", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const { text } = yield* visitor.get(pathOf("cancelDeletion"))
      const path = /href="\.\.(\/assets\/pages-[\w-]{16}\.css)"/.exec(text)?.[1] ?? ""
      const { headers, status } = yield* visitor.get(`/${path}`)
      assert.strictEqual(status, 200)
      assert.strictEqual(headers.get("content-type"), "text/css; charset=utf-8")
      assert.strictEqual(headers.get("cache-control"), "public, max-age=31536000, immutable")
      assert.strictEqual(headers.get("access-control-allow-origin"), "*")
      assert.notMatch(headers.get("vary") ?? "", /cookie|origin/i)
      assert.strictEqual((yield* visitor.get("//assets/pages-AAAAAAAAAAAAAAAA.css")).status, 404)
    }))

  it.effect("the stylesheet is packed by Brotli for those who accept it (RFC 9110, 12.5.3)", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const accepted = {
        br: "br",
        "gzip;q=1, br;q=0.1": "br",
        "br;q=1": "br",
        "br;q=0": null,
        "br;q=0.000": null,
        x: null
      }
      for (const [header, encoding] of Object.entries(accepted)) {
        const { headers, text } = yield* visitor.get(`/${STYLESHEET.path}`, { headers: { "accept-encoding": header } })
        assert.strictEqual(headers.get("content-encoding"), encoding, header)
        assert.strictEqual(text, STYLESHEET.text, header)
      }
    }))
})

layer(TestServer.layer({ RATE_LIMITS_ENABLED: "true" }))("the limits of pages", (it) => {
  it.effect("are those of the endpoints that do the same, and the form stays", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      for (const _ of [1, 2]) yield* visitor.post("/auth/reset-password", { token: "x", password: PASSWORD })
      for (const _ of [1, 2, 3]) yield* submit(visitor, "resetPassword", { token: "x", password: PASSWORD })
      const refused = yield* submit(visitor, "resetPassword", { token: "x", password: PASSWORD })
      assert.strictEqual(refused.status, 429)
      assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/)
      assertAlert(refused, "That was tried too often. Try again in")
      assert.include(refused.text, "name=\"token\" value=\"x\"")
    }))
})

layer(TestServer.behindProxy)("pages without a database", (it) => {
  it.effect("say so, and the form stays", () =>
    Effect.gen(function*() {
      const proxy = yield* DatabaseProxy
      const visitor = yield* anonymous
      yield* proxy.refuse
      const refused = yield* submit(visitor, "verifyEmail", { token: "x" })
      assert.strictEqual(refused.status, 503)
      assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/)
      assertAlert(refused, "The service is busy or is starting.")
      assert.notInclude(refused.text, "aria-invalid")
      assert.include(refused.text, "name=\"token\" value=\"x\"")
    }))
})

layer(TestServer.layer({ PAGES_ENABLED: "false", API_DOCS_ENABLED: "false" }))("pages, switched off", (it) => {
  it.effect("are not there", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      for (const path of Object.values(PAGES)) assert.strictEqual((yield* visitor.get(`/${path}`)).status, 404)
    }))
})

test("a request for a page is known by its path, without the token", () => {
  assert.strictEqual(templateOf("GET", "/verify-email?token=canary"), "/verify-email")
  assert.strictEqual(templateOf("POST", "/reset-password"), "/reset-password")
})

test("a page says of an upstream service that did not respond in time that a request may be sent again", () => {
  const error = new GatewayTimeout({ message: "The identity provider did not respond in time" })
  assert.strictEqual(plainWords(textsIn("en"), error), "The service is busy or is starting. Try again in a moment.")
})
