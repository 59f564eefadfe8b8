import { assert, layer } from "@effect/vitest"
import { Resvg } from "@resvg/resvg-js"
import { Context, Effect, Layer, Schedule } from "effect"
import { rm, writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { anonymous, signedIn } from "../support/Actors.ts"
import { listening } from "../support/Listening.ts"
import { created, newRoute } from "../support/Routes.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"
import { TestServer } from "../support/TestServer.ts"
import { EXTENT, type Shape, tileOf } from "../support/VectorTiles.ts"

const square = (from: number, to: number): Shape["points"] => [[from, from], [to, from], [to, to], [from, to]]

const road = (kind: string, y: number): Shape => ({
  type: "line",
  points: [[0, y], [EXTENT / 2, y + 300], [EXTENT, y]],
  properties: { class: kind }
})

const TILE = tileOf({
  landcover: [{ type: "polygon", points: square(0, 1800), properties: { class: "wood" } }],
  water: [{ type: "polygon", points: square(2400, 4096), properties: { class: "lake" } }],
  transportation: ["motorway", "primary", "secondary", "minor", "path", "rail"].map((kind, index) =>
    road(kind, 300 + 600 * index)
  ),
  place: [{ type: "point", points: [[1024, 1500]], properties: { class: "town", name: "Vaduz <&>", rank: 3 } }]
})

const LOGO =
  `<svg xmlns="http://www.w3.org/2000/svg" width="90" height="40"><path fill="#e0218a" d="M0 0h90v40H0z"/></svg>`

interface Tiles {
  bytes: Uint8Array
  status: number
}

/** The server has a style in the OpenMapTiles schema, and its tiles. */
class TileServer extends Context.Service<TileServer, { readonly origin: string; readonly tiles: Tiles }>()(
  "test/TileServer"
) {
  static readonly layer = Layer.effect(
    TileServer,
    Effect.gen(function*() {
      const tiles: Tiles = { bytes: TILE, status: 200 }
      const server = createServer(({ headers, url = "" }, response) => {
        const origin = `http://${headers.host}`
        if (url === "/style.json") {
          const source = {
            type: "vector",
            tiles: [`${origin}/{z}/{x}/{y}.pbf`],
            maxzoom: 14,
            attribution: "&copy; A Map"
          }
          response.end(JSON.stringify({ version: 8, sources: { openmaptiles: source }, layers: [] }))
        } else response.writeHead(tiles.status, { "content-type": "application/x-protobuf" }).end(tiles.bytes)
      })
      return TileServer.of({ origin: `http://127.0.0.1:${yield* listening(server)}`, tiles })
    })
  )
}

const shared = Effect.gen(function*() {
  const rider = yield* signedIn
  const geometry = Array.from({ length: 200 }, (_, index) => [
    9.52 + 0.05 * Math.cos(index / 32),
    47.14 + 0.015 * Math.sin(index / 30)
  ])
  const name = `Around Vaduz by ${rider.email}`
  const { body } = yield* rider.post("/routes", newRoute({ visibility: "unlisted", geometry, name }))
  return `/r/${created(body).shareToken}/card.png`
})

/** Returns the share of pixels of each colour in a card. */
const colorsOf = (png: Uint8Array) => {
  const image = `data:image/png;base64,${Buffer.from(png).toString("base64")}`
  const { pixels } = new Resvg(
    `<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="630"><image width="1200" height="630" href="${image}"/></svg>`
  )
    .render()
  const view = new DataView(pixels.buffer, pixels.byteOffset, pixels.byteLength)
  const counts = new Map<number, number>()
  for (let at = 0; at < view.byteLength; at += 4) {
    const color = view.getUint32(at) >>> 8
    counts.set(color, (counts.get(color) ?? 0) + 1)
  }
  return (color: string) => (counts.get(Number.parseInt(color.slice(1), 16)) ?? 0) / (1200 * 630)
}

const cardOf = Effect.fnUntraced(function*(path: string, known?: string) {
  const { origin } = yield* TestServer
  // The server closes an idle connection while this thread counts pixels.
  const headers = { connection: "close", ...(known === undefined ? {} : { "if-none-match": known }) }
  return yield* Effect.promise(async () => {
    const response = await fetch(`${origin}${path}`, { headers })
    return { status: response.status, etag: response.headers.get("etag") ?? "", png: await response.bytes() }
  })
})

const WATER = "#b4d4e8"

const withTiles = Layer.unwrap(Effect.gen(function*() {
  const { origin } = yield* TileServer
  const logo = join(yield* temporaryDirectory, "logo.svg")
  yield* Effect.promise(() => writeFile(logo, LOGO))
  return TestServer.layer({
    LOG_LEVEL: "none",
    MAP_STYLE_URL: `${origin}/style.json`,
    SITE_LOGO_URL: logo,
    SITE_COLOR: "#7a1f5c"
  })
})).pipe(Layer.provideMerge(TileServer.layer))

layer(withTiles, { excludeTestServices: true })("a card", (it) => {
  it.effect(
    "has a map of vector tiles below the line, and the colour and the logo of the site",
    () =>
      Effect.gen(function*() {
        const path = yield* shared
        const { png } = yield* Effect.repeat(cardOf(path), {
          until: ({ png }) => colorsOf(png)(WATER) > 0,
          schedule: Schedule.spaced("50 millis")
        })
        const share = colorsOf(png)
        assert.isAbove(share(WATER), 0.02)
        assert.isAbove(share("#d3e2c6"), 0.02)
        for (const color of ["#f7dfa5", "#ffffff", "#4a5058", "#7a1f5c", "#e0218a"]) {
          assert.isAbove(share(color), 0.0005, color)
        }
      })
  )

  it.effect(
    "has another tag without its map, and is made again as soon as the tiles can be had",
    () =>
      Effect.gen(function*() {
        const { tiles } = yield* TileServer
        const bad = [
          { status: 503, bytes: TILE },
          { status: 302, bytes: TILE },
          { status: 200, bytes: new Uint8Array(600 * 1024) },
          { status: 200, bytes: Buffer.from("no tile") },
          { status: 200, bytes: gzipSync(new Uint8Array(8 * 1024 * 1024)) }
        ]
        for (const given of bad) {
          const path = yield* shared
          Object.assign(tiles, given)
          const plain = yield* cardOf(path)
          const words = `${given.status} ${given.bytes.length}`
          assert.deepStrictEqual([plain.status, colorsOf(plain.png)(WATER)], [200, 0], words)
          Object.assign(tiles, { status: 200, bytes: gzipSync(TILE) })
          const whole = yield* cardOf(path, plain.etag)
          assert.strictEqual(whole.status, 200, words)
          assert.isAbove(colorsOf(whole.png)(WATER), 0.02, words)
          assert.notStrictEqual(whole.etag, plain.etag)
          assert.strictEqual((yield* cardOf(path, whole.etag)).status, 304)
        }
      })
  )
})

layer(
  Layer.unwrap(Effect.gen(function*() {
    const logo = join(yield* temporaryDirectory, "logo.svg")
    yield* Effect.promise(() => writeFile(logo, LOGO))
    return TestServer.layer({ LOG_LEVEL: "none", SITE_LOGO_URL: logo }).pipe(
      Layer.tap(() => Effect.promise(() => rm(logo)))
    )
  })),
  { excludeTestServices: true }
)("a card without a map", (it) => {
  it.effect("is kept once, and has no logo where its file is gone", () =>
    Effect.gen(function*() {
      const { png, status } = yield* cardOf(yield* shared)
      assert.deepStrictEqual([status, colorsOf(png)("#e0218a")], [200, 0])
      const { text } = yield* (yield* anonymous).get("//metrics")
      assert.include(text, `\npicture_cache_bytes ${png.length}\n`)
      assert.include(text, `\npictures_total{outcome="made"} 1\n`)
    }))
})
