import type { HttpServerRequest } from "effect/http"
import { SESSION_COOKIE } from "../api/Authentication.ts"

const BEARER = /^Bearer +([^\s]+) *$/i

/** The token of an `Authorization: Bearer` header (RFC 6750, 2.1; the scheme has no case). */
export const bearerToken = (authorization: string): string | undefined => BEARER.exec(authorization)?.[1]

/** The token that a request came with. When `Authorization` is present the cookie does not count. */
export const tokenOf = (request: HttpServerRequest.HttpServerRequest): string | undefined => {
  const authorization = request.headers["authorization"]
  return authorization === undefined ? request.cookies[SESSION_COOKIE] : bearerToken(authorization)
}
