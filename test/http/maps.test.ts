import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Schedule } from "effect"
import { createServer, get, type RequestListener } from "node:http"
import { anonymous, signedIn } from "../support/Actors.ts"
import { listening } from "../support/Listening.ts"
import { created, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"

const LINE = Array.from({ length: 2000 }, (_, index) => [
  9.52 + 0.06 * Math.cos(index / 320) + 0.0004 * Math.sin(index / 3),
  47.14 + 0.035 * Math.sin(index / 305),
  Math.round(520 + 180 * Math.sin(index / 350))
])

/** A device records these four hundred kilometres, where no position is on a smooth line. */
const RECORDED = Array.from({ length: 8000 }, (_, index) => [
  9.2 + 0.4 * Math.cos(index / 800) + 2e-5 * Math.sin(index * index),
  47 + 0.3 * Math.sin(index / 800) + 2e-5 * Math.cos(3 * index * index),
  Math.round(900 + 600 * Math.sin(index / 350) + 2 * Math.sin(index * index))
])

const CUES = Array.from({ length: 300 }, (_, index) => ({
  instruction: `Turn ${index % 2 === 0 ? "left onto Street" : "right onto Lane"} ${(index * index) % 97}.`,
  type: index % 2 === 0 ? 15 : 10,
  begin_shape_index: index * 25,
  length: 2,
  time: 400
}))

const share = Effect.fnUntraced(function*(members: Readonly<Record<string, unknown>>) {
  const rider = yield* signedIn
  const { body } = yield* rider.post("/routes", newRoute({ visibility: "unlisted", ...members }))
  return `//r/${created(body).shareToken}`
})

const shared = share({ geometry: LINE })

const hasMap = (text: string) => text.includes("data-map-style=")

/** Returns the page once its map is there. */
const pageWithMap = (path: string) =>
  Effect.flatMap(anonymous, (visitor) =>
    Effect.repeat(visitor.get(path), {
      until: ({ text }) => hasMap(text),
      schedule: Schedule.spaced("200 millis")
    }))

const json = (listener: (path: string) => unknown): RequestListener => (request, response) => {
  const body = listener(request.url ?? "")
  response.writeHead(body === undefined ? 404 : 200).end(JSON.stringify(body))
}

const serving = (listener: RequestListener) =>
  Effect.map(listening(createServer(listener)), (port) => `http://127.0.0.1:${port}`)

/** One server has a style and is away when it is first asked, the other has its tiles. */
class MapServers extends Context.Service<MapServers, { readonly style: string; readonly tiles: string }>()(
  "test/MapServers"
) {
  static readonly layer = Layer.effect(
    MapServers,
    Effect.gen(function*() {
      const tiles = yield* serving(
        json((path) => path === "/roads.json" ? { tiles: ["https://a.tiles.example.com/{z}/{x}/{y}"] } : undefined)
      )
      let asked = 0
      const style = yield* serving(json(() =>
        ++asked === 1 ? undefined : {
          version: 8,
          sources: {
            roads: { type: "vector", url: `${tiles}/roads.json` },
            hills: { type: "raster", tiles: ["https://hills.example.com/{z}/{x}/{y}.png"] },
            paths: { type: "geojson", data: "/paths.geojson" }
          },
          glyphs: "https://fonts.example.com/{fontstack}/{range}.pbf",
          sprite: [{ id: "default", url: "https://icons.example.com/sprite" }],
          layers: []
        }
      ))
      return MapServers.of({ style, tiles })
    })
  )
}

/** Counts what a browser receives of a page, of its style sheets, its scripts and its picture. */
const wireBytes = Effect.fnUntraced(function*(path: string) {
  const { origin } = yield* TestServer
  const bytesOf = (path: string) =>
    Effect.promise(() =>
      // `fetch` decodes the body.
      new Promise<{ readonly length: number; readonly encoding: string | undefined }>((resolve, reject) =>
        get(`${origin}${path}`, { headers: { "accept-encoding": "gzip, deflate, br, zstd" } }, (response) => {
          let length = 0
          response.on("data", (piece: Buffer) => length += piece.byteLength)
          response.on("end", () => resolve({ length, encoding: response.headers["content-encoding"] }))
        }).on("error", reject)
      )
    )
  const { text } = yield* (yield* anonymous).get(path)
  const loaded = [...text.matchAll(/(?:<link rel="stylesheet" href|src|data-worker|data-styles)="\.\.\/([^"]+)"/g)]
    .map(([, file = ""]) => `/${file.replaceAll("&amp;", "&")}`)
  const library = /data-library="\.\/([^"]+)"/.exec(text)?.[1]
  const paths = [path.slice(1), ...loaded, ...(library === undefined ? [] : [`/assets/${library}`])]
  const sizes = yield* Effect.forEach(paths, bytesOf)
  return { total: sizes.reduce((sum, { length }) => sum + length, 0), paths, sizes }
})

