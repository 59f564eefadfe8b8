import { assert, describe, layer } from "@effect/vitest"
import axe from "axe-core"
import { Effect } from "effect"
import type { Locator, Page } from "playwright-core"
import { ACCOUNT_PAGES, PAGES } from "../../src/http/request/RouteTemplates.ts"
import { newEmail, signedInAs } from "../support/Actors.ts"
import { Browser, enter, hasBrowser } from "../support/Browser.ts"
import { publish } from "../support/PublicRoutes.ts"
import { created } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"

const ADMIN = "admin@example.com"

/** One administrator has scripts, the other has none. */
const KEEPERS = [
  { email: "scripted@example.com", javaScriptEnabled: true },
  { email: "plain@example.com", javaScriptEnabled: false }
]

const ADMINS = [ADMIN, ...KEEPERS.map(({ email }) => email)].join(",")

const PHONE = { width: 360, height: 740 }

const NEW_PASSWORD = "another long password"

/**
 * Notes what gets the focus, of all that a keyboard should reach in the order of the page. Content of closed details is
 * not there.
 */
const START = `
walk = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
  .filter((element) => element.type !== "hidden" && element.checkVisibility({ visibilityProperty: true }))
reached = []
addEventListener("focusin", ({ target }) => {
  const { height, width } = target.getBoundingClientRect()
  const isSeen = getComputedStyle(target).outlineStyle !== "none" && width > 1 && height > 1
  reached.push([walk.indexOf(target), isSeen, target.outerHTML.slice(0, 120)])
})
walk.length`

const LINKS = `[...document.links].map(({ href }) => new URL(href).pathname)`

/** A label would lead to the first of two fields. */
const SAME_IDS =
  "[...document.querySelectorAll('[id]')].map(({ id }) => id).filter((id, at, all) => all.indexOf(id) < at)"

const IS_WIDE = "document.documentElement.scrollWidth > innerWidth"

/** Returns the elements that Tab does not reach in the order of the page, or without a mark that is seen. */
const tabFaultsOf = async (page: Page) => {
  const count: number = await page.evaluate(START)
  let reached: ReadonlyArray<readonly [index: number, isSeen: boolean, text: string]> = []
  // A field for a date has several stops.
  for (let round = 0; round < 4 && reached.at(-1)?.[0] !== count - 1; round++) {
    for (let step = reached.length; step < count; step++) await page.keyboard.press("Tab")
    reached = await page.evaluate("reached")
  }
  const wrong = reached.filter(([index, isSeen], step) => index !== step || !isSeen)
  const faults = wrong.map(([index, , text]) => `${page.url()} ${index}: ${text}`)
  return reached.length === count ? faults : [...faults, `${page.url()}: Tab reached ${reached.length} of ${count}`]
}

const RULES = "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].html))"

/** Colours are all that a theme changes. */
const COLOUR_RULES = RULES.replace("()", "({ runOnly: ['color-contrast'] })")

const axeFaultsOf = async (page: Page) => {
  await page.evaluate(axe.source)
  const found: ReadonlyArray<string> = await page.evaluate(RULES)
  await page.emulateMedia({ colorScheme: "dark" })
  const dark: ReadonlyArray<string> = await page.evaluate(COLOUR_RULES)
  await page.emulateMedia({ colorScheme: "light" })
  const isWide: boolean = await page.evaluate(IS_WIDE)
  const sameIds: ReadonlyArray<string> = await page.evaluate(SAME_IDS)
  return [...found, ...dark, ...sameIds, ...isWide ? ["wider than the screen"] : []].map((fault) =>
    `${page.url()}: ${fault}`
  )
}

const IS_FOCUSED = (element: unknown, active: unknown) => element === active

const MAX_TABS = 60

/** Presses Tab until something has the focus. */
const reach = async (page: Page, wanted: Locator) => {
  for (let step = 0; step < MAX_TABS; step++) {
    await page.keyboard.press("Tab")
    const active = await page.evaluateHandle("document.activeElement")
    if (await wanted.evaluate(IS_FOCUSED, active)) return
  }
  assert.fail(`Tab does not reach ${wanted} of ${page.url()}`)
}

const press = async (page: Page, wanted: Locator, key = "Enter") => {
  await reach(page, wanted)
  await page.keyboard.press(key)
}

const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name, exact: true }).waitFor()

const link = (page: Page, name: string) => page.getByRole("link", { name, exact: true }).first()

const action = (page: Page, name: string) => page.locator(`main button[value="${name}"]`).first()

/** The words of a form that asks before are like those of what it has done. */
const hears = (page: Page, said: string) => page.getByRole("status").getByText(said).first().waitFor()

/** Sends a form, which may be in a part that asks before. */
const send = async (page: Page, name: string, said: string) => {
  const button = action(page, name)
  if (!await button.isVisible()) {
    await page.locator("details", { has: page.locator(`button[value="${name}"]`) }).first().locator("summary").click()
  }
  await button.click()
  await hears(page, said)
}

