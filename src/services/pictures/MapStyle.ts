import { Array as Arr, Context, Duration, Effect, Layer, Option, Ref, Result, Schedule, Schema, Stream } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { readFile } from "node:fs/promises"
import { mediaTypeOf } from "../../schema/MediaTypes.ts"
import { Warnings } from "../operations/Metrics.ts"
import { mapStyleUrl, settings } from "../operations/SettingsRegistry.ts"
import { LOGO_TYPES } from "../operations/SettingTypes.ts"
import { hangUp, requestJson } from "../operations/Upstream.ts"
import { configuredSite, type Logo, logoType } from "../texts/Site.ts"
import type { Frame } from "./Shapes.ts"

interface Tiles {
  readonly type: "raster" | "vector"
  readonly template: string
  readonly maxZoom: number
  readonly attribution: string | undefined
}

export interface PlacedTile {
  readonly x: number
  readonly y: number
  readonly side: number
  readonly type: Tiles["type"]
  readonly bytes: Uint8Array
}

/** A card waits this long for its base map, and is drawn without it after that. */
const TILE_TIMEOUT = "2 seconds"

const MAX_TILE_BYTES = 512 * 1024

const MAX_TILES = 40

const SIDE = { raster: 256, vector: 512 }

const MEDIA_TYPES = {
  raster: ["image/png", "image/jpeg"],
  vector: ["application/x-protobuf", "application/octet-stream", "application/vnd.mapbox-vector-tile"]
}

type TilePath = readonly [zoom: number, column: number, row: number]

const tilesIn = ({ degrees, north, west }: Frame, { maxZoom, type }: Tiles, width: number, height: number) => {
  const zoom = Math.min(Math.max(Math.round(Math.log2(360 / (degrees * SIDE[type]))), 0), Math.floor(maxZoom))
  const count = 2 ** zoom
  const side = 360 / count / degrees
  const [left, top] = [(west + 180) / degrees, (180 - north) / degrees]
  const from = { x: Math.floor(left / side), y: Math.max(Math.floor(top / side), 0) }
  const to = { x: Math.floor((left + width) / side), y: Math.min(Math.floor((top + height) / side), count - 1) }
  const found: Array<Pick<PlacedTile, "side" | "x" | "y"> & { readonly path: TilePath }> = []
  for (let y = from.y; y <= to.y; y++) {
    for (let x = from.x; x <= to.x; x++) {
      found.push({ x: x * side - left, y: y * side - top, side, path: [zoom, ((x % count) + count) % count, y] })
    }
  }
  return found
}

const addressOf = (template: string, [z, x, y]: TilePath) =>
  template.replaceAll("{z}", String(z)).replaceAll("{x}", String(x)).replaceAll("{y}", String(y)).replaceAll(
    "{ratio}",
    ""
  )

/** Reads a part of a card. Redirects are not followed. */
const readPart = Effect.fnUntraced(
  function*(client: HttpClient.HttpClient, address: string, types: ReadonlyArray<string>) {
    const response = yield* client.execute(HttpClientRequest.get(address))
    const type = mediaTypeOf(response.headers["content-type"])
    if (response.status !== 200 || !types.includes(type)) {
      return yield* Effect.andThen(hangUp(response), Effect.fail("unusable" as const))
    }
    const pieces = yield* response.stream.pipe(
      Stream.mapError(() => "unusable" as const),
      Stream.limitBytes(MAX_TILE_BYTES, () => Stream.fail("unusable" as const)),
      Stream.runCollect
    )
    return { type, bytes: new Uint8Array(Buffer.concat(pieces)) }
  },
  (read) => Effect.timeout(read, TILE_TIMEOUT)
)

/** Reads the tiles below a picture, all of them in time or none. The addresses are those of the operator's style. */
export const readBaseMap = Effect.fnUntraced(
  function*(client: HttpClient.HttpClient, tiles: Tiles, frame: Frame, width: number, height: number) {
    const { template, type } = tiles
    const wanted = tilesIn(frame, tiles, width, height)
    if (wanted.length > MAX_TILES) return []
    return yield* Effect.forEach(
      wanted,
      ({ path, ...place }) =>
        Effect.map(
          readPart(client, addressOf(template, path), MEDIA_TYPES[type]),
          ({ bytes }): PlacedTile => ({ ...place, type, bytes })
        ),
      { concurrency: 8 }
    )
  },
  (read) => read.pipe(Effect.timeout(TILE_TIMEOUT), Effect.catch(() => Effect.succeed<ReadonlyArray<PlacedTile>>([])))
)

export interface MapStyle {
  readonly url: URL
  readonly origins: ReadonlyArray<string>
  readonly tiles: Tiles | undefined
  /** Returns no tiles if they cannot be had in time. */
  readonly baseMap: (frame: Frame, width: number, height: number) => Effect.Effect<ReadonlyArray<PlacedTile>>
}

