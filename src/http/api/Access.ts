import { Context } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import { Forbidden, RateLimited } from "../../schema/Errors.ts"
import type { RateTier } from "../../schema/RateTier.ts"
import type { Scope } from "../../schema/Token.ts"

/** The scope that a personal access token needs for an endpoint. Declared where it is less than `write`. */
export const RequiredScope = Context.Reference<Scope>("route-planning-service/RequiredScope", {
  defaultValue: () => "write"
})

/** Whether an endpoint stays open to a user whose account is pending deletion. */
export const OpenWhilePending = Context.Reference<boolean>("route-planning-service/OpenWhilePending", {
  defaultValue: () => false
})

/** Whether an endpoint has an answer of its own for a user whose 30 days are over, to whom all others say 401. */
export const OpenWhenOver = Context.Reference<boolean>("route-planning-service/OpenWhenOver", {
  defaultValue: () => false
})

/** How often an endpoint may be called. Declared where it is another tier than `default`. */
export const Tier = Context.Reference<RateTier>("route-planning-service/Tier", { defaultValue: () => "default" })

/** An endpoint without authentication is limited by the address of its callers. */
export class AddressLimit extends HttpApiMiddleware.Service<AddressLimit>()(
  "route-planning-service/AddressLimit",
  { error: RateLimited }
) {}

/** Signing in and out is for people: whoever sends a personal access token is refused. */
export class TokensRefused extends HttpApiMiddleware.Service<TokensRefused>()(
  "route-planning-service/TokensRefused",
  { error: Forbidden }
) {}
