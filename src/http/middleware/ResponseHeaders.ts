import { Effect } from "effect"
import { HttpEffect, HttpRouter, HttpServerResponse } from "effect/http"
import { SERVICE_NAME } from "../../schema/ServiceName.ts"
import { Draining } from "../../services/operations/Draining.ts"
import { settings } from "../../services/settings/Registry.ts"
import { HEADERS } from "../api/Headers.ts"

const HARDENING = {
  [HEADERS.contentTypeOptions.key]: "nosniff",
  [HEADERS.referrerPolicy.key]: "no-referrer",
  [HEADERS.contentSecurityPolicy.key]: "default-src 'none'; frame-ancestors 'none'"
}

const TWO_YEARS = 63_072_000

type HeaderRecord = Readonly<Record<string, string>>

type HeaderPairs = ReadonlyArray<readonly [name: string, value: string]>

const withDefaults = (response: HttpServerResponse.HttpServerResponse, defaults: HeaderPairs) =>
  HttpServerResponse.setHeaders(response, defaults.filter(([name]) => response.headers[name] === undefined))

/** A 401 names the scheme (RFC 9110, 15.5.2); after a 408 or 413 the body is unread. */
const BY_STATUS: { readonly [status: number]: HeaderRecord } = {
  401: { [HEADERS.wwwAuthenticate.key]: `Bearer realm="${SERVICE_NAME}"` },
  408: { connection: "close" },
  413: { connection: "close" }
}

const CLOSE = { connection: "close" }

export const defaultHeaders = Effect.map(settings.BASE_URL, ({ protocol }) => ({
  ...HARDENING,
  [HEADERS.cacheControl.key]: "no-store",
  ...(protocol === "https:" ? { [HEADERS.strictTransportSecurity.key]: `max-age=${TWO_YEARS}` } : {})
}))

/** OWASP HTTP Headers Cheat Sheet; also `Connection: close` while draining. */
export const responseHeadersLayer = HttpRouter.middleware(
  Effect.gen(function*() {
    const draining = yield* Draining
    const defaults = yield* defaultHeaders
    const usual = Object.entries(defaults)
    const defaultsOf = (more: HeaderRecord | undefined, isEnding: boolean): HeaderPairs =>
      more === undefined && !isEnding ? usual : Object.entries({ ...defaults, ...more, ...isEnding ? CLOSE : {} })
    return (httpEffect) =>
      HttpEffect.withPreResponseHandler(
        httpEffect,
        (_request, response) =>
          Effect.map(draining.hasBegun, (isEnding) =>
            withDefaults(response, defaultsOf(BY_STATUS[response.status], isEnding)))
      )
  }),
  { global: true }
)
