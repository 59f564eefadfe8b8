import { assert, it } from "@effect/vitest"
import { Clock, ConfigProvider, Effect, Layer, Option } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { Warnings } from "../../src/services/operations/Metrics.ts"
import { CurrentMapStyle, mapStyleLayer, readBaseMap } from "../../src/services/pictures/MapStyle.ts"
import type { Frame } from "../../src/services/pictures/Shapes.ts"
import { numbers } from "../support/Numbers.ts"

type Tiles = Parameters<typeof readBaseMap>[1]

const raster: Tiles = {
  type: "raster",
  template: "https://m.example.com/{z}/{x}/{y}{ratio}",
  maxZoom: 18,
  attribution: ""
}

const respondingWith = (respond: (url: URL) => Effect.Effect<Response>) =>
  HttpClient.make((request, url) =>
    Effect.map(respond(url), (response) => HttpClientResponse.fromWeb(request, response))
  )

const image = (bytes: string | Uint8Array<ArrayBuffer>, type = "image/png") =>
  new Response(bytes, { headers: { "content-type": type } })

/** Each tile has its own path for bytes. */
const echo = respondingWith(({ pathname }) => Effect.succeed(image(pathname)))

const tilesOf = Effect.fnUntraced(
  function*(frame: Frame, width: number, height: number, tiles: Partial<Tiles> = {}, client = echo) {
    const read = yield* readBaseMap(client, { ...raster, ...tiles }, frame, width, height)
    return read.map(({ bytes, side, x, y }) => {
      const [zoom = -1, column = -1, row = -1] = Buffer.from(bytes).toString().split("/").slice(1).map(Number)
      return { side, x, y, zoom, column, row }
    })
  }
)

const frames = fc.record({
  west: numbers(-540, 540),
  north: numbers(-150, 200),
  degrees: fc.integer({ min: -20, max: -2 }).map((exponent) => 2 ** (exponent * 0.73))
})

it("the tiles of a base map cover the picture where there is an Earth, each of them in its place", () =>
  fc.assert(
    fc.asyncProperty(frames, async (frame) => {
      const { degrees, north, west } = frame
      const [width, height] = [1200, 430]
      const tiles = await Effect.runPromise(tilesOf(frame, width, height))
      const bottom = north - height * degrees
      if (bottom > 180 || north < -180) return assert.deepStrictEqual(tiles, [])
      const turn = 360 / degrees
      for (const { column, row, side, x, y, zoom } of tiles) {
        const count = 2 ** zoom
        assert.isTrue(column >= 0 && column < count && row >= 0 && row < count, `${zoom}/${column}/${row}`)
        assert.closeTo(side, turn / count, 1e-6)
        assert.closeTo(y, (north - (180 - 360 * row / count)) / degrees, 1e-3)
        const turns = (x - (360 * column / count - 180 - west) / degrees) / turn
        assert.closeTo(turns, Math.round(turns), 1e-6)
        assert.isTrue(x > -side && x <= width && y > -side && y <= height)
      }
      assert.strictEqual(new Set(tiles.map(({ x, y }) => `${x} ${y}`)).size, tiles.length)
      const ends = (values: ReadonlyArray<number>, side = 0) => [Math.min(...values), Math.max(...values) + side]
      const side = tiles[0]?.side ?? 0
      const [left = 1, right = 0] = ends(tiles.map(({ x }) => x), side)
      const [top = 1, low = 0] = ends(tiles.map(({ y }) => y), side)
      assert.isTrue(left <= 0 && right >= width)
      assert.isAtMost(top, Math.max(0, (north - 180) / degrees) + 1e-3)
      assert.isAtLeast(low, Math.min(height, (north + 180) / degrees) - 1e-3)
      assert.closeTo(tiles.length, (right - left) * (low - top) / side ** 2, 1e-3)
    }),
    { numRuns: 30 }
  ))

