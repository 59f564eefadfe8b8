import { Config, Context, Effect, Layer } from "effect"
import type { Role } from "../../schema/User.ts"
import { emailKey } from "./EmailAddresses.ts"

/** Who is an administrator: whoever has proven a mailbox that `ADMIN_EMAILS` (comma separated) lists. */
export class Roles extends Context.Service<Roles, {
  readonly of: (user: { readonly email: string; readonly isEmailVerified: boolean }) => Role
}>()("route-planning-service/Roles") {
  static readonly layer = Layer.effect(
    Roles,
    Effect.gen(function*() {
      const emails = yield* Config.String("ADMIN_EMAILS").pipe(Config.withDefault(""))
      const admins = new Set(emails.split(",").filter((email) => email.includes("@")).map(emailKey))
      return Roles.of({
        of: ({ email, isEmailVerified }) => isEmailVerified && admins.has(emailKey(email)) ? "admin" : "user"
      })
    })
  )
}
