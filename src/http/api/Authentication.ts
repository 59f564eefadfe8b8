import { Context, type Option } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import { Forbidden, RateLimited, Unauthorized } from "../../schema/Errors.ts"
import type { Principal, SessionPrincipal } from "../../schema/User.ts"

/** The name of the session cookie; the prefix binds it to this host, this path and TLS (RFC 6265bis, 4.1.3.2). */
export const SESSION_COOKIE = "__Host-service_session"

/** Who makes this request. */
export class Caller extends Context.Service<Caller, Principal>()("route-planning-service/Caller") {}

/** Whose session makes this request. */
export class CurrentSession
  extends Context.Service<CurrentSession, SessionPrincipal>()("route-planning-service/CurrentSession")
{}

/** Who makes this request, if anybody that we know. */
export class Viewer extends Context.Service<Viewer, Option.Option<Principal>>()("route-planning-service/Viewer") {}

const error = [Unauthorized, Forbidden, RateLimited]

/**
 * A session (the cookie, or its JWT as a bearer token) or a personal access token with the endpoint's `RequiredScope`.
 * When `Authorization` is present it alone decides. A session's answer brings a fresh token the way that the request
 * brought its own.
 */
export class CallerAuthentication extends HttpApiMiddleware.Service<CallerAuthentication, { provides: Caller }>()(
  "route-planning-service/CallerAuthentication",
  { error }
) {}

/** A session is required; a personal access token is refused, whatever its scope. */
export class SessionAuthentication extends HttpApiMiddleware.Service<
  SessionAuthentication,
  { provides: CurrentSession }
>()("route-planning-service/SessionAuthentication", { error }) {}

/** A session of an administrator is required, by the address that the account has proven at the time of the request. */
export class AdminAuthentication extends HttpApiMiddleware.Service<
  AdminAuthentication,
  { provides: CurrentSession }
>()("route-planning-service/AdminAuthentication", { error }) {}

/**
 * Any credential is welcome. Without one, with a cookie that is no longer good (which is cleared), and while the
 * account's deletion is pending, the caller is an anonymous visitor. A bad `Authorization` is refused all the same.
 */
export class OptionalAuthentication extends HttpApiMiddleware.Service<OptionalAuthentication, { provides: Viewer }>()(
  "route-planning-service/OptionalAuthentication",
  { error: [Unauthorized, RateLimited] }
) {}

/** No credential counts. A session cookie that is no longer good is cleared all the same. */
export class StaleCookie extends HttpApiMiddleware.Service<StaleCookie>()("route-planning-service/StaleCookie") {}
