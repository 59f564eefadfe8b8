import { assert, describe, layer } from "@effect/vitest"
import axe from "axe-core"
import { Context, Effect, Layer } from "effect"
import { createServer } from "node:http"
import { setTimeout } from "node:timers/promises"
import type { Page } from "playwright-core"
import { metresBetween } from "../../src/services/geometry/Geodesy.ts"
import { type Rider, signedInAs } from "../support/Actors.ts"
import { Browser, hasBrowser } from "../support/Browser.ts"
import { listening } from "../support/Listening.ts"
import { created, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"

const SCREENS = { phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 800 } }

const RULES = "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].html))"

/** Returns what axe-core finds wrong with a page, pictures without pixels, and whether one has to scroll sideways. */
const faultsOf = async (page: Page): Promise<ReadonlyArray<string>> => {
  await page.evaluate(axe.source)
  const violations: ReadonlyArray<string> = await page.evaluate(RULES)
  const broken: ReadonlyArray<string> = await page.evaluate(
    "[...document.images].filter((image) => image.complete && image.naturalWidth === 0).map(({ src }) => src)"
  )
  const isWide: boolean = await page.evaluate("document.documentElement.scrollWidth > innerWidth")
  return isWide ? [...violations, ...broken, "wider than the screen"] : [...violations, ...broken]
}

const ride = (turn: number) =>
  Array.from({ length: 400 }, (_, index) => [
    9.52 + 0.06 * Math.cos(index / 64 + turn) + 0.006 * Math.sin(index / 9),
    47.14 + 0.035 * Math.sin(index / 61 + turn) + 0.004 * Math.cos(index / 7),
    Math.round(520 + 180 * Math.sin(index / 70 + turn) + 25 * Math.sin(index / 11))
  ])

const publish = (rider: Rider, name: string, turn: number) =>
  Effect.map(
    rider.post(
      "/routes",
      newRoute({
        name,
        activity: "cycle",
        visibility: "public",
        geometry: ride(turn),
        duration: 6300,
        tags: ["gravel", "long-ride"],
        description: "Gravel along the river, then up to the pass.\n\nWater at the chapel.",
        startAddress: "Städtle 1, Vaduz",
        waypoints: [{ coord: [9.58, 47.14], name: "Bridge" }, { coord: [9.46, 47.15] }, { coord: [9.58, 47.15] }]
      })
    ),
    ({ body }) => created(body)
  )

/** Returns the paths of a page of each kind. */
const shared = Effect.gen(function*() {
  const rider = yield* signedInAs({ name: "Ada Rider" })
  yield* rider.patch("/users/me", { handle: "ada-rides" })
  const routes = yield* Effect.forEach(
    ["Around Vaduz", "Three passes and a long way home", "Evening loop"],
    (name, index) => publish(rider, name, index)
  )
  const collection = created(
    (yield* rider.post("/collections", {
      name: "Alpine passes",
      description: "The best of last summer",
      visibility: "unlisted",
      routeIds: routes.map(({ id }) => id)
    })).body
  )
  const token = routes[0]?.shareToken ?? ""
  return {
    route: `/r/${token}`,
    collection: `/c/${collection.shareToken}`,
    user: "/u/ada-rides",
    embed: `/embed/${token}`,
    missing: "/r/00000000000000000000000000000000"
  }
})

