import { Context, Effect, Layer, Option, Ref } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { RateLimited } from "../../schema/Errors.ts"
import { RATE_WINDOW_SECONDS } from "../../schema/Limits.ts"
import { type RateLimit, RateLimits } from "../../services/admission/RateLimits.ts"
import { Warnings } from "../../services/operations/Metrics.ts"
import { RequestNotes } from "../../services/operations/RequestNotes.ts"
import { settings } from "../../services/operations/SettingsRegistry.ts"
import { AddressLimit, Tier } from "../api/Access.ts"
import { HEADERS } from "../api/Headers.ts"
import { addressSubjects, isFromPeerIn, isNamedByProxy, SITE_FACTOR } from "../request/ClientAddress.ts"
import { changeResponse } from "../request/ResponseChange.ts"
import { inOpenApiSyntax } from "../request/RouteTemplates.ts"

/** Returns the headers of draft-ietf-httpapi-ratelimit-headers, and `Retry-After` (RFC 9110, 10.2.3). */
const headersOf = (
  { method, path }: Endpoint,
  { isExceeded, limit, remaining, resetSeconds }: RateLimit
): Record<string, string> => {
  const name = `"${method} ${inOpenApiSyntax(path)}"`
  return {
    [HEADERS.rateLimitPolicy.key]: `${name};q=${limit};w=${RATE_WINDOW_SECONDS}`,
    [HEADERS.rateLimit.key]: `${name};r=${remaining};t=${resetSeconds}`,
    ...(isExceeded ? { [HEADERS.retryAfter.key]: String(resetSeconds) } : {})
  }
}

const refusal = ({ limit, resetSeconds }: RateLimit) =>
  new RateLimited({
    message: `At most ${limit} requests a minute: try again in ${resetSeconds} s`,
    details: { reason: "rate_limited", limit, windowSeconds: RATE_WINDOW_SECONDS, retryAfterSeconds: resetSeconds }
  })

/** Rules of access and rate limits need no more of an endpoint or a page. */
export type Endpoint = Pick<HttpApiEndpoint.Top, "annotations" | "method" | "path">

type Count = (
  subject: string,
  endpoint: Endpoint
) => Effect.Effect<void, RateLimited, HttpServerRequest.HttpServerRequest>

const setHeaders = (endpoint: Endpoint, limit: RateLimit) =>
  changeResponse((response) => HttpServerResponse.setHeaders(response, headersOf(endpoint, limit)))

/** Counts requests against the endpoint's tier and sets the rate limit headers. Fails with `RateLimited`. */
export class Limiter extends Context.Service<Limiter, {
  readonly count: Count
  /** Counts against the client's address; for IPv6 also against its /48. */
  readonly countAddress: (endpoint: Endpoint) => Effect.Effect<void, RateLimited, HttpServerRequest.HttpServerRequest>
  /** Counts against a second subject; sets headers only on refusal. */
  readonly countSecond: Count
}>()("route-planning-service/Limiter") {
  static readonly layer = Layer.effect(
    Limiter,
    Effect.map(RateLimits, (limits) => {
      const countWith = (isShown: (limit: RateLimit) => boolean, factor = 1): Count =>
        Effect.fnUntraced(function*(subject, endpoint) {
          const tier = Context.get(endpoint.annotations, Tier)
          const limit = yield* limits.count(tier, subject, `${endpoint.method} ${endpoint.path}`, factor)
          if (limit === undefined) return
          if (isShown(limit)) yield* setHeaders(endpoint, limit)
          if (!limit.isExceeded) return
          const notes = yield* RequestNotes
          notes.fault = { limit: tier }
          return yield* refusal(limit)
        })

      const count = countWith(() => true)
      const countSite = countWith(({ isExceeded }) => isExceeded, SITE_FACTOR)

      return Limiter.of({
        count,
        countAddress: Effect.fnUntraced(function*(endpoint) {
          const { host, site } = addressSubjects(yield* HttpServerRequest.HttpServerRequest)
          yield* count(host, endpoint)
          if (site !== undefined) yield* countSite(site, endpoint)
        }),
        countSecond: countWith(({ isExceeded }) => isExceeded)
      })
    })
  )
}

export const addressLimitLayer = Layer.effect(
  AddressLimit,
  Effect.map(
    Limiter,
    (limiter) => (httpEffect, { endpoint }) => Effect.andThen(limiter.countAddress(endpoint), httpEffect)
  )
)

/** All clients behind an untrusted proxy count as one. Anyone may send `X-Forwarded-For`, so the process warns once. */
export const proxyWarningLayer = HttpRouter.middleware(
  Effect.gen(function*() {
    const warnings = yield* Warnings
    const trusted = yield* settings.TRUSTED_PROXIES
    const warned = yield* Ref.make(false)
    const warn = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest) {
      if (isFromPeerIn(request, trusted) || (yield* Ref.getAndSet(warned, true))) return
      const peer = Option.getOrElse(request.peerAddress, () => "an unknown address")
      yield* warnings.add(
        `TRUSTED_PROXIES does not have ${peer}, which sends X-Forwarded-For: if it is your proxy, all its clients count as one`
      )
    })
    return (httpEffect) =>
      Effect.flatMap(
        HttpServerRequest.HttpServerRequest,
        (request) =>
          request.headers["x-forwarded-for"] === undefined || isNamedByProxy(request)
            ? httpEffect
            : Effect.andThen(warn(request), httpEffect)
      )
  }),
  { global: true }
)
