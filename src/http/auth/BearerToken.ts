import type { HttpServerRequest } from "effect/http"
import { SESSION_COOKIE } from "../api/Authentication.ts"

const BEARER = /^Bearer +([^\s]+) *$/i

/** RFC 6750, 2.1; the scheme is case-insensitive. */
export const bearerToken = (authorization: string): string | undefined => BEARER.exec(authorization)?.[1]

/** Even a malformed `Authorization` takes precedence over the cookie. */
export const tokenOf = (request: HttpServerRequest.HttpServerRequest): string | undefined => {
  const authorization = request.headers["authorization"]
  return authorization === undefined ? request.cookies[SESSION_COOKIE] : bearerToken(authorization)
}