describe.skipIf(!hasBrowser)(
  "shared pages in a browser (skipped where there is no Chromium; CHROMIUM names one)",
  () => {
    layer(Browser.before(TestServer.layer({ LOG_LEVEL: "fatal" })))((it) => {
      for (const colorScheme of ["light", "dark"] as const) {
        for (const [screen, viewport] of Object.entries(SCREENS)) {
          it.effect(
            `pass axe-core and load all from the service, ${screen}, ${colorScheme}`,
            () =>
              Effect.gen(function*() {
                const { origin } = yield* TestServer
                const paths = yield* shared
                const visit = yield* (yield* Browser).visit(origin, { colorScheme, viewport })
                yield* Effect.promise(async () => {
                  const faults: Array<string> = []
                  for (const [name, path] of Object.entries(paths)) {
                    await visit.page.goto(`${origin}${path}`)
                    faults.push(...(await faultsOf(visit.page)).map((fault) => `${name}: ${fault}`))
                  }
                  assert.deepStrictEqual(faults, [])
                })
                assert.deepStrictEqual(visit.strangers, [])
                // A status of 404 is one for the console.
                assert.deepStrictEqual(visit.problems.filter((text) => !text.includes("404 (Not Found)")), [])
                const theme = colorScheme === "dark" ? "theme=dark" : "width="
                assert.isTrue(visit.requests.some((url) => url.includes("picture.svg") && url.includes(theme)))
              })
          )
        }
      }

      it.effect("write no zero with a sign", () =>
        Effect.gen(function*() {
          const { origin } = yield* TestServer
          const rider = yield* signedInAs({})
          // Each step of 304 m leads down by half a metre, the last one to 0.3 m below the sea.
          const geometry = Array.from({ length: 30 }, (_, index) => [9.5 + index / 250, 47.1, 14.2 - index / 2])
          const { shareToken } = created(
            (yield* rider.post("/routes", newRoute({ visibility: "unlisted", geometry }))).body
          )
          const { page } = yield* (yield* Browser).visit(origin, { viewport: SCREENS.desktop, locale: "en-IE" })
          yield* Effect.promise(async () => {
            await page.goto(`${origin}/r/${shareToken}`)
            const heights = await page.locator(".heights").textContent()
            await page.getByRole("slider", { name: "Position along the route" }).focus()
            await page.keyboard.press("End")
            const readout = await page.locator(".readout").textContent()
            assert.deepStrictEqual([heights, readout], ["14 m0 m", "8.8 km · 0 m · 0 %"])
          })
        }))

      it.effect(
        "show the last elevation, at the end of the profile, for a position that is behind it",
        () =>
          Effect.gen(function*() {
            const { origin } = yield* TestServer
            const rider = yield* signedInAs({})
            const geometry = [[9.5, 47.1, 14], [9.51, 47.1, 50], [9.52, 47.1, 86]]
            const { shareToken } = created(
              (yield* rider.post("/routes", newRoute({ visibility: "unlisted", geometry }))).body
            )
            const { page } = yield* (yield* Browser).visit(origin, { viewport: SCREENS.desktop, locale: "en-IE" })
            yield* Effect.promise(async () => {
              await page.goto(`${origin}/r/${shareToken}`)
              const slider = page.getByRole("slider", { name: "Position along the route" })
              const length = Number(await slider.getAttribute("aria-valuemax"))
              await page.evaluate(
                `document.querySelector(".drawing").dispatchEvent(new CustomEvent("position", { detail: ${
                  length + 5
                } }))`
              )
              assert.match(await page.locator(".readout").textContent() ?? "", / · 86 m · /)
              assert.strictEqual(await page.locator(".cursor").getAttribute("style"), "inset-inline-start: 100%;")
              assert.strictEqual(await slider.getAttribute("aria-valuenow"), String(length))
            })
          })
      )
    })
  }
)

/**
 * Returns how the height of a horizontal line changes where an arrow on it has its base: it grows there, if the arrow
 * points to the right, while it shrinks slowly towards the point.
 */
const BASES_OF_ARROWS = `async (pixels) => {
  const bytes = Uint8Array.from(atob(pixels), (character) => character.charCodeAt(0))
  const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }))
  const { height, width } = image
  const context = new OffscreenCanvas(width, height).getContext("2d")
  context.drawImage(image, 0, 0)
  const { data } = context.getImageData(0, 0, width, height)
  const isLine = (x, y) => [0, 1, 2].some((channel) => data[4 * (y * width + x) + channel] !== data[channel])
  const heights = Array.from({ length: width }, (_, x) =>
    Array.from({ length: height }, (_, y) => isLine(x, y)).filter(Boolean).length
  )
  return heights.slice(2).map((height, x) => height - heights[x]).filter((step) => Math.abs(step) > 5)
}`

