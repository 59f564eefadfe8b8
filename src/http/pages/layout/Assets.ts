import { Duration, Effect, Layer } from "effect"
import { HttpBody, HttpPlatform, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiEndpoint } from "effect/http-api"
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { brotliCompress } from "node:zlib"
import { boundedCompression } from "../../../upstream/BoundedCompression.ts"
import { HEADERS } from "../../api/Headers.ts"
import { Limiter } from "../../middleware/RateLimit.ts"
import { ASSETS } from "../../request/RouteTemplates.ts"
import { respond } from "../../response/ErrorResponse.ts"

/** Pages load this file; its path contains a hash of its text. */
export interface Asset {
  readonly path: `/${string}`
  readonly text: string
  readonly contentType: string
  readonly headers?: Readonly<Record<string, string>>
}

const CONTENT_TYPES = { css: "text/css; charset=utf-8", js: "text/javascript; charset=utf-8" } as const

export const makeAsset = (name: string, extension: keyof typeof CONTENT_TYPES, text: string): Asset => {
  const hash = createHash("sha256").update(text).digest("base64url").slice(0, 16)
  return { path: `${ASSETS}/${name}-${hash}.${extension}`, text, contentType: CONTENT_TYPES[extension] }
}

/** The file is in the folder of the module that needs it. */
export const readAsset = (folder: string, name: string, extension: keyof typeof CONTENT_TYPES): Asset =>
  makeAsset(name, extension, readFileSync(join(folder, `${name}.${extension}`), "utf8"))

/** The routes of one layer share a rate limit. */
export const countedAndCompressed = (path: HttpRouter.PathInput) =>
  HttpRouter.middleware(Effect.gen(function*() {
    const limiter = yield* Limiter
    const platform = yield* HttpPlatform.HttpPlatform
    const endpoint = HttpApiEndpoint.get("file", path)
    return (httpEffect) =>
      Effect.matchEffect(limiter.countAddress(endpoint), {
        onFailure: respond,
        onSuccess: () => boundedCompression(httpEffect)
      }).pipe(Effect.provideService(HttpPlatform.HttpPlatform, platform))
  })).layer

const ONE_YEAR_SECONDS = 31_536_000

/** Files are the same for everybody: the next session cookie does not void a kept one. */
const FOR_ALL = { [HEADERS.allowOrigin.key]: "*" }

/** The response is immutable (RFC 8246): another text has another path. */
export const assetResponse = ({ contentType, headers, text }: Asset) =>
  HttpServerResponse.text(text, {
    contentType,
    headers: { ...FOR_ALL, "cache-control": `public, max-age=${ONE_YEAR_SECONDS}, immutable`, ...headers }
  })

/** Node's default is the highest level, which takes two seconds for each MiB, in a thread of libuv. */
const packed = ({ text }: Asset) =>
  Effect.callback<Uint8Array>((resume) =>
    brotliCompress(text, (error, bytes) => resume(error === null ? Effect.succeed(bytes) : Effect.die(error)))
  )

const acceptsBrotli = ({ headers }: HttpServerRequest.HttpServerRequest) =>
  /(?:^|,)\s*br\s*(?:$|,|;\s*q=(?!0(?:\.0*)?\s*(?:$|,)))/i.test(headers["accept-encoding"] ?? "")

/** Compression waits until the process has started. */
const PACKED_AFTER = Duration.seconds(5)

/** Compresses once, after the start, so that no reader waits: for each response it would make a quarter more bytes. */
export const assetLayer = (
  asset: Asset,
  more: Effect.Effect<Readonly<Record<string, string>>> = Effect.succeed({})
) =>
  HttpRouter.use(Effect.fnUntraced(function*(router) {
    const bytes = yield* Effect.cached(Effect.uninterruptible(packed(asset)))
    yield* Effect.forkScoped(Effect.delay(bytes, PACKED_AFTER))
    const { contentType, path } = asset
    const respond = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest) {
      const plain = assetResponse({ ...asset, headers: yield* more })
      if (!acceptsBrotli(request)) return plain
      const headers = { "content-encoding": "br", vary: "Accept-Encoding" }
      return plain.pipe(
        HttpServerResponse.setBody(HttpBody.uint8Array(yield* bytes, contentType)),
        HttpServerResponse.setHeaders(headers)
      )
    })
    yield* router.add("GET", path, respond)
  })).pipe(Layer.provide(countedAndCompressed(asset.path)))

const ONE_HOUR_SECONDS = 3600

/** A changed file of the operator keeps its path. An SVG may have scripts, which a policy of its own stops. */
export const fileLayer = (path: `/${string}`, file: string, contentType: string) =>
  HttpRouter.use(Effect.fnUntraced(function*(router) {
    const bytes = yield* Effect.promise(() => readFile(file))
    yield* router.add(
      "GET",
      path,
      HttpServerResponse.uint8Array(bytes, {
        contentType,
        headers: {
          ...FOR_ALL,
          "cache-control": `public, max-age=${ONE_HOUR_SECONDS}`,
          "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"
        }
      })
    )
  })).pipe(Layer.provide(countedAndCompressed(path)))
