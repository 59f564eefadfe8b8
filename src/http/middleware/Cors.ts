import { Duration, Effect } from "effect"
import { type Headers, HttpEffect, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { settings } from "../../services/settings/Registry.ts"
import { HEADERS } from "../api/Headers.ts"
import { varyingBy } from "../response/Vary.ts"

const EXPOSED_HEADERS = [
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
].join(", ")

/** What scripts may send, beside what the Fetch standard lets every request have. */
const REQUEST_HEADERS = [
  "Authorization",
  "Content-Encoding",
  "Content-Type",
  HEADERS.contentDisposition.name,
  HEADERS.idempotencyKey.name,
  HEADERS.ifMatch.name,
  HEADERS.ifNoneMatch.name,
  HEADERS.confirm.name
].join(", ")

const PREFLIGHT = {
  [HEADERS.allowMethods.key]: "GET, HEAD, POST, PUT, PATCH, DELETE",
  [HEADERS.allowHeaders.key]: REQUEST_HEADERS,
  [HEADERS.maxAge.key]: String(Duration.toSeconds(Duration.days(1)))
}

interface CorsRequest {
  readonly cookie?: string | undefined
  readonly origin?: string | undefined
}

/**
 * The CORS headers of every response, and the names of those that it depends on. Scripts of any origin may read what comes
 * without a cookie. Only the origins of `CORS_ORIGINS` may send one and read the response.
 */
export const corsHeaders = Effect.map(settings.CORS_ORIGINS, (origins) => {
  const listed = new Set(origins)
  const exposed = { [HEADERS.exposeHeaders.key]: EXPOSED_HEADERS }
  const forAnyone = { [HEADERS.allowOrigin.key]: "*", ...exposed }
  const byOrigin = new Map(origins.map((origin) => [origin, {
    [HEADERS.allowOrigin.key]: origin,
    [HEADERS.allowCredentials.key]: "true",
    ...exposed
  }]))
  return {
    headersFor: ({ cookie, origin = "" }: CorsRequest): Readonly<Record<string, string>> =>
      byOrigin.get(origin) ?? (cookie === undefined ? forAnyone : {}),
    varies: listed.size === 0 ? ["Cookie"] : ["Origin", "Cookie"]
  }
})

const requestOf = (headers: Headers.Headers): CorsRequest => ({ cookie: headers["cookie"], origin: headers["origin"] })

const isPreflight = ({ headers, method }: HttpServerRequest.HttpServerRequest) =>
  method === "OPTIONS" && headers["origin"] !== undefined && headers["access-control-request-method"] !== undefined

/** Answers preflights before authentication, for every path: the response to the request itself says what is wrong. */
export const corsLayer = HttpRouter.middleware(
  Effect.gen(function*() {
    const { headersFor, varies } = yield* corsHeaders
    const varyOf = varyingBy(varies)
    const preflight = HttpServerResponse.empty({ status: 204, headers: PREFLIGHT })
    return (httpEffect) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
        HttpEffect.withPreResponseHandler(
          isPreflight(request) ? Effect.succeed(preflight) : httpEffect,
          ({ headers }, response) =>
            Effect.succeed(HttpServerResponse.setHeaders(response, {
              ...headersFor(requestOf(headers)),
              [HEADERS.vary.key]: varyOf(response)
            }))
        ))
  }),
  { global: true }
)