/** A module that is imported twice is loaded once: the map of the page is made by this class. */
const KEEP_MAP = `addEventListener("DOMContentLoaded", async () => {
  const { Map } = await import("/assets/" + document.querySelector("[data-library]").dataset.library)
  const { addSource } = Map.prototype
  Map.prototype.addSource = function(...source) {
    window.routeMap = this
    return addSource.apply(this, source)
  }
})`

const featuresOf = (page: Page, source: string): Promise<ReadonlyArray<ReadonlyArray<number>>> =>
  page.evaluate(
    `routeMap.getSource("${source}").serialize().data.features.map(({ geometry }) => geometry.coordinates)`
  )

const metresApart = (
  [lng = 0, lat = 0]: ReadonlyArray<number> = [],
  [otherLng = 0, otherLat = 0]: ReadonlyArray<number> = []
) => metresBetween(lng, lat, otherLng, otherLat)

/** The text says the values at a position. */
const LINKED = /^[\d.]+ km · \d+ m · -?\d+ %$/

const until = async (condition: () => Promise<boolean>) => {
  while (!await condition()) await setTimeout(50)
}

/** The server has a style with tiles, of which each third one fails. */
class MapServer extends Context.Service<MapServer, { readonly origin: string }>()("test/MapServer") {
  static readonly layer = Layer.effect(
    MapServer,
    Effect.gen(function*() {
      let asked = 0
      const server = createServer((request, response) => {
        response.setHeader("access-control-allow-origin", "*")
        if (request.url !== "/style.json") {
          response.writeHead(++asked % 3 === 0 ? 500 : 204).end()
          return
        }
        response.end(JSON.stringify({
          version: 8,
          sources: { roads: { type: "vector", tiles: [`http://${request.headers.host}/{z}/{x}/{y}`] } },
          layers: [
            { id: "ground", type: "background", paint: { "background-color": "#dfe8da" } },
            { id: "roads", type: "line", source: "roads", "source-layer": "roads" }
          ]
        }))
      })
      return MapServer.of({ origin: `http://127.0.0.1:${yield* listening(server)}` })
    })
  )
}

const withMap = Layer.unwrap(
  Effect.map(MapServer, ({ origin }) => TestServer.layer({ LOG_LEVEL: "fatal", MAP_STYLE_URL: `${origin}/style.json` }))
).pipe(Layer.provideMerge(MapServer.layer), Browser.before)

