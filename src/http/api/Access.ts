import { Context, type Option } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import type { Scope } from "../../schema/Credential.ts"
import { Forbidden, RateLimited, Unauthorized } from "../../schema/Errors.ts"
import type { RateTier } from "../../schema/Limits.ts"
import type { Principal, SessionPrincipal } from "../../schema/Principal.ts"

/** The prefix binds the cookie to this host, this path and TLS (RFC 6265bis, 4.1.3.2). */
export const SESSION_COOKIE = "__Host-service_session"

/** Identifies a device that signed in before; grants no access. */
export const DEVICE_COOKIE = "__Host-service_device"

/** A browser keeps the state of a sign-in in this cookie while it is at the provider. */
export const SIGN_IN_COOKIE = "__Host-service_sign_in"

export class Caller extends Context.Service<Caller, Principal>()("route-planning-service/Caller") {}

export class CurrentSession
  extends Context.Service<CurrentSession, SessionPrincipal>()("route-planning-service/CurrentSession")
{}

export class Viewer extends Context.Service<Viewer, Option.Option<Principal>>()("route-planning-service/Viewer") {}

const error = [Unauthorized, Forbidden, RateLimited]

/**
 * Requires a session (cookie or bearer token) or a personal access token with `RequiredScope`. `Authorization` takes
 * precedence. The response refreshes a session the way the request sent it.
 */
export class CallerAuthentication extends HttpApiMiddleware.Service<CallerAuthentication, { provides: Caller }>()(
  "route-planning-service/CallerAuthentication",
  { error }
) {}

/** Requires a session; refuses personal access tokens. */
export class SessionAuthentication extends HttpApiMiddleware.Service<
  SessionAuthentication,
  { provides: CurrentSession }
>()("route-planning-service/SessionAuthentication", { error }) {}

/** Requires a session of an administrator, by verified email address at the time of the request. */
export class AdminAuthentication extends HttpApiMiddleware.Service<
  AdminAuthentication,
  { provides: CurrentSession }
>()("route-planning-service/AdminAuthentication", { error }) {}

/**
 * The caller is anonymous without a credential, with an invalid cookie (which is cleared), or while account deletion is
 * pending. Refuses an invalid `Authorization`.
 */
export class OptionalAuthentication extends HttpApiMiddleware.Service<OptionalAuthentication, { provides: Viewer }>()(
  "route-planning-service/OptionalAuthentication",
  { error: [Unauthorized, RateLimited] }
) {}

/** Ignores credentials, but clears an invalid session cookie. */
export class StaleCookie extends HttpApiMiddleware.Service<StaleCookie>()("route-planning-service/StaleCookie") {}

/** Personal access tokens need this scope. */
export const RequiredScope = Context.Reference<Scope>("route-planning-service/RequiredScope", {
  defaultValue: () => "write"
})

/** Accounts pending deletion may call such an endpoint. */
export const OpenWhilePending = Context.Reference<boolean>("route-planning-service/OpenWhilePending", {
  defaultValue: () => false
})

/** Accounts past the grace period get the response of such an endpoint instead of 401. */
export const OpenWhenOver = Context.Reference<boolean>("route-planning-service/OpenWhenOver", {
  defaultValue: () => false
})

export const Tier = Context.Reference<RateTier>("route-planning-service/Tier", { defaultValue: () => "default" })

/** Limits endpoints without authentication by client address. */
export class AddressLimit extends HttpApiMiddleware.Service<AddressLimit>()(
  "route-planning-service/AddressLimit",
  { error: RateLimited }
) {}

export class TokensRefused extends HttpApiMiddleware.Service<TokensRefused>()(
  "route-planning-service/TokensRefused",
  { error: Forbidden }
) {}
