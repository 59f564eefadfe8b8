import { Context, Duration, Effect, Predicate } from "effect"
import { HttpEffect, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { isSafe } from "../../schema/Http.ts"
import { SERVICE_NAME } from "../../schema/ServiceName.ts"
import { Draining } from "../../services/admission/Health.ts"
import { RequestNotes } from "../../services/operations/RequestNotes.ts"
import { settings } from "../../services/operations/SettingsRegistry.ts"
import { HEADERS } from "../api/Headers.ts"
import { varyingBy } from "../request/ResponseChange.ts"
import { isKnown, notModified } from "../response/Versioned.ts"

const HARDENING = {
  [HEADERS.contentTypeOptions.key]: "nosniff",
  [HEADERS.referrerPolicy.key]: "no-referrer",
  [HEADERS.contentSecurityPolicy.key]: "default-src 'none'; frame-ancestors 'none'"
}

const TWO_YEARS = 63_072_000

type HeaderRecord = Readonly<Record<string, string>>

type HeaderPairs = ReadonlyArray<readonly [name: string, value: string]>

/** A 401 names the scheme (RFC 9110, 15.5.2); after a 408 or 413 the body is unread. */
const BY_STATUS: { readonly [status: number]: HeaderRecord } = {
  401: { [HEADERS.wwwAuthenticate.key]: `Bearer realm="${SERVICE_NAME}"` },
  408: { connection: "close" },
  413: { connection: "close" }
}

const CLOSE = { connection: "close" }

const defaultHeaders = Effect.map(settings.BASE_URL, ({ protocol }) => ({
  ...HARDENING,
  [HEADERS.cacheControl.key]: "no-store",
  ...(protocol === "https:" ? { [HEADERS.strictTransportSecurity.key]: `max-age=${TWO_YEARS}` } : {})
}))

const EXPOSED_HEADERS = [
  HEADERS.contentDisposition.name,
  HEADERS.etag.name,
  HEADERS.ignoredMembers.name,
  HEADERS.link.name,
  HEADERS.location.name,
  HEADERS.rateLimit.name,
  HEADERS.rateLimitPolicy.name,
  HEADERS.requestId.name,
  HEADERS.retryAfter.name,
  HEADERS.accessToken.name,
  HEADERS.tokenExpiresAt.name,
  HEADERS.cache.name,
  HEADERS.totalCount.name
].join(", ")

/** Scripts may send these headers, in addition to those that the Fetch standard allows in every request. */
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

/**
 * Returns the CORS headers of a response, and the names of those that it depends on. Scripts of any origin may read
 * responses to requests without a cookie. Only the origins of `CORS_ORIGINS` may send one and read the response.
 */
const corsHeaders = Effect.map(settings.CORS_ORIGINS, (origins) => {
  const listed = new Set(origins)
  const exposed = { [HEADERS.exposeHeaders.key]: EXPOSED_HEADERS }
  const forAnyone = { [HEADERS.allowOrigin.key]: "*", ...exposed }
  const byOrigin = new Map(origins.map((origin) => [origin, {
    [HEADERS.allowOrigin.key]: origin,
    [HEADERS.allowCredentials.key]: "true",
    ...exposed
  }]))
  return {
    headersFor: (headers: Readonly<Record<string, string | undefined>>): HeaderRecord =>
      byOrigin.get(headers["origin"] ?? "") ?? (headers["cookie"] === undefined ? forAnyone : {}),
    varies: listed.size === 0 ? ["Cookie"] : ["Origin", "Cookie"]
  }
})

export const headersOfRefusals = Effect.gen(function*() {
  const { headersFor, varies } = yield* corsHeaders
  return { ...yield* defaultHeaders, ...headersFor({}), [HEADERS.vary.key]: varies.join(", ") }
})

const isPreflight = ({ headers, method }: HttpServerRequest.HttpServerRequest) =>
  method === "OPTIONS" && headers["origin"] !== undefined && headers["access-control-request-method"] !== undefined

/** Node ends the connection after a response that precedes the end of a long body (RFC 9112, 9.6). */
const isPartlyRead = ({ headers, source }: HttpServerRequest.HttpServerRequest) =>
  headers["transfer-encoding"] !== undefined && Predicate.hasProperty(source, "complete") && source.complete === false

/**
 * Sets the headers of the OWASP HTTP Headers Cheat Sheet and of CORS, and `Connection: close` while draining. Responds
 * to preflights before authentication, for every path: the response to the request itself says what is wrong.
 */
export const responseHeadersLayer = HttpRouter.middleware(
  Effect.gen(function*() {
    const draining = yield* Draining
    const defaults = yield* defaultHeaders
    const usual = Object.entries(defaults)
    const { headersFor, varies } = yield* corsHeaders
    const varyOf = varyingBy(varies)
    const base = (yield* settings.BASE_URL).pathname.replace(/\/$/, "")
    const preflight = Effect.succeed(HttpServerResponse.empty({ status: 204, headers: PREFLIGHT }))

    const defaultsOf = (more: HeaderRecord | undefined, isEnding: boolean): HeaderPairs =>
      more === undefined && !isEnding ? usual : Object.entries({ ...defaults, ...more, ...isEnding ? CLOSE : {} })

    const complete = (
      request: HttpServerRequest.HttpServerRequest,
      response: HttpServerResponse.HttpServerResponse,
      id: string,
      isEnding: boolean
    ) => {
      const headers: Record<string, string> = {}
      for (const [name, value] of defaultsOf(BY_STATUS[response.status], isEnding || isPartlyRead(request))) {
        if (response.headers[name] === undefined) headers[name] = value
      }
      // Caches keep a response that any origin may read once for all, with cookies or without.
      const isForAll = response.headers[HEADERS.allowOrigin.key] !== undefined
      if (!isForAll) {
        Object.assign(headers, headersFor(request.headers))
        headers[HEADERS.vary.key] = varyOf(response)
      }
      const location = response.headers[HEADERS.location.key]
      if (location?.startsWith("/") === true) headers[HEADERS.location.key] = `${base}${location}`
      headers[HEADERS.requestId.key] = id
      return HttpServerResponse.setHeaders(response, headers)
    }

    return (httpEffect) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
        HttpEffect.withPreResponseHandler(
          isPreflight(request) ? preflight : httpEffect,
          (request, response) =>
            Effect.contextWith((context) => {
              const { id } = Context.get(context, RequestNotes)
              return Effect.map(draining.hasBegun, (isEnding) => complete(request, response, id, isEnding))
            })
        ))
  }),
  { global: true }
)

/** A client that already has a tagged response, such as a list, gets 304 (RFC 9110, 13.1.2). */
export const conditionalLayer = HttpRouter.middleware(
  (httpEffect) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers, method }) => {
      const known = headers[HEADERS.ifNoneMatch.key]
      if (known === undefined || !isSafe(method)) return httpEffect
      return Effect.map(httpEffect, (response) => {
        const etag = response.headers[HEADERS.etag.key]
        return response.status === 200 && etag !== undefined && isKnown(known, etag) ? notModified(etag) : response
      })
    }),
  { global: true }
)
