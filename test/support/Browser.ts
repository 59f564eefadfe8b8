import { Context, Effect, Layer, type Scope } from "effect"
import { existsSync } from "node:fs"
import { type Browser as Chromium, type BrowserContextOptions, chromium, type Page } from "playwright-core"
import type { Rider } from "./Actors.ts"

// The first draws no windows, which cost the others much of their processor time.
const PLACES = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome-stable",
  "/usr/bin/google-chrome"
]

const executablePath = [process.env["CHROMIUM"] ?? "", ...PLACES].find((path) => path !== "" && existsSync(path))

/** The browser is the one that `CHROMIUM` names, or else the first of these that this machine has. */
export const hasBrowser = executablePath !== undefined

export interface Visit {
  readonly page: Page
  readonly requests: ReadonlyArray<string>
  readonly strangers: ReadonlyArray<string>
  readonly problems: ReadonlyArray<string>
}

/** A request to another host never leaves. To abort it by `page.route` would turn off the browser's cache. */
const THIS_HOST_ALONE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"

/** Records what a page does. */
const watch = async (page: Page, origin: string): Promise<Visit> => {
  const requests: Array<string> = []
  const strangers: Array<string> = []
  const problems: Array<string> = []
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()))
  page.on("pageerror", (error) => problems.push(String(error)))
  await page.exposeFunction("onViolation", (violation: string) => problems.push(violation))
  await page.addInitScript(
    `addEventListener("securitypolicyviolation", (e) => onViolation(e.effectiveDirective + " " + e.blockedURI))`
  )
  page.on("request", (request) => {
    const url = new URL(request.url())
    if (url.protocol.startsWith("http")) (url.origin === origin ? requests : strangers).push(url.href)
  })
  return { page, requests, strangers, problems }
}

export class Browser extends Context.Service<Browser, {
  /** Opens a page with its own cookies until its test ends. */
  readonly visit: (origin: string, options?: BrowserContextOptions) => Effect.Effect<Visit, never, Scope.Scope>
}>()("test/Browser") {
  /**
   * Closes the browser before the servers of a layer, which would otherwise wait a minute for a connection that Chromium
   * opened and never used.
   */
  static readonly before = <A, E, R>(servers: Layer.Layer<A, E, R>) => Layer.provideMerge(browserLayer, servers)
}

const browserLayer = Layer.effect(
  Browser,
  Effect.map(
    Effect.acquireRelease(
      // Root, such as in a container, may not use Chromium's sandbox.
      Effect.promise(() =>
        chromium.launch({
          executablePath: executablePath ?? "",
          chromiumSandbox: process.getuid?.() !== 0,
          args: [THIS_HOST_ALONE]
        })
      ),
      (browser: Chromium) => Effect.promise(() => browser.close())
    ),
    (browser) =>
      Browser.of({
        visit: (origin, options) =>
          Effect.flatMap(
            Effect.acquireRelease(
              Effect.promise(async () => {
                const page = await browser.newPage({ viewport: { width: 1400, height: 900 }, ...options })
                // The timeout of the test ends what takes too long.
                page.setDefaultTimeout(0)
                return page
              }),
              (page) => Effect.promise(() => page.close())
            ),
            (page) => Effect.promise(() => watch(page, origin))
          )
      })
  )
)

/** Signs in by the form, which leads to the routes of the account. */
export const enter = async (page: Page, origin: string, { email, password }: Rider) => {
  await page.goto(`${origin}/sign-in`)
  await page.locator("#email").fill(email)
  await page.locator("#password").fill(password)
  await page.keyboard.press("Enter")
  await page.waitForURL(/me\/routes/)
}