it.effect("tiles have the zoom at which they are nearest to their own size, as far as there are any", () =>
  Effect.gen(function*() {
    const zoomAt = (exact: number, size: number, tiles: Partial<Tiles> = {}) =>
      Effect.map(
        tilesOf({ west: 0, north: 0, degrees: 360 / size / 2 ** exact }, 9, 9, tiles),
        ([tile]) => tile?.zoom
      )
    const vector = respondingWith(({ pathname }) => Effect.succeed(image(pathname, "application/x-protobuf")))
    const vectorZoomAt = (exact: number) =>
      Effect.map(
        tilesOf({ west: 0, north: 0, degrees: 360 / 512 / 2 ** exact }, 9, 9, { type: "vector" }, vector),
        ([tile]) => tile?.zoom
      )
    const exact = [-3, 0.499, 0.501, 7.499, 7.501, 18, 21]
    assert.deepStrictEqual(yield* Effect.forEach(exact, (zoom) => zoomAt(zoom, 256)), [0, 0, 1, 7, 8, 18, 18])
    assert.deepStrictEqual(yield* Effect.forEach(exact, vectorZoomAt), [0, 0, 1, 7, 8, 18, 18])
    assert.strictEqual(yield* zoomAt(9, 256, { maxZoom: 8.9 }), 8)
  }))

it.effect("a base map has at most 40 tiles of at most 512 KiB, of the types of its kind, read eight at a time", () =>
  Effect.gen(function*() {
    const frame = { west: 0, north: 0, degrees: 360 / 256 / 2 ** 10 }
    const countOf = (columns: number, rows: number, client = echo, tiles: Partial<Tiles> = {}) =>
      Effect.map(tilesOf(frame, 256 * columns - 1, 256 * rows - 1, tiles, client), ({ length }) => length)
    assert.deepStrictEqual([yield* countOf(8, 5), yield* countOf(41, 1)], [40, 0])

    const of = (length: number, type?: string) =>
      respondingWith(() => Effect.succeed(image(new Uint8Array(length), type)))
    assert.deepStrictEqual([yield* countOf(1, 1, of(524_288)), yield* countOf(1, 1, of(524_289))], [1, 0])
    const types = ["image/png", "image/jpeg", "application/x-protobuf", "application/octet-stream", "text/html"]
    const isRead = (tiles: Partial<Tiles>) => Effect.forEach(types, (type) => countOf(1, 1, of(4, type), tiles))
    assert.deepStrictEqual(yield* isRead({}), [1, 1, 0, 0, 0])
    assert.deepStrictEqual(yield* isRead({ type: "vector" }), [0, 0, 1, 1, 0])
    assert.strictEqual(
      yield* countOf(1, 1, respondingWith(() => Effect.succeed(new Response(null, { status: 204 })))),
      0
    )

    const running = { now: 0, most: 0 }
    const slow = respondingWith(() =>
      Effect.gen(function*() {
        running.most = Math.max(running.most, ++running.now)
        yield* Effect.yieldNow
        running.now -= 1
        return image("")
      })
    )
    yield* countOf(8, 5, slow)
    assert.strictEqual(running.most, 8)
  }))

/** Reads a style from a server with these documents. */
const styleOf = Effect.fnUntraced(function*(
  documents: Readonly<Record<string, unknown>>,
  settings: Readonly<Record<string, string>> = {}
) {
  const client = respondingWith(({ href }) =>
    Effect.succeed(href in documents ? Response.json(documents[href]) : new Response("", { status: 404 }))
  )
  const layer = mapStyleLayer.pipe(Layer.provideMerge([
    Warnings.layer,
    Layer.succeed(HttpClient.HttpClient, client),
    ConfigProvider.layer(ConfigProvider.fromUnknown({
      BASE_URL: "http://routes.example.com",
      MAP_STYLE_URL: "https://m.example.com/a/style.json",
      ...settings
    }))
  ]))
  return yield* Effect.gen(function*() {
    yield* TestClock.adjust("1 second")
    const style = Option.getOrUndefined(yield* Effect.flatten(CurrentMapStyle))
    return { origins: style?.origins, tiles: style?.tiles, warnings: yield* (yield* Warnings).all }
  }).pipe(Effect.provide(layer))
})

