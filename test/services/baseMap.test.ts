import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { HttpClient } from "effect/http"
import { createServer } from "node:http"
import { httpClientLive } from "../../src/layers/Live.ts"
import { readBaseMap } from "../../src/services/pictures/BaseMap.ts"
import { listening } from "../support/Listening.ts"

/** A picture of 512 x 256 pixels of the whole Earth between 85 degrees north and the equator, at zoom 1. */
const FRAME = { west: -180, north: 180, degrees: 360 / 512 }

const SIZE = [512, 256] as const

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
