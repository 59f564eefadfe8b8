import { Context, Effect, Layer, Option, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { UserId } from "../../schema/Ids.ts"
import { Audit } from "../audit/Audit.ts"
import { mailedLink } from "../credentials/MailedLinks.ts"
import { MailedTokens } from "../credentials/MailedTokens.ts"
import { AddressTaken } from "../DomainErrors.ts"
import { hasAddress } from "../identity/AccountState.ts"
import { Outbox } from "../mail/Outbox.ts"
import { settings } from "../settings/Registry.ts"
import { databaseDefects } from "../sql/DatabaseDefects.ts"
import { traced } from "../tracing/Traced.ts"
import { nameFrom, NewAccounts } from "./NewAccounts.ts"
import { SignUps } from "./SignUps.ts"

/** Accounts created by operators, also where sign-up is closed. */
export class Invitations extends Context.Service<Invitations, {
  /** Mails a link: choosing a password creates the account. `AddressTaken` if there is one. */
  readonly invite: (admin: UserId, email: string) => Effect.Effect<void, AddressTaken>
  /** For an address that the operator has verified; the link expires sooner. `AddressTaken` as for `invite`. */
  readonly create: (email: string) => Effect.Effect<Redacted.Redacted, AddressTaken>
}>()("route-planning-service/Invitations") {
  static readonly layer = Layer.effect(
    Invitations,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit
      const mailedTokens = yield* MailedTokens
      const newAccounts = yield* NewAccounts
      const outbox = yield* Outbox
      const signUps = yield* SignUps
      const app = yield* settings.APP_URL

      const add = Effect.fnUntraced(function*(email: string) {
        const accounts = yield* sql`SELECT id FROM users WHERE ${hasAddress(sql, email)}`
        if (accounts.length > 0) return yield* new AddressTaken()
        return yield* signUps.add({ email, name: nameFrom(email, undefined), passwordHash: undefined, isInvited: true })
      })

      const addAndMail = Effect.fnUntraced(function*(admin: UserId, email: string) {
        const signUpId = yield* add(email)
        yield* outbox.request({ kind: "invitation", signUpId })
        yield* audit.record("admin.user_invited", { userId: admin })
      }, sql.withTransaction)

      return Invitations.of({
        invite: traced("Invitations.invite")(
          (admin, email) => Effect.andThen(addAndMail(admin, email), outbox.wake),
          databaseDefects
        ),

        create: traced("Invitations.create")(
          function*(email) {
            yield* add(email)
            const userId = yield* newAccounts.open({ email, name: undefined })
            if (Option.isNone(userId)) return yield* new AddressTaken()
            const { token } = yield* mailedTokens.issue("reset-password", { userId: userId.value })
            return mailedLink(app, "reset-password", token)
          },
          sql.withTransaction,
          // Cannot be `SignUpClosed`: the address is invited.
          Effect.catchTags({ SignUpClosed: Effect.die, SqlError: Effect.die })
        )
      })
    })
  )
}