const fill = async (page: Page, fields: Readonly<Record<string, string>>) => {
  for (const [id, value] of Object.entries(fields)) {
    const field = page.locator(`main #${id}`)
    if (await field.evaluate((element) => String(element).includes("Select"))) await field.selectOption(value)
    else await field.fill(value)
  }
}

const gpx = (name: string, lat: number) =>
  `<gpx version="1.1" creator="t" xmlns="http://www.topografix.com/GPX/1/1"><trk><name>${name}</name><trkseg>${
    Array.from({ length: 60 }, (_, index) => `<trkpt lat="${lat + index / 1000}" lon="9.5"/>`).join("")
  }</trkseg></trk></gpx>`

const upload = async (page: Page) => {
  await page.locator(".upload summary").click()
  const files = { "a.gpx": gpx("First", 47), "b.gpx": gpx("Second", 46), "c.gpx": "<gpx>" }
  await page.locator("#files").setInputFiles(
    Object.entries(files).map(([name, text]) => ({ name, mimeType: "application/gpx+xml", buffer: Buffer.from(text) }))
  )
  await page.locator(".upload button").click()
  await page.getByRole("status").getByText("The file").or(page.locator(".problem")).first().waitFor()
  assert.strictEqual(await page.locator(".notice a").count(), 2)
}

const downloaded = async (page: Page, name: string) => {
  const [download] = await Promise.all([page.waitForEvent("download"), link(page, name).click()])
  return download.path()
}

/** Does what an owner does with routes. */
const keepRoutes = async (page: Page) => {
  await upload(page)
  await link(page, "My routes").click()
  await fill(page, { q: "first", visibility: "private" })
  await page.locator(".filters button").click()
  await page.getByText("1 route", { exact: true }).waitFor()
  await link(page, "First").click()
  await fill(page, {
    name: "Renamed",
    description: "By the river",
    tags: "gravel",
    activity: "cycle",
    visibility: "unlisted"
  })
  await page.locator("input[name=favourite]").check()
  await send(page, "save", "Saved.")
  assert.match(await page.getByLabel("Link to copy").inputValue(), /\/r\/\w+/)
  await fill(page, { label: "For the club", expires: "2999-01-01" })
  await send(page, "addLink", "It is in the list.")
  await send(page, "removeLink", "Revoked.")
  await send(page, "replaceLink", "There is a new link.")
  await fill(page, { visibility: "public" })
  await send(page, "save", "Saved.")
  await downloaded(page, "GPX")
  await send(page, "delete", "Moved to the trash")
  await link(page, "Trash").click()
  await send(page, "restoreRoute", "Restored.")
  await link(page, "My routes").click()
  await page.locator("#favourite").selectOption("true")
  await page.locator(".filters button").click()
  await link(page, "Renamed").waitFor()
}

const keepCollections = async (page: Page) => {
  await link(page, "Collections").click()
  await fill(page, { name: "Best rides" })
  await send(page, "create", "Saved.")
  for (const _ of [1, 2]) await send(page, "addRoute", "Saved.")
  await send(page, "down", "Saved.")
  await send(page, "up", "Saved.")
  await send(page, "removeRoute", "Saved.")
  await fill(page, { visibility: "unlisted" })
  await send(page, "save", "Saved.")
  assert.match(await page.getByLabel("Link to copy").inputValue(), /\/c\/\w+/)
  await send(page, "delete", "Moved to the trash")
  await link(page, "Trash").click()
  await send(page, "emptyCollections", "Erased for good.")
}

const keepAccount = async (page: Page, password: string) => {
  await link(page, "Account").click()
  await fill(page, { name: "Ada Rider", avatar: "https://example.com/a.png", units: "imperial" })
  await send(page, "save", "Saved.")
  await link(page, "Privacy zones").click()
  await fill(page, { place: "https://www.openstreetmap.org/#map=15/47.1415/9.5209" })
  await send(page, "add", "Saved.")
  await send(page, "remove", "Saved.")
  await link(page, "Tokens").click()
  await fill(page, { name: "script" })
  await send(page, "mint", "shown this once")
  await send(page, "revoke", "Revoked.")
  await link(page, "Sessions").click()
  await page.getByText("This browser.").waitFor()
  await link(page, "Export and import").click()
  const archive = await downloaded(page, "Export the account")
  await page.locator("#archive").setInputFiles(archive)
  await page.getByRole("button", { name: "Import the archive" }).click()
  await page.getByText("The archive is imported.").waitFor()
  await link(page, "Password").click()
  await fill(page, { currentPassword: password, newPassword: NEW_PASSWORD })
  await page.locator("main form button").last().click()
  await page.getByText("Saved.").waitFor()
}

