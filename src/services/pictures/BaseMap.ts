import { Effect, Stream } from "effect"
import { type HttpClient, HttpClientRequest } from "effect/http"
import { mediaTypeOf } from "../../schema/MediaTypes.ts"
import { hangUp } from "../operations/Upstream.ts"
import type { Frame } from "./Projection.ts"

/** Tiles by the template of their addresses. */
export interface Tiles {
  readonly type: "raster" | "vector"
  readonly template: string
  readonly maxZoom: number
  readonly attribution: string | undefined
}

/** A tile where it is drawn. */
export interface PlacedTile {
  readonly x: number
  readonly y: number
  readonly side: number
  /** A `data:` URL. */
  readonly image: string
}

/** Within these, a card has its base map or none. */
const TIMEOUT = "2 seconds"

const MAX_TILE_BYTES = 512 * 1024

const MAX_TILES = 40

/** Tiles are drawn with at most this side, in pixels. */
const SIDE = 256

const IMAGE = /^image\/(?:png|jpeg)$/

const tilesIn = ({ degrees, north, west }: Frame, { maxZoom }: Tiles, width: number, height: number) => {
  const zoom = Math.min(Math.max(Math.ceil(Math.log2(360 / (degrees * SIDE))), 0), Math.floor(maxZoom))
  const count = 2 ** zoom
  const side = 360 / count / degrees
  const [left, top] = [(west + 180) / degrees, (180 - north) / degrees]
  const from = { x: Math.floor(left / side), y: Math.max(Math.floor(top / side), 0) }
  const to = { x: Math.floor((left + width) / side), y: Math.min(Math.floor((top + height) / side), count - 1) }
  const found: Array<
    { readonly x: number; readonly y: number; readonly side: number; readonly path: ReadonlyArray<number> }
  > = []
  for (let y = from.y; y <= to.y; y++) {
    for (let x = from.x; x <= to.x; x++) {
      found.push({ x: x * side - left, y: y * side - top, side, path: [zoom, ((x % count) + count) % count, y] })
    }
  }
  return found
}

const addressOf = (template: string, [z = 0, x = 0, y = 0]: ReadonlyArray<number>) =>
  template.replaceAll("{z}", String(z)).replaceAll("{x}", String(x)).replaceAll("{y}", String(y)).replaceAll(
    "{ratio}",
    ""
  )

/**
 * Reads the raster tiles below a picture, all of them in time or none. The addresses are those of the operator's style, and
 * redirects are not followed.
 */
export const readBaseMap = Effect.fnUntraced(
  function*(client: HttpClient.HttpClient, tiles: Tiles | undefined, frame: Frame, width: number, height: number) {
    const wanted = tiles?.type === "raster" ? tilesIn(frame, tiles, width, height) : []
    if (tiles === undefined || wanted.length > MAX_TILES) return []
    return yield* Effect.forEach(wanted, ({ path, ...place }) =>
      Effect.gen(function*() {
        const response = yield* client.execute(HttpClientRequest.get(addressOf(tiles.template, path)))
        const type = mediaTypeOf(response.headers["content-type"])
        if (response.status !== 200 || !IMAGE.test(type)) {
          return yield* Effect.andThen(hangUp(response), Effect.fail("unusable" as const))
        }
        const pieces = yield* response.stream.pipe(
          Stream.mapError(() => "unusable" as const),
          Stream.limitBytes(MAX_TILE_BYTES, () => Stream.fail("unusable" as const)),
          Stream.runCollect
        )
        const placed: PlacedTile = {
          ...place,
          image: `data:${type};base64,${Buffer.concat(pieces).toString("base64")}`
        }
        return placed
      }), { concurrency: 8 })
  },
  (read) => read.pipe(Effect.timeout(TIMEOUT), Effect.catch(() => Effect.succeed<ReadonlyArray<PlacedTile>>([])))
)