describe.skipIf(!hasBrowser)("the map of a shared page (skipped where there is no Chromium)", () => {
  layer(withMap)(
    (it) => {
      const visitWith = Effect.fnUntraced(
        function*(options: Parameters<Browser["Service"]["visit"]>[1], isMapThere: boolean, path?: string) {
          const { origin } = yield* TestServer
          const maps = yield* MapServer
          const route = path ?? (yield* shared).route
          const visit = yield* (yield* Browser).visit(origin, options)
          if (!isMapThere) yield* Effect.promise(() => visit.page.route(`${maps.origin}/**`, (map) => map.abort()))
          yield* Effect.promise(() => visit.page.goto(`${origin}${route}`))
          return visit
        }
      )

      const picture = (page: Page) => page.getByRole("img", { name: "The line of the route" })

      const map = (page: Page) => page.getByRole("region", { name: "Map of the route" })

      it.effect(
        "is drawn in place of the picture, with a hole for a tile that fails, and shows positions of the profile",
        () =>
          Effect.gen(function*() {
            const visit = yield* visitWith({ viewport: SCREENS.desktop, locale: "en-IE" }, true)
            const { page } = visit
            yield* Effect.promise(async () => {
              await page.locator("[data-state=drawn]").waitFor()
              assert.deepStrictEqual(await faultsOf(page), [])
              assert.isFalse(await picture(page).isVisible())
              await page.locator(".plot").focus()
              await page.keyboard.press("End")
              const slider = page.getByRole("slider", { name: "Position along the route" })
              assert.match(await slider.getAttribute("aria-valuetext") ?? "", LINKED)
              await page.keyboard.press("Tab")
              assert.isFalse(await page.locator(".cursor").isVisible())
              await page.emulateMedia({ forcedColors: "active" })
              await page.locator(".map button").first().focus()
              const outline = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
              assert.strictEqual(outline, "solid")
            })
            assert.deepStrictEqual(visit.problems.filter((text) => !text.includes("500")), [])
            assert.isTrue(visit.requests.some((url) => /\/assets\/maplibre-worker-[\w-]{16}\.js$/.test(url)))
          })
      )

      it.effect(
        "links its positions with the profile and the list, fills the screen, and its page copies its link",
        () =>
          Effect.gen(function*() {
            const visit = yield* visitWith(
              { viewport: SCREENS.desktop, locale: "en-IE", permissions: ["clipboard-read", "clipboard-write"] },
              true
            )
            const { page } = visit
            yield* Effect.promise(async () => {
              await page.locator("[data-state=drawn]").waitFor()
              const cursor = page.locator(".cursor")
              const readout = page.locator(".readout")
              // A position of the line is where the map shows that of the profile.
              const canvas = map(page).locator("canvas")
              const still = await canvas.screenshot()
              await page.locator(".plot").hover({ position: { x: 200, y: 40 } })
              assert.match(await readout.textContent() ?? "", LINKED)
              await until(async () => !(await canvas.screenshot()).equals(still))
              await page.locator("h1").hover()
              assert.isFalse(await cursor.isVisible())

              // The line fills the map from side to side, so that each row of it is crossed somewhere.
              const { height = 0, width = 0, x = 0, y = 0 } = await map(page).boundingBox() ?? {}
              for (let step = 1; step < 60 && !(await cursor.isVisible()); step++) {
                await page.mouse.move(x + width * step / 60, y + height / 2)
              }
              assert.match(await readout.textContent() ?? "", LINKED)

              // Chromium repeats the last move of the mouse after the page has scrolled to the stop, and a mouse that
              // is there already enters nothing.
              await until(async () => {
                await page.mouse.move(0, 0)
                await page.locator("[data-stop]").first().hover()
                return LINKED.test(await readout.textContent() ?? "")
              })

              await page.getByRole("button", { name: "Full screen" }).click()
              await page.locator(".drawing:fullscreen").waitFor()
              assert.isTrue(await page.locator(".plot").isVisible())
              assert.isAbove((await map(page).boundingBox())?.width ?? 0, width)
              await page.getByRole("button", { name: "Leave full screen" }).click()
              await page.locator(".drawing:not(:fullscreen)").waitFor()

              await page.getByRole("button", { name: "Copy link" }).click()
              await page.getByText("The link is copied.").waitFor()
              const link = await page.locator("#link").inputValue()
              assert.strictEqual(await page.evaluate("navigator.clipboard.readText()"), link)
            })
          })
      )

      it.effect(
        "shows cues and the end of the profile where they are on a line of more positions than it draws",
        () =>
          Effect.gen(function*() {
            const rider = yield* signedInAs({})
            // The road winds first, and is straight in the end.
            const geometry = Array.from({ length: 12_000 }, (_, index) => [
              9.5 + index / 10_000,
              47.1 + (index < 8000 ? Math.sin(index) / 5000 : 0),
              500
            ])
            const cues = [{ type: 10, instruction: "Turn right", begin_shape_index: 8000, length: 0, time: 0 }]
            const { body } = yield* rider.post("/routes", newRoute({ visibility: "unlisted", geometry, cues }))
            const { origin } = yield* TestServer
            const { page } = yield* (yield* Browser).visit(origin, { viewport: SCREENS.desktop })
            yield* Effect.promise(async () => {
              await page.addInitScript(KEEP_MAP)
              await page.goto(`${origin}/r/${created(body).shareToken}`)
              await page.locator("[data-state=drawn]").waitFor()
              const [cue] = await featuresOf(page, "route-stops")
              assert.isBelow(metresApart(cue, geometry[8000]), 100)
              await page.locator(".plot").focus()
              await page.keyboard.press("End")
              const [end] = await featuresOf(page, "route-position")
              assert.isBelow(metresApart(end, geometry.at(-1)), 100)
            })
          })
      )

      it.effect("has arrows along the line, from its start to its end", () =>
        Effect.gen(function*() {
          const rider = yield* signedInAs({})
          const eastward = Array.from({ length: 50 }, (_, index) => [9.5 + index / 500, 47.14])
          const pointing = Effect.fnUntraced(function*(geometry: ReadonlyArray<ReadonlyArray<number>>) {
            const { body } = yield* rider.post("/routes", newRoute({ visibility: "unlisted", geometry }))
            const { page } = yield* visitWith({ viewport: SCREENS.desktop }, true, `/r/${created(body).shareToken}`)
            return yield* Effect.promise(async () => {
              await page.locator("[data-state=drawn]").waitFor()
              const { height = 0, width = 0, x = 0, y = 0 } = await map(page).boundingBox() ?? {}
              const clip = { x: x + width / 4, y: y + height / 2 - 15, width: width / 2, height: 30 }
              const pixels = (await page.screenshot({ clip })).toString("base64")
              const bases: ReadonlyArray<number> = await page.evaluate(`(${BASES_OF_ARROWS})("${pixels}")`)
              return bases
            })
          })
          const [east, west] = [yield* pointing(eastward), yield* pointing(eastward.toReversed())]
          assert.isAtLeast(east.length, 3)
          assert.isAtLeast(west.length, 3)
          assert.isTrue(east.every((step) => step > 0), JSON.stringify(east))
          assert.isTrue(west.every((step) => step < 0), JSON.stringify(west))
        }))

      it.effect(
        "is the picture on a phone, until it is touched, and shows what is touched of the profile",
        () =>
          Effect.gen(function*() {
            const phone = { viewport: SCREENS.phone, locale: "en-IE", hasTouch: true, isMobile: true }
            const { page, requests } = yield* visitWith(phone, true)
            const isLoaded = () => requests.some((url) => url.includes("/assets/maplibre-"))
            yield* Effect.promise(async () => {
              await page.waitForLoadState("networkidle")
              assert.isTrue(await picture(page).isVisible())
              assert.isFalse(isLoaded())
              await page.locator("h1").tap()
              await page.locator("[data-state=drawn]").waitFor()
              assert.isTrue(isLoaded())
              const canvas = map(page).locator("canvas")
              const still = await canvas.screenshot()
              await page.locator(".plot").tap({ position: { x: 100, y: 40 } })
              assert.match(await page.locator(".readout").textContent() ?? "", LINKED)
              await until(async () => !(await canvas.screenshot()).equals(still))
            })
          })
      )

      it.effect(
        "is the picture in print, with the profile, the code and all words, and without buttons",
        () =>
          Effect.gen(function*() {
            const { page } = yield* visitWith({ viewport: SCREENS.desktop }, true)
            yield* Effect.promise(async () => {
              await page.locator("[data-state=drawn]").waitFor()
              await page.emulateMedia({ media: "print" })
              for (const part of [picture(page), page.locator(".plot"), page.locator(".qr"), page.locator(".facts")]) {
                assert.isTrue(await part.isVisible(), String(part))
              }
              for (const part of [map(page), page.getByRole("navigation"), page.getByRole("button").first()]) {
                assert.isFalse(await part.isVisible(), String(part))
              }
            })
          })
      )

      it.effect("gives way to the picture without scripts, and without the style", () =>
        Effect.gen(function*() {
          for (const javaScriptEnabled of [true, false]) {
            const { page } = yield* visitWith({ viewport: SCREENS.phone, javaScriptEnabled }, false)
            yield* Effect.promise(async () => {
              if (javaScriptEnabled) await page.locator("[data-state=failed]").waitFor({ state: "attached" })
              await picture(page).waitFor()
              assert.isFalse(await map(page).isVisible())
            })
          }
        }))
    }
  )
})
