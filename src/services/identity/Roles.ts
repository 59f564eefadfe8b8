import { Config, Context, Effect, Layer } from "effect"
import type { Role } from "../../schema/User.ts"
import { EmailList } from "../settings/SettingTypes.ts"
import { emailKey } from "./EmailAddresses.ts"

/** The addresses of administrators (`ADMIN_EMAILS`). */
export const adminEmails = Config.schema(EmailList, "ADMIN_EMAILS").pipe(Config.withDefault([]))

/** Administrators are those with a proven address that `ADMIN_EMAILS` (comma separated) lists. */
export class Roles extends Context.Service<Roles, {
  readonly of: (user: { readonly email: string; readonly isEmailVerified: boolean }) => Role
}>()("route-planning-service/Roles") {
  static readonly layer = Layer.effect(
    Roles,
    Effect.gen(function*() {
      const admins = new Set((yield* adminEmails).map(emailKey))
      return Roles.of({
        of: ({ email, isEmailVerified }) => isEmailVerified && admins.has(emailKey(email)) ? "admin" : "user"
      })
    })
  )
}
