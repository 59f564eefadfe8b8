import { Config, Context, Effect, Layer } from "effect"
import type { Role } from "../../schema/User.ts"
import { EmailList } from "../settings/SettingTypes.ts"
import { emailKey } from "./EmailAddresses.ts"

export const adminEmails = Config.schema(EmailList, "ADMIN_EMAILS").pipe(Config.withDefault([]))

/** Administrators are users with a verified address in `ADMIN_EMAILS`. */
export class Roles extends Context.Service<Roles, {
  readonly of: (user: { readonly email: string; readonly isEmailVerified: boolean }) => Role
}>()("route-planning-service/Roles") {
  static readonly layer = Layer.effect(
    Roles,
    Effect.gen(function*() {
      const admins = new Set((yield* adminEmails).map(emailKey))
      return Roles.of({
        of: ({ email, isEmailVerified }) =>
          isEmailVerified && admins.size > 0 && admins.has(emailKey(email)) ? "admin" : "user"
      })
    })
  )
}
