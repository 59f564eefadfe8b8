import { Context, type Option } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import { Forbidden, Unauthorized } from "../../schema/Errors.ts"
import type { Principal } from "../../schema/User.ts"

/** The name of the session cookie; the prefix binds it to this host, this path and TLS (RFC 6265bis, 4.1.3.2). */
export const SESSION_COOKIE = "__Host-service_session"

/** Who makes this request. */
export class Caller extends Context.Service<Caller, Principal>()("route-planning-service/Caller") {}

/** Who makes this request, if anybody that we know. */
export class Viewer extends Context.Service<Viewer, Option.Option<Principal>>()("route-planning-service/Viewer") {}

/**
 * A session is required: the cookie, or its JWT as a bearer token. When `Authorization` is present it alone decides.
 * The answer brings a fresh token the way the request brought its own.
 */
export class Authentication extends HttpApiMiddleware.Service<Authentication, { provides: Caller }>()(
  "route-planning-service/Authentication",
  { error: [Unauthorized, Forbidden] }
) {}

/** A session is welcome. No credential is an anonymous visitor, a bad one is refused all the same. */
export class OptionalAuthentication extends HttpApiMiddleware.Service<OptionalAuthentication, { provides: Viewer }>()(
  "route-planning-service/OptionalAuthentication",
  { error: [Unauthorized, Forbidden] }
) {}