const STYLE = "https://m.example.com/a/style.json"

const withSources = (sources: Readonly<Record<string, unknown>>, members: object = {}) => ({
  [STYLE]: { version: 8, sources, ...members }
})

it.effect("a base map is made of the first source of pictures to zoom 10 or more, else of the first of shapes", () =>
  Effect.gen(function*() {
    const source = (type: string, name: string, members: object = {}) => ({
      type,
      tiles: [`https://m.example.com/${name}/{z}/{x}/{y}`],
      ...members
    })
    const chosen = Effect.fnUntraced(function*(...sources: ReadonlyArray<object>) {
      const { tiles } = yield* styleOf(withSources(Object.fromEntries(sources.entries())))
      return tiles && [tiles.type, tiles.template.split("/")[3], tiles.maxZoom]
    })
    assert.deepStrictEqual(
      yield* chosen(source("vector", "a"), source("raster", "b"), source("raster", "c")),
      ["raster", "b", 22]
    )
    const coarse = source("raster", "a", { maxzoom: 9 })
    assert.deepStrictEqual(yield* chosen(coarse, source("vector", "b", { maxzoom: 14 })), ["vector", "b", 14])
    assert.deepStrictEqual(yield* chosen(coarse, source("raster", "b", { maxzoom: 10 })), ["raster", "b", 10])
    const fromSouth = source("raster", "a", { scheme: "tms" })
    assert.deepStrictEqual(yield* chosen(fromSouth, source("raster", "b", { scheme: "xyz" })), ["raster", "b", 22])
    assert.isUndefined(yield* chosen(coarse, { type: "vector" }, source("raster-dem", "b"), source("geojson", "c")))
  }))

it.effect("a style has its addresses relative to its own, or in TileJSON, and the origins of all of them", () =>
  Effect.gen(function*() {
    const relative = yield* styleOf(withSources({ a: { type: "vector", tiles: ["t/{z}/{x}/{y}.pbf?k=1"] } }))
    assert.deepStrictEqual(relative, {
      origins: ["https://m.example.com"],
      tiles: {
        type: "vector",
        template: "https://m.example.com/a/t/{z}/{x}/{y}.pbf?k=1",
        maxZoom: 22,
        attribution: undefined
      },
      warnings: []
    })
    const { origins, tiles } = yield* styleOf({
      ...withSources({
        a: { type: "vector", url: "https://tilejson.example.com/a.json", attribution: "Old" },
        b: { type: "video", urls: ["https://video.example.com/b.mp4"] },
        c: { type: "geojson", data: "https://data.example.com/c.json", url: "https://unread.example.com" },
        d: { type: "geojson", data: { type: "FeatureCollection", features: [] } }
      }, { sprite: "https://sprite.example.com/s", glyphs: "https://glyphs.example.com/{fontstack}/{range}.pbf" }),
      "https://tilejson.example.com/a.json": {
        tiles: ["https://t1.example.com/{z}/{x}/{y}", "https://t2.example.com/{z}/{x}/{y}"],
        maxzoom: 12,
        attribution: "New"
      }
    })
    assert.deepStrictEqual(origins?.map((origin) => new URL(origin).hostname.split(".")[0]).toSorted(), [
      "data",
      "glyphs",
      "m",
      "sprite",
      "t1",
      "t2",
      "tilejson",
      "unread",
      "video"
    ])
    assert.deepInclude(tiles, { template: "https://t1.example.com/{z}/{x}/{y}", maxZoom: 12, attribution: "New" })
  }))

