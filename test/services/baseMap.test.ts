import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Option } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { TestClock } from "effect/testing"
import { createServer } from "node:http"
import { httpClientLive } from "../../src/layers/Live.ts"
import { Warnings } from "../../src/services/operations/Metrics.ts"
import { CurrentMapStyle, mapStyleLayer, readBaseMap } from "../../src/services/pictures/MapStyle.ts"
import { listening } from "../support/Listening.ts"
import { until } from "../support/Waiting.ts"

/** The picture shows the whole Earth between 85 degrees north and the equator, in 512 x 256 pixels at zoom 1. */
const FRAME = { west: -180, north: 180, degrees: 360 / 512 }

const SIZE = [512, 256] as const

/** OpenFreeMap has these at these addresses: the tiles are at another one after each update of the map. */
const OPEN_FREE_MAP: Readonly<Record<string, unknown>> = {
  "/styles/liberty": {
    version: 8,
    sources: {
      ne2_shaded: {
        maxzoom: 6,
        tileSize: 256,
        tiles: ["https://tiles.openfreemap.org/natural_earth/ne2sr/{z}/{x}/{y}.png"],
        type: "raster"
      },
      openmaptiles: { type: "vector", url: "https://tiles.openfreemap.org/planet" }
    },
    sprite: "https://tiles.openfreemap.org/sprites/ofm_f384/ofm",
    glyphs: "https://tiles.openfreemap.org/fonts/{fontstack}/{range}.pbf",
    layers: [{ id: "background", type: "background", paint: { "background-color": "#f8f4f0" } }]
  }
}

const planet = (update: string, scheme: string) => ({
  tilejson: "3.0.0",
  tiles: [`${scheme}://tiles.openfreemap.org/planet/${update}/{z}/{x}/{y}.pbf`],
  vector_layers: [{ id: "transportation", fields: { class: "String" }, minzoom: 4, maxzoom: 14 }],
  attribution: "OpenFreeMap © OpenMapTiles Data from OpenStreetMap",
  maxzoom: 14,
  minzoom: 0
})

it.effect("the style of MAP_STYLE=openfreemap is read, and its tiles where they are after a day", () =>
  Effect.gen(function*() {
    let update = "20250430_001001_pt"
    let isUsable = true
    const server = createServer(({ url = "" }, response) => {
      const body = url === "/planet" ? planet(update, isUsable ? "https" : "mapbox") : OPEN_FREE_MAP[url]
      response.writeHead(body === undefined ? 404 : 200, { "content-type": "application/json" })
      response.end(JSON.stringify(body))
    })
    const origin = `http://127.0.0.1:${yield* listening(server)}`
    const client = Layer.effect(
      HttpClient.HttpClient,
      Effect.map(
        HttpClient.HttpClient,
        HttpClient.mapRequest((request) =>
          HttpClientRequest.setUrl(request, request.url.toString().replace("https://tiles.openfreemap.org", origin))
        )
      )
    ).pipe(Layer.provide(httpClientLive))
    const configured = ConfigProvider.layer(
      ConfigProvider.fromUnknown({ MAP_STYLE: "openfreemap", BASE_URL: "https://routes.example.com" })
    )
    yield* Effect.gen(function*() {
      const style = yield* CurrentMapStyle
      const template = Effect.map(style, (read) => Option.getOrUndefined(read)?.tiles?.template)
      const tilesOf = (update: string) => `https://tiles.openfreemap.org/planet/${update}/{z}/{x}/{y}.pbf`
      const isOf = (update: string) => Effect.map(template, (found) => found === tilesOf(update))
      yield* until(isOf(update))
      assert.deepStrictEqual(Option.getOrThrow(yield* style).origins, ["https://tiles.openfreemap.org"])
      update = "20250507_001001_pt"
      yield* TestClock.adjust("1 day")
      yield* until(isOf(update))
      const { all } = yield* Warnings
      assert.deepStrictEqual(yield* all, [])
      isUsable = false
      yield* TestClock.adjust("1 day")
      yield* until(Effect.map(all, ({ length }) => length > 0))
      assert.match((yield* all).join(), /is refused, .* from mapbox:.*: pages have the style of before$/)
      assert.isTrue(yield* isOf(update))
      isUsable = true
      update = "20250514_001001_pt"
      yield* TestClock.adjust("1 day")
      yield* until(isOf(update))
    }).pipe(
      Effect.provide(mapStyleLayer.pipe(Layer.provideMerge([Warnings.layer, configured, client])))
    )
  }).pipe(Effect.scoped))

it.live("a base map is of all tiles below a picture, or of none", () =>
  Effect.gen(function*() {
    const asked: Array<string> = []
    let respond = { status: 200, type: "image/png", bytes: 4 }
    const server = createServer(({ url = "" }, response) => {
      asked.push(url)
      const isFirst = url === "/1/0/0.png"
      response.writeHead(isFirst ? respond.status : 200, { "content-type": isFirst ? respond.type : "image/png" })
      response.end(Buffer.alloc(isFirst ? respond.bytes : 4))
    })
    const template = `http://127.0.0.1:${yield* listening(server)}/{z}/{x}/{y}.png`
    const tiles = { type: "raster", template, maxZoom: 18, attribution: undefined } as const
    const client = yield* HttpClient.HttpClient
    const read = readBaseMap(client, tiles, FRAME, ...SIZE)
    const bytes = new Uint8Array(4)
    const place = { type: "raster", side: 256, y: 0, bytes } as const
    const found = (yield* read).slice(0, 2)
    assert.deepStrictEqual(found, [{ x: 0, ...place }, { x: 256, ...place }])
    assert.include(asked, "/1/0/0.png")
    for (
      const refusal of [
        { status: 404, type: "image/png", bytes: 4 },
        { status: 302, type: "image/png", bytes: 4 },
        { status: 200, type: "image/svg+xml", bytes: 4 },
        { status: 200, type: "image/png", bytes: 600 * 1024 }
      ]
    ) {
      respond = refusal
      assert.deepStrictEqual(yield* read, [], JSON.stringify(refusal))
    }
    // Tiles of this type are of the kind "raster".
    respond = { status: 200, type: "image/png", bytes: 4 }
    assert.deepStrictEqual(yield* readBaseMap(client, { ...tiles, type: "vector" }, FRAME, ...SIZE), [])
  }).pipe(Effect.provide(httpClientLive), Effect.scoped))
