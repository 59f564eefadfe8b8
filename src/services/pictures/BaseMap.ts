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
  readonly type: Tiles["type"]
  readonly bytes: Uint8Array
}

/** Within these, a card has its base map or none. */
const TIMEOUT = "2 seconds"

const MAX_BYTES = 512 * 1024

const MAX_TILES = 40

/** The side of a tile, in pixels, at the scale that it is made for. */
const SIDE = { raster: 256, vector: 512 }

const MEDIA_TYPES = {
  raster: ["image/png", "image/jpeg"],
  vector: ["application/x-protobuf", "application/octet-stream", "application/vnd.mapbox-vector-tile"]
}

const tilesIn = ({ degrees, north, west }: Frame, { maxZoom, type }: Tiles, width: number, height: number) => {
  const zoom = Math.min(Math.max(Math.round(Math.log2(360 / (degrees * SIDE[type]))), 0), Math.floor(maxZoom))
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

/** Reads a part of a card. Redirects are not followed. */
export const readPart = Effect.fnUntraced(
  function*(client: HttpClient.HttpClient, address: string, types: ReadonlyArray<string>) {
    const response = yield* client.execute(HttpClientRequest.get(address))
    const type = mediaTypeOf(response.headers["content-type"])
    if (response.status !== 200 || !types.includes(type)) {
      return yield* Effect.andThen(hangUp(response), Effect.fail("unusable" as const))
    }
    const pieces = yield* response.stream.pipe(
      Stream.mapError(() => "unusable" as const),
      Stream.limitBytes(MAX_BYTES, () => Stream.fail("unusable" as const)),
      Stream.runCollect
    )
    return { type, bytes: new Uint8Array(Buffer.concat(pieces)) }
  },
  (read) => Effect.timeout(read, TIMEOUT)
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
  (read) => read.pipe(Effect.timeout(TIMEOUT), Effect.catch(() => Effect.succeed<ReadonlyArray<PlacedTile>>([])))
)
