import { Context, Effect, Layer, type Scope } from "effect"
import { existsSync } from "node:fs"
import { type Browser as Chromium, type BrowserContextOptions, chromium, type Page } from "playwright-core"

const PLACES = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome-stable",
  "/usr/bin/google-chrome"
]

const executablePath = [process.env["CHROMIUM"] ?? "", ...PLACES].find((path) => path !== "" && existsSync(path))

/** The browser is Debian's `chromium`, or the one that `CHROMIUM` names, if this machine has it. */
export const hasBrowser = executablePath !== undefined

export interface Visit {
  readonly page: Page
  readonly requests: ReadonlyArray<string>
  readonly strangers: ReadonlyArray<string>
  readonly problems: ReadonlyArray<string>
}

/** Records what a page does. A request to another origin never leaves. */
const watch = async (page: Page, origin: string, others: ReadonlyArray<string>): Promise<Visit> => {
  const requests: Array<string> = []
  const strangers: Array<string> = []
  const problems: Array<string> = []
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()))
  page.on("pageerror", (error) => problems.push(String(error)))
  await page.exposeFunction("onViolation", (violation: string) => problems.push(violation))
  await page.addInitScript(
    `addEventListener("securitypolicyviolation", (e) => onViolation(e.effectiveDirective + " " + e.blockedURI))`
  )
  await page.route("**/*", (route) => {
    const url = route.request().url()
    const isOwn = new URL(url).origin === origin
    const seen = isOwn ? requests : strangers
    seen.push(url)
    return isOwn || others.includes(new URL(url).origin) ? route.continue() : route.abort()
  })
  return { page, requests, strangers, problems }
}

export class Browser extends Context.Service<Browser, {
  /** Opens a page with its own cookies until its test ends. Its scripts may request `origin` and `others`. */
  readonly visit: (
    origin: string,
    options?: BrowserContextOptions,
    others?: ReadonlyArray<string>
  ) => Effect.Effect<Visit, never, Scope.Scope>
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
        chromium.launch({ executablePath: executablePath ?? "", chromiumSandbox: process.getuid?.() !== 0 })
      ),
      (browser: Chromium) => Effect.promise(() => browser.close())
    ),
    (browser) =>
      Browser.of({
        visit: (origin, options, others = []) =>
          Effect.flatMap(
            Effect.acquireRelease(
              Effect.promise(() => browser.newPage({ viewport: { width: 1400, height: 900 }, ...options })),
              (page) => Effect.promise(() => page.close())
            ),
            (page) => Effect.promise(() => watch(page, origin, others))
          )
      })
  )
)
