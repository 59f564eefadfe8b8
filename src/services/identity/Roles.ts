import { Context, Effect, Layer } from "effect"
import type { Role } from "../../schema/User.ts"
import { settings } from "../settings/Registry.ts"
import { emailKey } from "./EmailAddresses.ts"

/** Administrators are users with an address in `ADMIN_EMAILS`: those of accounts are proven. */
export class Roles extends Context.Service<Roles, {
  readonly of: (user: { readonly email: string }) => Role
}>()("route-planning-service/Roles") {
  static readonly layer = Layer.effect(
    Roles,
    Effect.gen(function*() {
      const admins = new Set((yield* settings.ADMIN_EMAILS).map(emailKey))
      return Roles.of({
        of: ({ email }) => admins.size > 0 && admins.has(emailKey(email)) ? "admin" : "user"
      })
    })
  )
}
