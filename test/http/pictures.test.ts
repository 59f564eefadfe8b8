import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { anonymous, signedIn } from "../support/Actors.ts"
import { created, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"

const GEOMETRY = [[9.5, 47.1, 450], [9.55, 47.12, 700], [9.6, 47.1, 500]]

const shared = Effect.fnUntraced(function*(members: Readonly<Record<string, unknown>> = {}) {
  const rider = yield* signedIn
  const route = created(
    (yield* rider.post("/routes", newRoute({ visibility: "unlisted", geometry: GEOMETRY, ...members }))).body
  )
  return { rider, route, path: `/routes/${route.shareToken}/picture` }
})

/** Counts the requests for pictures by their outcome. */
const outcomes = Effect.gen(function*() {
  const { text } = yield* (yield* anonymous).get("//metrics")
  return Object.fromEntries(
    [...text.matchAll(/^pictures_total\{outcome="(\w+)"\} (\d+)/gm)].map((
      [, name = "", count]
    ) => [name, Number(count)])
  )
})

layer(TestServer.layer({ PICTURE_CACHE_BYTES: "100 KiB" }))("pictures of routes", (it) => {
  it.effect("are SVG and PNG of the requested size, in light and dark, with the profile on request", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const { path } = yield* shared()
      const svg = yield* visitor.get(`${path}.svg?width=640&height=400`)
      assert.strictEqual(svg.status, 200)
      assert.strictEqual(svg.headers.get("content-type")?.split(";")[0], "image/svg+xml")
      assert.match(svg.text, /^<svg [^>]*width="640" height="400" viewBox="0 0 640 400"/)
      assert.notInclude(svg.text, "700 m")
      const profile = yield* visitor.get(`${path}.svg?profile=true&theme=dark`)
      assert.match(profile.text, /width="800" height="500"/)
      assert.include(profile.text, "700 m")
      assert.notStrictEqual(
        /<rect[^>]*fill="(\S+)"/.exec(profile.text)?.[1],
        /<rect[^>]*fill="(\S+)"/.exec(svg.text)?.[1]
      )
      const png = yield* visitor.get(`${path}.png`)
      assert.deepStrictEqual([png.status, png.headers.get("content-type")], [200, "image/png"])
      assert.match(png.text, /^.PNG/)
    }))

  it.effect("have sides of 64 to 1,200 pixels, and no parameters but their own", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const { path } = yield* shared()
      for (const query of ["width=63", "height=1201", "theme=pink", "profile=1", "size=3"]) {
        assert.strictEqual((yield* visitor.get(`${path}.svg?${query}`)).status, 400, query)
      }
    }))

  it.effect("are visible to those who may see the route, and cacheable where anyone with the link may", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const { path, rider, route } = yield* shared()
      assert.strictEqual((yield* visitor.get(`${path}.svg`)).headers.get("cache-control"), "no-cache")
      const ended = { headers: { cookie: "__Host-service_session=x" } }
      for (const signedIn of [yield* rider.get(`${path}.svg`), yield* visitor.get(`${path}.svg`, ended)]) {
        assert.deepStrictEqual([signedIn.status, signedIn.headers.get("cache-control")], [200, "no-store"])
        assert.strictEqual(signedIn.headers.getSetCookie().length, 1)
      }
      assert.strictEqual((yield* visitor.get(`/routes/${route.id}/picture.svg`)).status, 404)
      yield* rider.patch(`/routes/${route.id}`, { visibility: "private" })
      assert.strictEqual((yield* visitor.get(`${path}.png`)).status, 404)
      assert.strictEqual((yield* rider.get(`${path}.png`)).headers.get("cache-control"), "no-store")
    }))

  it.effect("are made once, also for equal requests at once, and again when what they show has changed", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const { path, rider, route } = yield* shared()
      const before = yield* outcomes
      const answers = yield* Effect.all(Array.from({ length: 5 }, () => visitor.get(`${path}.png`)), {
        concurrency: "unbounded"
      })
      const after = yield* outcomes
      assert.deepStrictEqual(answers.map(({ status }) => status), [200, 200, 200, 200, 200])
      assert.strictEqual((after["made"] ?? 0) - (before["made"] ?? 0), 1)
      const etag = answers[0]?.headers.get("etag") ?? ""
      const again = yield* visitor.get(`${path}.png`, { headers: { "if-none-match": etag } })
      assert.deepStrictEqual([again.status, again.headers.get("etag"), again.text], [304, etag, ""])
      yield* rider.patch(`/routes/${route.id}`, { geometry: [[9.5, 47.1], [9.5, 47.2]] })
      const changed = yield* visitor.get(`${path}.png`, { headers: { "if-none-match": etag } })
      assert.strictEqual(changed.status, 200)
      assert.notStrictEqual(changed.headers.get("etag"), etag)
      assert.strictEqual((yield* outcomes)["made"], (after["made"] ?? 0) + 1)
    }))

  it.effect("are kept up to a number of bytes", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const { path } = yield* shared()
      for (const height of [500, 510, 520, 530, 540, 550, 560, 570]) {
        yield* visitor.get(`${path}.png?height=${height}`)
      }
      const { text } = yield* visitor.get("//metrics")
      const kept = Number(/^picture_cache_bytes (\d+)/m.exec(text)?.[1])
      assert.isTrue(kept > 50_000 && kept <= 102_400, String(kept))
    }))

  it.effect("of a line at the sea name no elevation below zero that is none", () =>
    Effect.gen(function*() {
      const { path } = yield* shared({ geometry: [[9, 47, -0.4], [9.1, 47.1, 60]] })
      const { text } = yield* (yield* anonymous).get(`${path}.svg?profile=true`)
      assert.include(text, ">0 m<")
      assert.notInclude(text, ">-0 m<")
    }))

  it.effect("of a route without a line show its waypoints", () =>
    Effect.gen(function*() {
      const { path } = yield* shared({ geometry: null, waypoints: [{ coord: [9, 47] }, { coord: [9.1, 47.1] }] })
      const { status, text } = yield* (yield* anonymous).get(`${path}.svg`)
      assert.strictEqual(status, 200)
      assert.match(text, /<circle[^]*|<rect[^]*rx=/)
      assert.notMatch(text, /stroke-linecap/)
    }))
})