it.effect("a style is refused where a page could not load all of it, and what is no style is read again", () =>
  Effect.gen(function*() {
    const tile = (template: string) => withSources({ a: { type: "raster", tiles: [template] } })
    const refusalOf = (origins: string, scheme = "https") =>
      `MAP_STYLE_URL: the style of m.example.com is refused, since pages cannot load what it needs from ${origins}: `
      + `expected ${scheme} sources, glyphs and sprites: pages have no map`
    const open = "https or http"
    const plain = "http://m.example.com/{z}/{x}/{y}"
    const warningsOf = (documents: Readonly<Record<string, unknown>>, settings?: Readonly<Record<string, string>>) =>
      Effect.map(styleOf(documents, settings), ({ warnings }) => warnings)
    assert.deepStrictEqual(yield* warningsOf(tile(plain)), [refusalOf("http://m.example.com", open)])
    assert.deepStrictEqual(yield* warningsOf(tile(plain), { BASE_URL: "https://routes.example.com" }), [
      refusalOf("http://m.example.com")
    ])
    const unsafe = { MAP_STYLE_URL: "http://m.example.com/style.json" }
    const onHttp = { "http://m.example.com/style.json": tile(plain)[STYLE] }
    assert.deepStrictEqual(yield* warningsOf(onHttp, unsafe), [])
    assert.deepStrictEqual(yield* warningsOf(tile("mapbox://tiles/{z}")), [refusalOf("mapbox://tiles", open)])
    assert.deepStrictEqual(yield* warningsOf(tile("https://{s}:x/{z}")), [refusalOf("an address that is no URL", open)])
    assert.deepStrictEqual(yield* warningsOf(withSources({}, { glyphs: "https://a;b/{range}" })), [
      refusalOf("https://a;b", open)
    ])
    const unreadable =
      "MAP_STYLE_URL: no style of MapLibre can be read from m.example.com, for an error at m.example.com: "
      + "pages have no map"
    for (const documents of [{}, withSources({}, { version: 9 }), { [STYLE]: [] }]) {
      assert.deepStrictEqual(yield* warningsOf(documents), [unreadable])
    }
    assert.deepStrictEqual((yield* styleOf({}, { MAP_STYLE_URL: "" })).warnings, [])
    const length = 4 * 1024 * 1024 - JSON.stringify(withSources({}, { filler: "" })[STYLE]).length
    const long = (filler: string) => Effect.map(warningsOf(withSources({}, { filler })), (warnings) => warnings.length)
    assert.deepStrictEqual([yield* long("x".repeat(length)), yield* long("x".repeat(length + 1))], [0, 1])
  }))

it.effect("a style is read again after 5 seconds, then twice as long each time up to 5 minutes, while it cannot be had", () =>
  Effect.gen(function*() {
    const attempts: Array<number> = []
    const failing = (response: Effect.Effect<Response>) =>
      Effect.gen(function*() {
        attempts.length = 0
        const client = respondingWith(() =>
          Effect.flatMap(Clock.currentTimeMillis, (now) => {
            attempts.push(now / 1000)
            return response
          })
        )
        yield* TestClock.setTime(0)
        yield* Effect.andThen(CurrentMapStyle, TestClock.adjust("16 minutes")).pipe(
          Effect.provide(mapStyleLayer.pipe(Layer.provide([
            Warnings.layer,
            Layer.succeed(HttpClient.HttpClient, client),
            ConfigProvider.layer(ConfigProvider.fromUnknown({ MAP_STYLE_URL: STYLE }))
          ])))
        )
        return [...attempts]
      })
    const away = Effect.sync(() => new Response("", { status: 503 }))
    assert.deepStrictEqual(yield* failing(away), [0, 5, 15, 35, 75, 155, 315, 615, 915])
    // A request that hangs takes 5 seconds.
    assert.deepStrictEqual((yield* failing(Effect.never)).slice(0, 4), [0, 10, 25, 50])
  }))
