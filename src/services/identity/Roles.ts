import { Config, Context, Effect, Layer } from "effect"
import type { Role } from "../../schema/User.ts"
import { EmailList } from "../settings/SettingTypes.ts"
import { emailKey } from "./EmailAddresses.ts"

export const adminEmails = Config.schema(EmailList, "ADMIN_EMAILS").pipe(Config.withDefault([]))

/** Administrators are users with an address in `ADMIN_EMAILS`: those of accounts are proven. */
export class Roles extends Context.Service<Roles, {
  readonly of: (user: { readonly email: string }) => Role
}>()("route-planning-service/Roles") {
  static readonly layer = Layer.effect(
    Roles,
    Effect.gen(function*() {
      const admins = new Set((yield* adminEmails).map(emailKey))
      return Roles.of({
        of: ({ email }) => admins.size > 0 && admins.has(emailKey(email)) ? "admin" : "user"
      })
    })
  )
}
