import { Config, Context, Effect, Layer } from "effect"
import { HttpMiddleware, HttpRouter, HttpServerRequest } from "effect/http"
import { Forbidden } from "../../schema/Errors.ts"
import { baseUrl } from "../../services/settings/Addresses.ts"
import { origins } from "../../services/settings/SettingTypes.ts"
import { HEADERS } from "../api/Headers.ts"
import { SameSite } from "../api/Requests.ts"

export const corsOrigins = origins("CORS_ORIGINS").pipe(Config.withDefault([]))

export class CrossSite extends Context.Service<CrossSite, {
  /**
   * Fails with `Forbidden` unless the request is same-origin, from an allowed origin, or not from a browser: browsers
   * send `Sec-Fetch-Site`, or at least `Origin`, with every unsafe request.
   */
  readonly check: (request: HttpServerRequest.HttpServerRequest) => Effect.Effect<void, Forbidden>
}>()("route-planning-service/CrossSite") {
  static readonly layer = Layer.effect(
    CrossSite,
    Effect.gen(function*() {
      const own = (yield* baseUrl).origin
      const allowed = new Set([own, ...(yield* corsOrigins)])
      return CrossSite.of({
        check: ({ headers }) => {
          const site = headers["sec-fetch-site"]
          const origin = headers["origin"]
          const passes = site === "same-origin" || site === "none"
            || (site === undefined && origin === undefined)
            || (origin !== undefined && allowed.has(origin))
          return passes ? Effect.void : Effect.fail(new Forbidden({ message: "Cross-site requests are refused" }))
        }
      })
    })
  )
}

export const sameSiteLayer = Layer.effect(
  SameSite,
  Effect.map(
    CrossSite,
    (crossSite) => (httpEffect) =>
      Effect.flatMap(
        HttpServerRequest.HttpServerRequest,
        (request) => Effect.andThen(crossSite.check(request), httpEffect)
      )
  )
)

export const EXPOSED_HEADERS = [
  HEADERS.contentDisposition.name,
  HEADERS.etag.name,
  HEADERS.link.name,
  HEADERS.location.name,
  HEADERS.rateLimit.name,
  HEADERS.rateLimitPolicy.name,
  HEADERS.retryAfter.name,
  HEADERS.accessToken.name,
  HEADERS.tokenExpiresAt.name,
  HEADERS.cache.name,
  HEADERS.totalCount.name
]

const cors = (origins: ReadonlyArray<string>) =>
  HttpRouter.middleware(
    HttpMiddleware.cors({
      allowedOrigins: (origin) => origins.includes(origin),
      allowedHeaders: [
        "Authorization",
        "Content-Type",
        HEADERS.idempotencyKey.name,
        HEADERS.ifMatch.name,
        HEADERS.ifNoneMatch.name,
        HEADERS.confirm.name
      ],
      exposedHeaders: EXPOSED_HEADERS,
      credentials: true,
      maxAge: 600
    }),
    { global: true }
  )

/** Without origins there is no CORS middleware: Effect's default would be `*`. */
export const corsLayer = Layer.unwrap(
  Effect.map(corsOrigins, (origins) => origins.length === 0 ? Layer.empty : cors(origins))
)