const administer = async (page: Page, email: string) => {
  await link(page, "Administration").click()
  await page.getByText("in all").first().waitFor()
  await link(page, "Users").click()
  await fill(page, { q: email })
  await page.locator(".filters button").click()
  await page.getByText("1 account").waitFor()
  await link(page, "Invitations").click()
  await fill(page, { emails: `${newEmail()}\n${newEmail()}` })
  await send(page, "invite", "Invited.")
  await send(page, "again", "Invited.")
  await send(page, "withdraw", "Withdrawn.")
  await link(page, "Audit").click()
  await fill(page, { event: "admin.user_invited" })
  await page.locator(".filters button").click()
  await page.getByRole("cell", { name: "Administrator: invited someone" }).first().waitFor()
}

describe.skipIf(!hasBrowser)("every page (skipped where there is no Chromium; CHROMIUM names one)", () => {
  layer(Browser.before(TestServer.layer({ ADMIN_EMAILS: ADMINS })))((it) => {
    it.effect(
      "is walked by Tab in its order with a mark that is seen, passes axe-core in both themes, and is two clicks from any other",
      () =>
        Effect.gen(function*() {
          const { origin } = yield* TestServer
          const admin = yield* signedInAs({ email: ADMIN })
          yield* admin.patch("/users/me", { handle: "ada-rides" })
          const route = yield* publish(admin, {
            name: "Around Vaduz by Donaudampfschifffahrtsgesellschaftskapitänsanlegestelle"
          })
          const { body } = yield* admin.post("/collections", {
            name: "Passes",
            visibility: "public",
            routeIds: [route.id]
          })
          const collection = created(body)
          const { collection: _, forgotPassword, route: __, signIn, signOut, signUp, ...own } = ACCOUNT_PAGES
          const shared = ["/", `/r/${route.shareToken}`, `/c/${collection.shareToken}`, "/u/ada-rides"]
          const others = [signOut, "/no/such/page", `/me/routes/${route.id}`, `/me/collections/${collection.id}`]
          const { page } = yield* (yield* Browser).visit(origin, { viewport: PHONE })
          yield* Effect.promise(async () => {
            const links = new Map<string, ReadonlyArray<string>>()
            const faults: Array<string> = []
            const walk = async (path: string) => {
              await page.goto(`${origin}${path}`)
              links.set(path, await page.evaluate(LINKS))
              faults.push(...await tabFaultsOf(page), ...await axeFaultsOf(page))
            }
            for (const path of [forgotPassword, signIn, signUp, PAGES.verifyEmail, PAGES.revokeTokens]) await walk(path)
            await enter(page, origin, admin)
            const all = [...Object.values(own), ...shared, ...others]
            for (const path of all) await walk(path)
            const leads = (from: string, to: string) => links.get(from)?.includes(to) === true
            const far = all.flatMap((from) =>
              Object.values(own).filter((to) =>
                from !== to && !leads(from, to) && links.get(from)?.some((middle) => leads(middle, to)) !== true
              ).map((to) => `${from} to ${to}`)
            )
            assert.deepStrictEqual([faults, far], [[], []])
          })
        }),
      300_000
    )

    it.effect(
      "needs no mouse: a collection is made and deleted, and its maker signs out",
      () =>
        Effect.gen(function*() {
          const { origin } = yield* TestServer
          const rider = yield* signedInAs({})
          const { page } = yield* (yield* Browser).visit(origin)
          yield* Effect.promise(async () => {
            await enter(page, origin, rider)
            await press(page, link(page, "Collections"))
            await heading(page, "Collections")
            await reach(page, page.locator("#name"))
            await page.keyboard.type("Long rides")
            await press(page, action(page, "create"))
            await heading(page, "Long rides")
            await press(page, page.locator("summary").last())
            await press(page, action(page, "delete"), "Space")
            await hears(page, "Moved to the trash")
            await press(page, link(page, "Account"))
            await heading(page, "Profile")
            await press(page, page.getByRole("button", { name: "Sign out" }))
            await page.waitForURL(`${origin}/`)
          })
        })
    )

    for (const { email, javaScriptEnabled } of KEEPERS) {
      it.effect(
        `does what it is for ${
          javaScriptEnabled ? "with" : "without"
        } JavaScript: each act of an account and of an administrator, once`,
        () =>
          Effect.gen(function*() {
            const { origin } = yield* TestServer
            const admin = yield* signedInAs({ email })
            const { page, problems } = yield* (yield* Browser).visit(origin, { javaScriptEnabled })
            yield* Effect.promise(async () => {
              await enter(page, origin, admin)
              await keepRoutes(page)
              await keepCollections(page)
              await keepAccount(page, admin.password)
              await administer(page, email)
            })
            // The picture of the profile is at another host, which nothing is asked of.
            assert.deepStrictEqual(problems.filter((text) => !text.includes("net::ERR_NAME_NOT_RESOLVED")), [])
          }),
        300_000
      )
    }
  })
})
