import { assert, describe, layer } from "@effect/vitest"
import axe from "axe-core"
import { Effect, Redacted } from "effect"
import { readFile } from "node:fs/promises"
import type { Page } from "playwright-core"
import { newEmail, signedInAs } from "../support/Actors.ts"
import { Browser, hasBrowser } from "../support/Browser.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { TestServer } from "../support/TestServer.ts"

const PASSWORD = "a long enough password"

const ADMINS = ["first@example.com", "second@example.com", "third@example.com", "fourth@example.com"]

const SCREENS = { phone: { width: 360, height: 740 }, desktop: { width: 1280, height: 800 } }

const RULES = "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].html))"

const IS_WIDE = "document.documentElement.scrollWidth > innerWidth"

const HAS_SCRIPTS = "matchMedia('(scripting: enabled)').matches"

/** Returns what axe-core, which needs scripts, finds wrong with a page. */
const violationsOf = async (page: Page): Promise<ReadonlyArray<string>> => {
  const hasScripts: boolean = await page.evaluate(HAS_SCRIPTS)
  if (!hasScripts) return []
  await page.evaluate(axe.source)
  return page.evaluate(RULES)
}

/** Nothing is wrong with a page, and nobody has to scroll sideways. */
const assertSound = async (page: Page) => {
  const violations = await violationsOf(page)
  const isWide: boolean = await page.evaluate(IS_WIDE)
  assert.deepStrictEqual([violations, isWide], [[], false], page.url())
}

const GPX =
  `<gpx version="1.1" creator="t" xmlns="http://www.topografix.com/GPX/1/1"><trk><name>Evening loop</name><trkseg>${
    Array.from({ length: 60 }, (_, index) => `<trkpt lat="${47.1 + index / 1000}" lon="${9.5 + index / 2000}"/>`).join(
      ""
    )
  }</trkseg></trk></gpx>`

/** Chromium reports the status of a refused form, of the page that asks for a sign-in, and of one that is not there. */
const EXPECTED = /status of 40[014]/

const press = (page: Page, name: string | RegExp) => page.getByRole("button", { name }).first().click()

const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name }).waitFor()

/** Opens what asks before an action, and confirms. */
const confirm = async (page: Page, name: string) => {
  await page.locator("summary", { hasText: name }).click()
  await press(page, name)
}

const accept = async (page: Page, link: string) => {
  await page.goto(link)
  await heading(page, "Welcome")
  await assertSound(page)
  await page.getByLabel("Name").fill("Ada Rider")
  await page.getByLabel("Password").fill(PASSWORD)
  await press(page, "Make my account")
  await page.getByText("Welcome! Your account is ready").waitFor()
  await assertSound(page)
}

const IN_VIEW = `[document.activeElement.id, ...["#error", "#tags"].filter((part) => {
  const { bottom, top } = document.querySelector(part).getBoundingClientRect()
  return top >= 0 && bottom <= innerHeight
})]`

/** Saves what is refused: the field has the focus, and is in view together with what is wrong. */
const saveWrongTags = async (page: Page) => {
  await page.locator("#tags").fill("Ä Ö")
  await press(page, "Save")
  await page.getByRole("alert").waitFor()
  const seen: ReadonlyArray<string> = await page.evaluate(IN_VIEW)
  assert.deepStrictEqual(seen, ["tags", "#error", "#tags"])
  await assertSound(page)
  await page.locator("#tags").fill("")
}

/** Uploads a file, publishes its route, and returns the link to copy. */
const share = async (page: Page) => {
  await page.locator("summary", { hasText: "Upload routes" }).click()
  await page.getByLabel("Files").setInputFiles({
    name: "loop.gpx",
    mimeType: "application/gpx+xml",
    buffer: Buffer.from(GPX)
  })
  await press(page, "Upload")
  await page.getByRole("status").getByText("Uploaded.").waitFor()
  await heading(page, "Evening loop")
  await saveWrongTags(page)
  await page.getByLabel("Description").fill("Along the river")
  await page.getByLabel("Who sees it").selectOption("public")
  await press(page, "Save")
  await page.getByRole("status").getByText("Saved.").waitFor()
  assert.strictEqual(await page.getByLabel("Description").inputValue(), "Along the river")
  await assertSound(page)
  return page.getByLabel("Link to copy").inputValue()
}

const mint = async (page: Page) => {
  await page.getByRole("link", { name: "Account", exact: true }).click()
  await page.getByRole("link", { name: "Tokens", exact: true }).click()
  await page.getByLabel("Name").fill("backup script")
  await press(page, "Make the token")
  assert.match(await page.getByLabel("Token", { exact: true }).inputValue(), /^service_pat_/)
  await assertSound(page)
}

