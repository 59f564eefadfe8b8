import { Context } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import type { Scope } from "../../schema/Credential.ts"
import { Forbidden, RateLimited } from "../../schema/Errors.ts"
import type { RateTier } from "../../schema/Limits.ts"

/** The scope required of personal access tokens. */
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
