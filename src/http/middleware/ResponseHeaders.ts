import { Effect } from "effect"
import { HttpEffect, HttpRouter, HttpServerResponse } from "effect/http"
import { SERVICE_NAME } from "../../schema/ServiceName.ts"
import { Draining } from "../../services/operations/Draining.ts"
import { baseUrl } from "../../services/settings/Addresses.ts"
import { HEADERS } from "../api/Headers.ts"

const HARDENING = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'"
}

const TWO_YEARS = 63_072_000

const withDefaults = (
  response: HttpServerResponse.HttpServerResponse,
  defaults: Readonly<Record<string, string>>
) => HttpServerResponse.setHeaders(response, { ...defaults, ...response.headers })

/** A 401 names the scheme (RFC 9110, 15.5.2); after a 408 or 413 the body is unread. */
const BY_STATUS: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { [HEADERS.wwwAuthenticate.key]: `Bearer realm="${SERVICE_NAME}"` },
  408: { connection: "close" },
  413: { connection: "close" }
}

const CLOSE = { connection: "close" }

export const defaultHeaders = Effect.map(baseUrl, ({ protocol }) => ({
  ...HARDENING,
  "cache-control": "no-store",
  ...(protocol === "https:" ? { "strict-transport-security": `max-age=${TWO_YEARS}` } : {})
}))

/** OWASP HTTP Headers Cheat Sheet; also `Connection: close` while draining. */
export const responseHeadersLayer = HttpRouter.middleware(
  Effect.gen(function*() {
    const draining = yield* Draining
    const defaults = yield* defaultHeaders
    return (httpEffect) =>
      HttpEffect.withPreResponseHandler(
        httpEffect,
        (_request, response) =>
          Effect.map(draining.hasBegun, (isEnding) =>
            withDefaults(response, { ...defaults, ...BY_STATUS[response.status], ...isEnding ? CLOSE : {} }))
      )
  }),
  { global: true }
)
