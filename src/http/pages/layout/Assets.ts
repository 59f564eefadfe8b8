import { Effect, Layer } from "effect"
import { HttpMiddleware, HttpPlatform, HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApiEndpoint } from "effect/http-api"
import { createHash } from "node:crypto"
import { Limiter } from "../../middleware/RateLimit.ts"
import { ASSETS } from "../../request/RouteTemplates.ts"
import { respond } from "../../response/ErrorResponse.ts"

/** A file loaded by pages; its path contains a hash of its text. */
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

/** The routes of one layer share a rate limit. */
export const countedAndCompressed = (path: HttpRouter.PathInput) =>
  HttpRouter.middleware(Effect.gen(function*() {
    const limiter = yield* Limiter
    const platform = yield* HttpPlatform.HttpPlatform
    const endpoint = HttpApiEndpoint.get("file", path)
    return (httpEffect) =>
      Effect.matchEffect(limiter.countAddress(endpoint), {
        onFailure: respond,
        onSuccess: () => HttpMiddleware.compression()(httpEffect)
      }).pipe(Effect.provideService(HttpPlatform.HttpPlatform, platform))
  })).layer

const ONE_YEAR_SECONDS = 31_536_000

/** Immutable (RFC 8246): another text has another path. */
export const assetResponse = ({ contentType, headers, text }: Asset) =>
  HttpServerResponse.text(text, {
    contentType,
    headers: { "cache-control": `public, max-age=${ONE_YEAR_SECONDS}, immutable`, ...headers }
  })

export const assetLayer = (asset: Asset) =>
  HttpRouter.use((router) => router.add("GET", asset.path, assetResponse(asset))).pipe(
    Layer.provide(countedAndCompressed(asset.path))
  )
