import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { createServer } from "node:http"
import { setTimeout } from "node:timers/promises"
import type { Page } from "playwright-core"
import { frameOf } from "../../src/http/pages/shared/RouteParts.ts"
import { newEmail, signedIn } from "../support/Actors.ts"
import { Browser, enter, hasBrowser } from "../support/Browser.ts"
import { listening } from "../support/Listening.ts"
import { publish, somewhere } from "../support/PublicRoutes.ts"
import { created, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"

const PHONE = { width: 360, height: 740 }

const PRESS_TWICE = `
const button = document.querySelector("main button[value=create], main button[type=submit]")
button.click()
setTimeout(() => button.click(), 300)`

/** Records the forms that are sent, each of which waits for `until`. */
const recordForms = async (page: Page, until: () => Promise<unknown>) => {
  const sent: Array<string> = []
  await page.route("**", async (route) => {
    if (route.request().method() === "POST") {
      sent.push(new URL(route.request().url()).pathname)
      await until()
    }
    // The browser has given up a request that another one replaced.
    await route.continue().catch(() => undefined)
  })
  return sent
}

const gpx = (name: string, at: number) => ({
  name: `${name}.gpx`,
  mimeType: "application/gpx+xml",
  buffer: Buffer.from(
    `<gpx version="1.1" creator="t" xmlns="http://www.topografix.com/GPX/1/1"><trk><name>${name}</name><trkseg>`
      + `<trkpt lat="47.1" lon="${at}"/><trkpt lat="47.2" lon="${at}"/></trkseg></trk></gpx>`
  )
})

describe.skipIf(!hasBrowser)("pages in use (skipped where there is no Chromium; CHROMIUM names one)", () => {
  layer(Browser.before(TestServer.layer({}, somewhere)))((it) => {
    it.effect("have an address after an upload, to which the browser goes back", () =>
      Effect.gen(function*() {
        const { origin } = yield* TestServer
        const rider = yield* signedIn
        const { page } = yield* (yield* Browser).visit(origin)
        yield* Effect.promise(async () => {
          await enter(page, origin, rider)
          await page.locator("summary", { hasText: "Upload routes" }).click()
          await page.locator("#files").setInputFiles([gpx("North", 9), gpx("South", 8)])
          await page.getByRole("button", { name: "Upload" }).click()
          await page.getByRole("status").getByText("Uploaded.").waitFor()
          await page.getByRole("link", { name: "South" }).click()
          await page.getByRole("heading", { name: "South" }).waitFor()
          await page.goBack()
          await page.getByRole("link", { name: "North" }).waitFor()
        })
      }))

    it.effect("do once what a second press sends again", () =>
      Effect.gen(function*() {
        const { origin } = yield* TestServer
        const rider = yield* signedIn
        const { page } = yield* (yield* Browser).visit(origin)
        yield* Effect.promise(async () => {
          const sent = await recordForms(page, () => setTimeout(1000))
          await page.goto(`${origin}/sign-up`)
          await page.locator("#email").fill(newEmail())
          await page.locator("#password").fill("a long enough password")
          await page.evaluate(PRESS_TWICE)
          await page.getByRole("heading", { name: "Check your mail" }).waitFor()
          await enter(page, origin, rider)
          await page.goto(`${origin}/me/collections`)
          await page.locator("#name").fill("Passes")
          const button = page.locator("button[value='create']")
          await page.evaluate(PRESS_TWICE)
          await page.getByRole("status").getByText("Saved.").waitFor()
          await page.goBack()
          await page.locator("#name").fill("Passes again")
          await button.click()
          await page.getByRole("status").getByText("Saved.").waitFor()
          assert.deepStrictEqual(sent, ["/sign-up", "/sign-in", "/me/collections", "/me/collections"])
        })
      }))

    for (const hasNavigation of [true, false]) {
      it.effect(
        `send a form again whose sending was stopped, ${
          hasNavigation ? "at once" : "after 10 seconds where a browser does not report it"
        }`,
        () =>
          Effect.gen(function*() {
            const { origin } = yield* TestServer
            const rider = yield* signedIn
            const { page } = yield* (yield* Browser).visit(origin)
            yield* Effect.promise(async () => {
              await enter(page, origin, rider)
              if (!hasNavigation) {
                await page.addInitScript("delete globalThis.navigation")
                await page.clock.install()
              }
              await page.goto(`${origin}/me/collections`)
              const isHeld = Promise.withResolvers<boolean>()
              const sent = await recordForms(page, () => isHeld.promise)
              await page.locator("#name").fill("Passes")
              const button = page.locator("button[value='create']")
              const request = page.waitForRequest((request) => request.method() === "POST")
              await button.click({ noWaitAfter: true })
              await request
              await (await page.context().newCDPSession(page)).send("Page.stopLoading")
              if (!hasNavigation) await page.clock.fastForward(10_000)
              isHeld.resolve(false)
              await button.click()
              await page.getByRole("status").getByText("Saved.").waitFor()
              assert.strictEqual(sent.length, 2)
            })
          })
      )
    }

    it.effect("stay, and say so, where a session has ended before a download", () =>
      Effect.gen(function*() {
        const { origin } = yield* TestServer
        const rider = yield* signedIn
        const { id } = created((yield* rider.post("/routes", newRoute({ name: "Home" }))).body)
        const { page } = yield* (yield* Browser).visit(origin)
        yield* Effect.promise(async () => {
          await enter(page, origin, rider)
          const cookies = await page.context().cookies()
          const press = (link: string) => page.getByRole("link", { name: link, exact: true }).click()
          const pressed = async (link: string) => {
            const [download] = await Promise.all([page.waitForEvent("download"), press(link)])
            return download.failure()
          }
          for (const [path, link] of [[`me/routes/${id}`, "GPX"], ["me/data", "Export the account"]] as const) {
            await page.goto(`${origin}/${path}`)
            await page.context().clearCookies()
            await press(link)
            await page.getByRole("alert").getByText("You were signed out meanwhile.").waitFor()
            await page.context().addCookies(cookies)
            assert.isNull(await pressed(link))
            assert.isFalse(await page.getByRole("alert").isVisible())
          }
          await page.goto(`${origin}/r/${id}`)
          await page.context().clearCookies()
          assert.isNotNull(await pressed("GPX"))
          await page.getByRole("heading", { name: "Home" }).waitFor()
        })
      }))

    it.effect("stay at a route that moves within a collection", () =>
      Effect.gen(function*() {
        const { origin } = yield* TestServer
        const rider = yield* signedIn
        const routeIds: Array<number> = []
        for (let count = 0; count < 8; count++) {
          routeIds.push(created((yield* rider.post("/routes", newRoute({ name: `R${count}` }))).body).id)
        }
        const { id } = created((yield* rider.post("/collections", { name: "Passes", routeIds })).body)
        const { page } = yield* (yield* Browser).visit(origin, { viewport: PHONE })
        yield* Effect.promise(async () => {
          await enter(page, origin, rider)
          await page.goto(`${origin}/me/collections/${id}`)
          const up = page.getByRole("button", { name: "Up R7" })
          await up.click()
          await page.waitForURL(/done=saved/)
          const top = (await up.boundingBox())?.y ?? -1
          assert.isTrue(top >= 0 && top < PHONE.height, String(top))
        })
      }))

    it.effect("show no button that does nothing without scripts", () =>
      Effect.gen(function*() {
        const { origin } = yield* TestServer
        const { shareToken } = yield* publish(yield* signedIn, {})
        const { page } = yield* (yield* Browser).visit(origin, { javaScriptEnabled: false })
        yield* Effect.promise(async () => {
          await page.goto(`${origin}/r/${shareToken}`)
          const copy = page.locator(".share button[data-do]")
          assert.deepStrictEqual([await copy.count(), await copy.filter({ visible: true }).count()], [2, 0])
        })
      }))

    it.effect("print a long list of stops, which is folded on the screen", () =>
      Effect.gen(function*() {
        const { origin } = yield* TestServer
        const waypoints = Array.from({ length: 13 }, (_, index) => ({ coord: [9.5, 47.1], name: `Stop ${index}` }))
        const { shareToken } = yield* publish(yield* signedIn, { waypoints })
        const { page } = yield* (yield* Browser).visit(origin)
        yield* Effect.promise(async () => {
          await page.goto(`${origin}/r/${shareToken}`)
          const last = page.getByText("Stop 12")
          assert.isFalse(await last.isVisible())
          await page.emulateMedia({ media: "print" })
          assert.isTrue(await last.isVisible())
          assert.isFalse(await page.getByText("All 13").isVisible())
        })
      }))

    it.effect("are embedded by other sites in the size of their code, errors too, and lead out of the frame", () =>
      Effect.gen(function*() {
        const { origin } = yield* TestServer
        const facts = { activity: "cycle", duration: 12_000, elevationGain: 1200, provenance: "routing-engine" }
        const { shareToken } = yield* publish(yield* signedIn, facts)
        const frames = [shareToken, "0".repeat(32)].map((token) => frameOf(`${origin}/`, token, "").html)
        const site = createServer((_, response) => response.setHeader("content-type", "text/html").end(frames.join("")))
        const port = yield* listening(site)
        const { page } = yield* (yield* Browser).visit(origin)
        yield* Effect.promise(async () => {
          await page.goto(`http://127.0.0.1:${port}`)
          const source = page.frameLocator("iframe").first().getByRole("link", { name: "OpenStreetMap" })
          await source.waitFor()
          const frame = page.frames().find((frame) => frame.url().endsWith(shareToken))
          assert.strictEqual(await frame?.evaluate("document.documentElement.scrollHeight - innerHeight"), 0)
          const opened = page.context().waitForEvent("page")
          await source.click()
          await opened
          await page.frameLocator("iframe").last().getByRole("alert").waitFor()
        })
      }))

    it.effect("keep what only a colour shows where the reader has forced others", () =>
      Effect.gen(function*() {
        const { origin } = yield* TestServer
        const rider = yield* signedIn
        const { shareToken } = yield* publish(rider, { geometry: [[9.5, 47.1, 450], [9.51, 47.1, 500]] })
        const { page } = yield* (yield* Browser).visit(origin, { forcedColors: "active" })
        const colour = (element: string, property: string, part = "") =>
          page.evaluate(`getComputedStyle(document.querySelector("${element}"), "${part}").${property}`)
        yield* Effect.promise(async () => {
          await page.goto(`${origin}/r/${shareToken}`)
          const ground = await colour(".plot", "backgroundColor")
          await page.locator(".plot").hover()
          assert.notStrictEqual(await colour(".cursor", "backgroundColor"), ground)
          assert.notStrictEqual(await colour(".legend li", "backgroundColor", "::before"), ground)
          await enter(page, origin, rider)
          await page.goto(`${origin}/me/profile`)
          const other = await colour(".sections a:not([aria-current])", "borderBottomColor")
          assert.notStrictEqual(await colour(".sections [aria-current]", "borderBottomColor"), other)
        })
      }))

    it.effect("break long names of waypoints, and begin names from the right on their right", () =>
      Effect.gen(function*() {
        const { origin } = yield* TestServer
        const { shareToken } = yield* publish(yield* signedIn, {
          name: "\u05E9\u05D1\u05D9\u05DC 12 - Alps",
          waypoints: [{ coord: [9.5, 47.1], name: "x".repeat(200) }]
        })
        const { page } = yield* (yield* Browser).visit(origin, { viewport: PHONE })
        yield* Effect.promise(async () => {
          await page.goto(`${origin}/r/${shareToken}`)
          assert.isFalse(await page.evaluate("document.documentElement.scrollWidth > innerWidth"))
          assert.strictEqual(
            await page.evaluate("getComputedStyle(document.querySelector('h1')).unicodeBidi"),
            "plaintext"
          )
        })
      }))
  })
})