/** There is no style without a setting, or before the style was read. */
export const CurrentMapStyle = Context.Reference<Effect.Effect<Option.Option<MapStyle>>>(
  "route-planning-service/CurrentMapStyle",
  { defaultValue: () => Effect.succeedNone }
)

const texts = Schema.optionalKey(Schema.Array(Schema.String))

const TileSet = {
  tiles: texts,
  scheme: Schema.optionalKey(Schema.String),
  maxzoom: Schema.optionalKey(Schema.Finite),
  attribution: Schema.optionalKey(Schema.String)
}

const TileJson = Schema.Struct(TileSet)

const Source = Schema.Struct({
  ...TileSet,
  type: Schema.String,
  url: Schema.optionalKey(Schema.String),
  urls: texts,
  data: Schema.optionalKey(Schema.Unknown)
})
type Source = typeof Source.Type

const Sprite = Schema.Union([Schema.String, Schema.Array(Schema.Struct({ url: Schema.String }))])

const Style = Schema.Struct({
  version: Schema.Literal(8),
  sources: Schema.Record(Schema.String, Source),
  sprite: Schema.optionalKey(Sprite),
  glyphs: Schema.optionalKey(Schema.String)
})
type Style = typeof Style.Type

class Unreadable extends Schema.TaggedError<Unreadable>()("Unreadable", { host: Schema.String }) {}

class Unusable extends Schema.TaggedError<Unusable>()("Unusable", { origins: Schema.Array(Schema.String) }) {}

const MAX_BYTES = 4 * 1024 * 1024

const TIMEOUT = Duration.seconds(5)

const readJson = Effect.fnUntraced(function*<A>(url: URL, schema: Schema.Codec<A, unknown>) {
  const client = yield* HttpClient.HttpClient
  const upstream = { name: "The server of the map style", timeout: TIMEOUT, maxBytes: MAX_BYTES }
  const { body, status } = yield* requestJson(client, HttpClientRequest.get(url), upstream)
  if (status !== 200) return yield* new Unreadable({ host: url.host })
  return yield* Schema.decodeUnknownEffect(schema)(body)
}, (read, url) => Effect.mapError(read, () => new Unreadable({ host: url.host })))

/** A policy has these characters in an origin. Another one could begin a directive. */
const ORIGIN = /^https?:\/\/[\w.[\]:-]+$/

/** `mapbox:` and the like have no origin, and their host is what names them. */
const nameOf = ({ host, origin, protocol }: URL) => origin === "null" ? `${protocol}//${host}` : origin

/** A page over HTTPS may load nothing else, and no style from there may lead this service into its own network. */
const isUsable = (url: URL, isSecure: boolean) => ORIGIN.test(url.origin) && (url.protocol === "https:" || !isSecure)

const addressesIn = ({ glyphs, sources, sprite = [] }: Style): ReadonlyArray<string> => [
  ...(glyphs === undefined ? [] : [glyphs]),
  ...(typeof sprite === "string" ? [sprite] : sprite.map(({ url }) => url)),
  ...Object.values(sources).flatMap(({ data, tiles = [], url, urls = [] }) =>
    tiles.concat(urls, url ?? [], typeof data === "string" ? data : [])
  )
]

/** The card of a route needs tiles of towns and roads. */
const LEAST_ZOOM = 10

/** The rows of the scheme `tms`, which hardly any map has, count from the south: their tiles would be in wrong places. */
const tilesOf = (sources: ReadonlyArray<Source>, style: URL): Tiles | undefined => {
  const usable = (["raster", "vector"] as const).flatMap((type) =>
    sources.flatMap(({ attribution, maxzoom: maxZoom = 22, scheme, tiles: [template] = [], type: given }) =>
      given === type && template !== undefined && maxZoom >= LEAST_ZOOM && scheme !== "tms"
        ? [{ type, template: absolute(template, style), maxZoom, attribution }]
        : []
    )
  )
  return usable[0]
}

/** Parses a template before its numbers are in it: they cannot change its server. The URL parser escapes braces. */
const absolute = (template: string, style: URL) =>
  new URL(template, style).href.replaceAll("%7B", "{").replaceAll("%7D", "}")

/** A template that cannot be parsed may be an address of any server with the numbers of a tile, and may have a key. */
const UNPARSED = "an address that is no URL"

const usableOrigins = Effect.fnUntraced(function*(addresses: ReadonlyArray<string>, style: URL, isSecure: boolean) {
  const urls = [style, ...addresses.map((address) => URL.parse(address, style.href))]
  const isHttps = isSecure || style.protocol === "https:"
  const [usable, unusable] = Arr.partition(urls, (url) => {
    if (url === null) return Result.fail(UNPARSED)
    return isUsable(url, isHttps) ? Result.succeed(url.origin) : Result.fail(nameOf(url))
  })
  return unusable.length === 0 ? [...new Set(usable)] : yield* new Unusable({ origins: [...new Set(unusable)] })
})