/** Downloads the archive of the account, and returns the names of its files, which a ZIP lists in plain text. */
const take = async (page: Page) => {
  await page.getByRole("link", { name: "Export and import" }).click()
  await assertSound(page)
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Export the account" }).click()
  ])
  const content = await readFile(await download.path())
  assert.include(content.toString("latin1"), "routes/")
}

/** Loses the session while a form is open, and sends the form all the same. */
const sendLate = async (page: Page, email: string) => {
  await page.getByRole("link", { name: "Profile" }).click()
  await page.getByLabel("Name").fill("Ada Late")
  await page.context().clearCookies()
  await press(page, "Save")
  await page.getByText("what you entered is kept").waitFor()
  await assertSound(page)
  await page.getByLabel("Email address").fill(email)
  await page.getByLabel("Password").fill(PASSWORD)
  await press(page, "Sign in")
  await page.getByText("What you entered was not sent yet.").waitFor()
  await assertSound(page)
  await press(page, "Send it now")
  await page.getByText("Saved.").waitFor()
  assert.strictEqual(await page.getByLabel("Name").inputValue(), "Ada Late")
}

/** Where scripts run, a button copies a link. */
const assertCopied = async (page: Page, hasScripts: boolean) => {
  const button = page.getByRole("button", { name: "Copy" }).first()
  assert.strictEqual(await button.count(), hasScripts ? 1 : 0)
  if (!hasScripts) return
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"])
  await button.click()
  await page.getByRole("button", { name: "Copied" }).waitFor()
}

const PAGES = [
  ...["routes", "trash", "collections", "profile", "privacy-zones", "tokens", "sessions", "password", "data", "delete"]
    .map((name) => `me/${name}`),
  "sign-out",
  "no/such/page"
]

const leave = async (page: Page, email: string) => {
  await page.getByRole("link", { name: "Delete account" }).click()
  await confirm(page, "Delete my account")
  await heading(page, "Keep your account")
  await page.getByLabel("Email address").fill(email)
  await page.getByLabel("Password").fill(PASSWORD)
  await press(page, "Sign in")
  await press(page, "Keep the account")
  await page.getByRole("link", { name: "See my routes" }).click()
  await page.getByRole("link", { name: "Evening loop" }).waitFor()
}

describe.skipIf(!hasBrowser)("an account in a browser (skipped where there is no Chromium; CHROMIUM names one)", () => {
  layer(Browser.before(TestServer.layer({ ADMIN_EMAILS: ADMINS.join(",") })))((it) => {
    const cases = Object.entries(SCREENS).flatMap(([screen, viewport]) =>
      [true, false].map((javaScriptEnabled) => ({ screen, viewport, javaScriptEnabled }))
    )
    for (const [index, { javaScriptEnabled, screen, viewport }] of cases.entries()) {
      it.effect(
        `lives on a ${screen} ${
          javaScriptEnabled ? "with" : "without"
        } JavaScript: invited, uploads, publishes, mints, exports, sends late, leaves, stays`,
        () =>
          Effect.gen(function*() {
            const { origin } = yield* TestServer
            const admin = yield* signedInAs({ email: ADMINS[index] ?? "" })
            const email = newEmail()
            yield* admin.post("/admin/invitations", { email })
            const mailbox = yield* Mailbox
            yield* mailbox.tokenFor(email)
            const [mail] = yield* mailbox.mailsTo(email)
            const link = Redacted.value(mail?.link ?? Redacted.make("")).replace("http://localhost:3000", origin)
            const visit = yield* (yield* Browser).visit(origin, { javaScriptEnabled, viewport })
            const stranger = yield* (yield* Browser).visit(origin, { javaScriptEnabled, viewport })
            yield* Effect.promise(async () => {
              await accept(visit.page, link)
              const address = await share(visit.page)
              await stranger.page.goto(address.replace("http://localhost:3000", origin))
              await heading(stranger.page, "Evening loop")
              await assertCopied(visit.page, javaScriptEnabled)
              await mint(visit.page)
              await take(visit.page)
              await sendLate(visit.page, email)
              for (const path of javaScriptEnabled ? PAGES : []) {
                await visit.page.goto(`${origin}/${path}`)
                await assertSound(visit.page)
              }
              await visit.page.goto(`${origin}/me/profile`)
              await leave(visit.page, email)
              await stranger.page.goto(origin)
              await stranger.page.getByRole("link", { name: "Evening loop" }).first().waitFor()
              await assertSound(stranger.page)
            })
            const problems = visit.problems.filter((problem) => !EXPECTED.test(problem))
            assert.deepStrictEqual([problems, visit.strangers], [[], []])
          })
      )
    }
  })
})
