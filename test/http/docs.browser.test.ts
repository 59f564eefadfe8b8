import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { signedIn } from "../support/Actors.ts"
import { Browser, hasBrowser } from "../support/Browser.ts"
import { TestServer } from "../support/TestServer.ts"

/** The page's schema library asks whether it may evaluate text, and goes on without. */
const ASKED_IN_VAIN = ["script-src eval"]

/** Runs in the page: the answer's cookie is the browser's to keep. */
const signIn = (credential: object) =>
  fetch("/api/v1/auth/login-email", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(credential)
  }).then(({ status }) => status)

describe.skipIf(!hasBrowser)(
  "the API page in a browser (skipped where there is no Chromium; CHROMIUM names one)",
  () => {
    layer(Browser.before(TestServer.layer()))((it) => {
      it.effect(
        "finds an endpoint, sends a request in the visitor's session and shows the answer, without a word to another host",
        () =>
          Effect.gen(function*() {
            const { origin } = yield* TestServer
            const rider = yield* signedIn
            const { problems, page, requests, strangers } = yield* (yield* Browser).visit(origin)
            yield* Effect.promise(async () => {
              await page.goto(`${origin}/api`)
              await page.evaluate(signIn, { email: rider.email, password: rider.password })
              await page.getByText("Search").first().click()
              await page.keyboard.type("Read own account")
              await page.getByRole("dialog").getByText("/api/v1/users/me").first().click()
              await page.getByRole("button", { name: /Test Request.*get \/api\/v1\/users\/me\)/ }).click()
              await page.getByRole("button", { name: /^Send get/ }).click()
              await page.getByText(rider.email).waitFor()
              await page.getByText("200 OK").waitFor()
              await page.keyboard.press("Escape")
              await page.setViewportSize({ width: 360, height: 740 })
              assert.strictEqual(await page.evaluate("document.documentElement.scrollWidth"), 360)
            })
            assert.deepStrictEqual(strangers, [])
            assert.deepStrictEqual(problems, ASKED_IN_VAIN)
            assert.deepStrictEqual(
              requests.map((url) => url.slice(origin.length).replace(/reference-[\w-]+/, "reference")),
              ["/api", "/assets/reference.js", "/api/v1/auth/login-email", "/api/v1/users/me"]
            )
          })
      )
    })
  }
)