const readStyle = Effect.fnUntraced(function*(style: URL, isSecure: boolean) {
  const read = yield* readJson(style, Style)
  const own = yield* usableOrigins(addressesIn(read), style, isSecure)
  // A source with the address of a TileJSON document has its tiles wherever that says.
  const sources = yield* Effect.forEach(Object.values(read.sources), (source) => {
    const tileset = source.url === undefined || !/^(raster|raster-dem|vector)$/.test(source.type)
      ? null
      : URL.parse(source.url, style.href)
    return tileset === null
      ? Effect.succeed(source)
      : Effect.map(readJson(tileset, TileJson), (found): Source => ({ ...source, ...found }))
  }, { concurrency: 4 })
  const tiles = yield* usableOrigins(sources.flatMap(({ tiles = [] }) => tiles), style, isSecure)
  const client = yield* HttpClient.HttpClient
  const drawn = tilesOf(sources, style)
  const found: MapStyle = {
    url: style,
    origins: [...new Set([...own, ...tiles])],
    tiles: drawn,
    baseMap: (frame, width, height) =>
      drawn === undefined ? Effect.succeed([]) : readBaseMap(client, drawn, frame, width, height)
  }
  return found
})

/** Some servers have the tiles of each state of the map at another address, and not for ever. */
const READ_AGAIN = Duration.days(1)

const RETRIES = Schedule.min([Schedule.exponential("5 seconds"), Schedule.spaced("5 minutes")])

/** Reads the style beside the start, each day, and again while its server is away; warns of one that cannot be used. */
export const mapStyleLayer = Layer.effect(
  CurrentMapStyle,
  Effect.gen(function*() {
    const given = yield* mapStyleUrl
    if (Option.isNone(given)) return Effect.succeedNone
    const { add } = yield* Warnings
    const isSecure = (yield* settings.BASE_URL).protocol === "https:"
    const current = yield* Ref.make(Option.none<MapStyle>())
    const style = given.value
    const reading = readStyle(style, isSecure).pipe(
      Effect.flatMap((read) => Ref.set(current, Option.some(read))),
      Effect.tapErrorTag(
        "Unreadable",
        Effect.fnUntraced(function*({ host }) {
          if (Option.isSome(yield* Ref.get(current))) return
          yield* add(
            `MAP_STYLE_URL: no style of MapLibre can be read from ${style.host}, for an error at ${host}: pages have no map`
          )
        })
      ),
      Effect.retry({ schedule: RETRIES, while: ({ _tag }) => _tag === "Unreadable" }),
      Effect.catchTag(
        "Unusable",
        Effect.fnUntraced(function*({ origins }) {
          const kept = Option.isSome(yield* Ref.get(current)) ? "pages have the style of before" : "pages have no map"
          yield* add(
            `MAP_STYLE_URL: the style of ${style.host} is refused, since pages cannot load what it needs from ${
              origins.join(", ")
            }: expected https${isSecure ? "" : " or http"} sources, glyphs and sprites: ${kept}`
          )
        })
      ),
      Effect.repeat(Schedule.spaced(READ_AGAIN)),
      Effect.ignore
    )
    yield* Effect.forkScoped(reading)
    return Ref.get(current)
  })
)

/** The site's logo is a `data:` URL, undefined without one, or if it cannot be had in time. */
export const CardLogo = Context.Reference<Effect.Effect<string | undefined>>("route-planning-service/CardLogo", {
  defaultValue: () => Effect.undefined
})

/** Another server may change its logo, or be away. */
const KEPT_FOR = "10 minutes"

const read = (client: HttpClient.HttpClient, { address, file }: Logo) =>
  file === undefined
    ? readPart(client, address, Object.values(LOGO_TYPES))
    : Effect.tryPromise({ try: () => readFile(file), catch: () => "unusable" as const }).pipe(
      Effect.map((bytes) => ({ bytes, type: logoType(file) }))
    )

export const cardLogoLayer = Layer.effect(
  CardLogo,
  Effect.gen(function*() {
    const client = yield* HttpClient.HttpClient
    const { logo } = yield* configuredSite
    if (logo === undefined) return Effect.undefined
    const url = Effect.map(
      read(client, logo),
      ({ bytes, type }) => `data:${type};base64,${Buffer.from(bytes).toString("base64")}`
    )
    return yield* Effect.cachedWithTTL(Effect.orElseSucceed(url, () => undefined), KEPT_FOR)
  })
)
