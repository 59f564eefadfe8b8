import { Duration } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { PROVIDER_SIGN_IN_LIFETIME, SESSION_TOKEN_LIFETIME } from "../../schema/Limits.ts"
import { DEVICE_LIFETIME } from "../../services/accounts/Sessions.ts"
import { DEVICE_COOKIE, SESSION_COOKIE, SIGN_IN_COOKIE } from "../api/Access.ts"
import { HEADERS } from "../api/Headers.ts"
import { changeResponse } from "../request/ResponseChange.ts"

const BEARER = /^Bearer +([^\s]+) *$/i

/** The scheme is case-insensitive (RFC 6750, 2.1). */
export const bearerToken = (authorization: string): string | undefined => BEARER.exec(authorization)?.[1]

/** Even a malformed `Authorization` takes precedence over the cookie. */
export const tokenOf = (request: HttpServerRequest.HttpServerRequest): string | undefined => {
  const authorization = request.headers["authorization"]
  return authorization === undefined ? request.cookies[SESSION_COOKIE] : bearerToken(authorization)
}

/** `Lax` keeps users signed in after links from other sites (OWASP Session Management Cheat Sheet). */
const COOKIE_ATTRIBUTES = { httpOnly: true, secure: true, sameSite: "lax", path: "/" } as const

export const setSessionCookie = (token: string) => (response: HttpServerResponse.HttpServerResponse) =>
  HttpServerResponse.setCookieUnsafe(response, SESSION_COOKIE, token, {
    ...COOKIE_ATTRIBUTES,
    maxAge: SESSION_TOKEN_LIFETIME
  })

export const clearSessionCookie = (response: HttpServerResponse.HttpServerResponse) =>
  HttpServerResponse.expireCookieUnsafe(response, SESSION_COOKIE, COOKIE_ATTRIBUTES)

/** Removes what authentication added for a session that has ended since. The cookie may be that of another one now. */
export const withoutRenewal = changeResponse((response) =>
  HttpServerResponse.removeCookie(
    HttpServerResponse.removeHeader(response, HEADERS.accessToken.key),
    SESSION_COOKIE
  )
)

/** Clears the cookie, and removes the fresh token that authentication added. */
export const signResponseOut = changeResponse((response) =>
  clearSessionCookie(HttpServerResponse.removeHeader(response, HEADERS.accessToken.key))
)

export const setDeviceCookie = (token: string) => (response: HttpServerResponse.HttpServerResponse) =>
  HttpServerResponse.setCookieUnsafe(response, DEVICE_COOKIE, token, {
    ...COOKIE_ATTRIBUTES,
    maxAge: Duration.toMillis(DEVICE_LIFETIME)
  })

export const setSignInCookie = (pending: string) => (response: HttpServerResponse.HttpServerResponse) =>
  HttpServerResponse.setCookieUnsafe(response, SIGN_IN_COOKIE, pending, {
    ...COOKIE_ATTRIBUTES,
    maxAge: PROVIDER_SIGN_IN_LIFETIME
  })

export const clearSignInCookie = (response: HttpServerResponse.HttpServerResponse) =>
  HttpServerResponse.expireCookieUnsafe(response, SIGN_IN_COOKIE, COOKIE_ATTRIBUTES)
