import { assert, describe, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import type { Page } from "playwright-core"
import { type Rider, signedIn } from "../support/Actors.ts"
import { Browser, hasBrowser } from "../support/Browser.ts"
import { listening } from "../support/Listening.ts"
import { newRoute, shareTokenOf } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint } from "../support/Tokens.ts"

const EXAMPLE = new URL("../../examples/save-from-a-page.html", import.meta.url)

/** The operator lists the origin of the app and not that of the stranger. Both show the example. */
class Pages extends Context.Service<Pages, { readonly app: string; readonly stranger: string }>()("test/Pages") {
  static readonly layer = Layer.effect(
    Pages,
    Effect.gen(function*() {
      const example = readFileSync(EXAMPLE, "utf8")
      const serve = Effect.suspend(() =>
        listening(createServer((_, response) => {
          response.writeHead(200, { "content-type": "text/html" }).end(example)
        }))
      ).pipe(Effect.map((port) => `http://127.0.0.1:${port}`))
      return Pages.of({ app: yield* serve, stranger: yield* serve })
    })
  )
}

const server = Layer.unwrap(Effect.map(Pages, ({ app }) => TestServer.layer({ CORS_ORIGINS: app })))

/** Returns what a script of a page gets: the status, and whether it may read a header, or that it gets nothing. */
const fetched = (page: Page, url: string, init: object, header: string): Promise<unknown> =>
  page.evaluate(`fetch(${JSON.stringify(url)}, ${JSON.stringify(init)})
    .then(({ headers, status }) => [status, headers.get(${JSON.stringify(header)}) !== null], () => "nothing")`)

const signIn = async (page: Page, origin: string, { email, password }: Rider) => {
  await page.goto(`${origin}/sign-in`)
  await page.getByLabel("Email address").fill(email)
  await page.getByLabel("Password").fill(password)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByRole("heading", { name: "My routes" }).waitFor()
}

describe.skipIf(!hasBrowser)(
  "other origins in a browser (skipped where there is no Chromium; CHROMIUM names one)",
  () => {
    layer(Browser.before(Layer.provideMerge(server, Pages.layer)))((it) => {
      it.effect("read and write without a cookie, and use a cookie only where the operator has listed them", () =>
        Effect.gen(function*() {
          const { origin } = yield* TestServer
          const { app, stranger } = yield* Pages
          const browser = yield* Browser
          const rider = yield* signedIn
          const shared = shareTokenOf((yield* rider.post("/routes", newRoute({ visibility: "unlisted" }))).body)
          const { token } = yield* mint(rider, "write")
          const api = `${origin}/api/v1`
          const authorization = `Bearer ${token}`
          const write = {
            method: "POST",
            headers: { authorization, "content-type": "application/json", "idempotency-key": "one" },
            body: JSON.stringify(newRoute({}))
          }
          const withCookie = { credentials: "include" }
          for (const [home, isListed] of [[app, true], [stranger, false]] as const) {
            const { page } = yield* browser.visit(home)
            yield* Effect.promise(async () => {
              await signIn(page, origin, rider)
              await page.goto(home)
              const get = (path: string, init = {}, header = "etag") => fetched(page, `${api}${path}`, init, header)
              assert.deepStrictEqual(await get("/routes/public", {}, "x-total-count"), [200, true])
              assert.deepStrictEqual(await get(`/routes/${shared}/gpx`, {}, "content-disposition"), [200, true])
              assert.deepStrictEqual(await get("/routes", { headers: { authorization } }, "link"), [200, true])
              assert.deepStrictEqual(await get("/routes", write, "location"), [201, true])
              assert.deepStrictEqual(await get("/users/me"), [401, false])
              const seen = await get("/routes", withCookie, "link")
              assert.deepStrictEqual(seen, isListed ? [200, true] : "nothing")
              const logOut = await get("/auth/logout", { ...withCookie, method: "POST" })
              assert.deepStrictEqual(logOut, isListed ? [200, false] : "nothing")
            })
          }
        }))

      it.effect("of a frame without an origin may read", () =>
        Effect.gen(function*() {
          const { origin } = yield* TestServer
          const { stranger } = yield* Pages
          const { page } = yield* (yield* Browser).visit(stranger)
          yield* Effect.promise(async () => {
            await page.goto(stranger)
            const script = `fetch("${origin}/api/v1/routes/public").then(({ status }) => { document.title = status })`
            await page.setContent(`<iframe sandbox="allow-scripts" srcdoc='<script>${script}</script>'></iframe>`)
            const frame = page.frames().at(-1)
            await frame?.waitForFunction("document.title === '200'")
          })
        }))

      it.effect("save a route by the example, or say why not", () =>
        Effect.gen(function*() {
          const { origin } = yield* TestServer
          const { stranger } = yield* Pages
          const rider = yield* signedIn
          const { token } = yield* mint(rider, "write")
          const { page } = yield* (yield* Browser).visit(stranger)
          yield* Effect.promise(async () => {
            await page.goto(stranger)
            await page.getByLabel("Service").fill(origin)
            await page.getByLabel("Token").fill("service_pat_wrong")
            await page.getByRole("button", { name: "Save" }).click()
            await page.getByText("The token is malformed").waitFor()
            await page.getByLabel("Token").fill(token)
            await page.getByRole("button", { name: "Save" }).click()
            await page.getByText("Saved as route").waitFor()
            // The service stores the route, and its response is lost.
            await page.route("**/api/v1/routes", async (route) => {
              if (route.request().method() === "POST") await route.fetch()
              await route.abort()
            })
            await page.getByLabel("Name").fill("Around Vaduz again")
            await page.getByRole("button", { name: "Save" }).click()
            await page.getByText("Failed to fetch").waitFor()
            assert.strictEqual(await page.getByText("Saved as route").count(), 0)
            await page.unroute("**/api/v1/routes")
            await page.getByRole("button", { name: "Save" }).click()
            await page.getByText("Saved as route").waitFor()
          })
          assert.strictEqual((yield* rider.get("/routes")).headers.get("x-total-count"), "2")
        }))
    })
  }
)
