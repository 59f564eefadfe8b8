import { assert, describe, layer } from "@effect/vitest"
import axe from "axe-core"
import { Effect, Redacted } from "effect"
import type { Page } from "playwright-core"
import { anonymous, newEmail, signedIn } from "../support/Actors.ts"
import { Browser, hasBrowser } from "../support/Browser.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { TestServer } from "../support/TestServer.ts"

const PASSWORD = "a long enough password"
const PHONE = { width: 320, height: 640 }

/** Returns the link of the newest mail, at the test's own origin. */
const linkTo = Effect.fnUntraced(function*(email: string, count: number) {
  const mailbox = yield* Mailbox
  yield* mailbox.tokenAfter(email, count)
  const link = (yield* mailbox.mailsTo(email)).at(-1)?.link ?? Redacted.make("")
  const { origin } = yield* TestServer
  return Redacted.value(link).replace("http://localhost:3000", origin)
})

const signUpLink = Effect.fnUntraced(function*(email: string) {
  yield* (yield* anonymous).post("/auth/signup-email", { email, password: PASSWORD })
  return yield* linkTo(email, 0)
})

const resetLink = Effect.fnUntraced(function*(email: string) {
  const before = (yield* (yield* Mailbox).mailsTo(email)).length
  yield* (yield* anonymous).post("/auth/request-password-reset", { email })
  return yield* linkTo(email, before)
})

const RULES = "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].html))"

/** Returns what axe-core finds wrong with a page, and whether a phone has to scroll sideways. */
const faultsOf = async (page: Page): Promise<ReadonlyArray<string>> => {
  await page.evaluate(axe.source)
  const violations: ReadonlyArray<string> = await page.evaluate(RULES)
  const isWide: boolean = await page.evaluate("document.documentElement.scrollWidth > innerWidth")
  return isWide ? [...violations, "wider than the screen"] : violations
}

const expectText = (page: Page, text: string) => page.getByText(text).first().waitFor()

const signInFrom = async (page: Page, link: string, email: string) => {
  await page.goto(link)
  await page.getByText(email).first().waitFor()
  await page.getByLabel("Password that you chose").fill(PASSWORD)
  await page.getByRole("button", { name: "Verify and sign in" }).click()
  await expectText(page, `You are signed in as ${email}`)
}

describe.skipIf(!hasBrowser)("pages in a browser (skipped where there is no Chromium; CHROMIUM names one)", () => {
  layer(Browser.before(TestServer.layer()))((it) => {
    for (const javaScriptEnabled of [true, false]) {
      it.effect(
        `lead from a mail to a session, a new password and a kept account ${
          javaScriptEnabled ? "with" : "without"
        } JavaScript`,
        () =>
          Effect.gen(function*() {
            const { origin } = yield* TestServer
            const email = newEmail()
            const link = yield* signUpLink(email)
            const visit = yield* (yield* Browser).visit(origin, { javaScriptEnabled })
            const { page } = visit
            yield* Effect.promise(async () => {
              await signInFrom(page, link, email)
              assert.notInclude(page.url(), "token")
              // The session's cookie is there.
              await page.goto(`${origin}/me/cancel-deletion`)
              await expectText(page, `The account ${email} is not going to be deleted.`)
              await page.goto(link)
              await page.getByRole("alert").getByText("was used already").waitFor()
            })
            const reset = yield* resetLink(email)
            yield* Effect.promise(async () => {
              await page.goto(reset)
              await page.getByLabel("New password").fill("short")
              await page.getByRole("button", { name: "Set the password" }).click()
              await page.getByRole("alert").getByText("12 to 1,024 characters").waitFor()
              await page.getByLabel("New password").fill("another long password")
              await page.keyboard.press("Enter")
              await expectText(page, "The new password counts from now on")
            })
            const visitor = yield* anonymous
            const { body } = yield* visitor.post("/auth/login-email", { email, password: "another long password" })
            assert.isObject(body)
            const token = Object.entries(body ?? {}).find(([name]) => name === "accessToken")?.[1]
            yield* visitor.delete("/users/me", { headers: { authorization: `Bearer ${token}` } })
            yield* Effect.promise(async () => {
              await page.goto(`${origin}/me/cancel-deletion`)
              await page.getByLabel("Email address").fill(email)
              await page.getByLabel("Password").fill("another long password")
              await page.getByRole("button", { name: "Sign in" }).click()
              await page.getByRole("button", { name: "Keep the account" }).click()
              await expectText(page, "The deletion is cancelled.")
            })
            assert.deepStrictEqual(visit.strangers, [])
            // A status of 400 is one for the console.
            assert.deepStrictEqual(visit.problems.filter((text) => !text.includes("400 (Bad Request)")), [])
          })
      )
    }

    it.effect("lead a keyboard past the navigation, by a link that is seen when it has the focus", () =>
      Effect.gen(function*() {
        const { origin } = yield* TestServer
        const { page } = yield* (yield* Browser).visit(origin)
        yield* Effect.promise(async () => {
          await page.goto(`${origin}/sign-in`)
          await page.keyboard.press("Tab")
          const skip = page.getByRole("link", { name: "Skip to the content" })
          assert.isAbove((await skip.boundingBox())?.width ?? 0, 100)
          await page.keyboard.press("Enter")
          await page.keyboard.press("Tab")
          const focused: string = await page.evaluate("document.activeElement.id")
          assert.strictEqual(focused, "email")
        })
      }))

    for (const colorScheme of ["light", "dark"] as const) {
      it.effect(`pass axe-core on a phone, ${colorScheme}`, () =>
        Effect.gen(function*() {
          const { origin } = yield* TestServer
          const rider = yield* signedIn
          const reset = yield* resetLink(rider.email)
          const verification = yield* signUpLink(newEmail())
          const { page } = yield* (yield* Browser).visit(origin, { colorScheme, viewport: PHONE })
          yield* Effect.promise(async () => {
            const faults: Array<string> = []
            const look = async () => faults.push(...await faultsOf(page))
            for (
              const path of ["/", "/verify-email?token=x", "/verify-email", "/me/cancel-deletion", "/me/revoke-tokens"]
            ) {
              await page.goto(`${origin}${path}`)
              await look()
            }
            await page.goto(verification)
            await look()
            await page.getByRole("button", { name: "Set the password and sign in" }).click()
            await page.getByRole("alert").waitFor()
            await look()
            await page.goto(reset)
            await look()
            await page.getByRole("button", { name: "Set the password" }).click()
            await page.getByRole("alert").waitFor()
            await look()
            await page.getByLabel("New password").fill(PASSWORD)
            await page.getByRole("button", { name: "Set the password" }).click()
            await expectText(page, "The new password counts from now on")
            await look()
            assert.deepStrictEqual(faults, [])
          })
        }))
    }
  })
})
