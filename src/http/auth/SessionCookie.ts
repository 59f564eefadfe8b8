import { changeResponse } from "../request/ResponseChange.ts"

import { HttpServerResponse } from "effect/http"
import { SESSION_TOKEN_LIFETIME } from "../../schema/Limits.ts"
import { SESSION_COOKIE } from "../api/Authentication.ts"
import { HEADERS } from "../api/Headers.ts"

/** OWASP Session Management Cheat Sheet; `Lax` keeps users signed in after links from other sites. */
export const COOKIE_ATTRIBUTES = { httpOnly: true, secure: true, sameSite: "lax", path: "/" } as const

export const setSessionCookie = (token: string) => (response: HttpServerResponse.HttpServerResponse) =>
  HttpServerResponse.setCookieUnsafe(response, SESSION_COOKIE, token, {
    ...COOKIE_ATTRIBUTES,
    maxAge: SESSION_TOKEN_LIFETIME
  })

export const clearSessionCookie = (response: HttpServerResponse.HttpServerResponse) =>
  HttpServerResponse.expireCookieUnsafe(response, SESSION_COOKIE, COOKIE_ATTRIBUTES)

/** Also removes the fresh token that authentication added. */
export const signResponseOut = changeResponse((response) =>
  clearSessionCookie(HttpServerResponse.removeHeader(response, HEADERS.accessToken.key))
)