layer(TestServer.layer({ LOG_LEVEL: "none" }), { excludeTestServices: true })(
  "a page of a route without a map",
  (it) => {
    it.effect("has less than 70 KB", () =>
      Effect.gen(function*() {
        const { paths, sizes, total } = yield* wireBytes(yield* shared)
        assert.isAtLeast(paths.length, 4)
        assert.isBelow(total, 70_000, JSON.stringify({ paths, sizes }))
      }))
  }
)

const withMap = Layer.unwrap(
  Effect.map(
    MapServers,
    ({ style }) => TestServer.layer({ LOG_LEVEL: "none", MAP_STYLE_URL: `${style}/style.json?key=1&v=2` })
  )
).pipe(Layer.provideMerge(MapServers.layer))

layer(withMap, { excludeTestServices: true })("a page of a route with a map", (it) => {
  it.effect("has it as soon as the server of the style responds", () =>
    Effect.gen(function*() {
      const path = yield* shared
      const { text } = yield* (yield* anonymous).get(path)
      assert.include(text, "<picture>")
      yield* pageWithMap(path)
    }), 30_000)

  it.effect(
    "connects to all origins of the style: of sources, their tiles, glyphs and sprites",
    () =>
      Effect.gen(function*() {
        const { style, tiles } = yield* MapServers
        const { headers, text } = yield* pageWithMap(yield* shared)
        const policy = headers.get("content-security-policy") ?? ""
        const connected = / connect-src ([^;]+)/.exec(policy)?.[1]?.split(" ").toSorted()
        assert.deepStrictEqual(
          connected,
          [
            "'self'",
            style,
            tiles,
            "https://a.tiles.example.com",
            "https://fonts.example.com",
            "https://hills.example.com",
            "https://icons.example.com"
          ].toSorted()
        )
        assert.include(policy, "script-src 'self'; worker-src 'self'")
        assert.include(text, `data-map-style="${style}/style.json?key=1&amp;v=2"`)
        // The map replaces a small picture.
        assert.include(text, "?width=400&amp;height=225\" width=\"400\" height=\"225\" alt=")
        const worker = /data-worker="\.\.(\/assets\/maplibre-worker-[\w-]{16}\.js)"/.exec(text)?.[1] ?? ""
        const served = yield* (yield* anonymous).get(`/${worker}`)
        assert.strictEqual(served.headers.get("cache-control"), "public, max-age=31536000, immutable")
        assert.include(served.headers.get("content-security-policy"), "https://a.tiles.example.com")
      }),
    30_000
  )

  it.effect(
    "has less than 400 KB for a long recording with cues, with a library that is compressed",
    () =>
      Effect.gen(function*() {
        const path = yield* share({ geometry: RECORDED, cues: CUES })
        yield* pageWithMap(path)
        const { paths, sizes, total } = yield* wireBytes(path)
        assert.isAtLeast(paths.length, 8)
        assert.isBelow(total, 400_000, JSON.stringify({ paths, sizes }))
        const large = sizes.filter(({ length }) => length > 50_000)
        assert.deepStrictEqual(large.map(({ encoding }) => encoding), ["br", "br"])
      })
  )
})
