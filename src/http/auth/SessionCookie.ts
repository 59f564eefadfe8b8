import { Effect } from "effect"
import { HttpEffect, HttpServerResponse } from "effect/http"
import { SESSION_TOKEN_LIFETIME } from "../../schema/Limits.ts"
import { SESSION_COOKIE } from "../api/Authentication.ts"
import { HEADERS } from "../api/Headers.ts"

/** OWASP Session Management Cheat Sheet; `Lax` so that a link from elsewhere finds its reader signed in. */
export const COOKIE_ATTRIBUTES = { httpOnly: true, secure: true, sameSite: "lax", path: "/" } as const

export const setSessionCookie = (token: string) => (response: HttpServerResponse.HttpServerResponse) =>
  HttpServerResponse.setCookieUnsafe(response, SESSION_COOKIE, token, {
    ...COOKIE_ATTRIBUTES,
    maxAge: SESSION_TOKEN_LIFETIME
  })

export const clearSessionCookie = (response: HttpServerResponse.HttpServerResponse) =>
  HttpServerResponse.expireCookieUnsafe(response, SESSION_COOKIE, COOKIE_ATTRIBUTES)

/** Clears the cookie, and takes back the fresh token that authentication put on the answer. */
export const answerSignedOut = HttpEffect.appendPreResponseHandler((_request, response) =>
  Effect.succeed(clearSessionCookie(HttpServerResponse.removeHeader(response, HEADERS.accessToken.key)))
)
