import { Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { UserIdColumn } from "../../schema/Columns.ts"
import type { SignUpId, UserId } from "../../schema/Ids.ts"
import { appUrl } from "../Addresses.ts"
import { mailedLink } from "../credentials/MailedLinks.ts"
import { MailedTokens, type TokenOwner } from "../credentials/MailedTokens.ts"
import type { Mail } from "../mail/Mailer.ts"
import type { MailRequest } from "../mail/MailRequests.ts"
import { Audit } from "../operations/Audit.ts"
import { emailKey } from "./EmailAddresses.ts"
import { SignUps } from "./SignUps.ts"

/** A mail, and the account that it goes to, if it goes to one. */
export interface ComposedMail {
  readonly userId: UserId | undefined
  readonly mail: Mail
}

/** Writes the mails by which an address is proven. */
export class AccountMails extends Context.Service<AccountMails, {
  /** The mail that a request leads to, with a new link; none where there is nobody to mail. To be called in a transaction. */
  readonly compose: (request: MailRequest) => Effect.Effect<Option.Option<ComposedMail>>
}>()("route-planning-service/AccountMails") {
  static readonly layer = Layer.effect(
    AccountMails,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit
      const mailedTokens = yield* MailedTokens
      const signUps = yield* SignUps
      const app = yield* appUrl

      const findAccount = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: Schema.Struct({ id: UserIdColumn, email: Schema.String }),
        execute: (key) => sql`SELECT id, email FROM users WHERE email_key = ${key}`
      })

      const verification = Effect.fnUntraced(function*(id: SignUpId, email: string) {
        const { expiresAt, token } = yield* mailedTokens.issue("verify-email", { signUpId: id })
        yield* signUps.keepUntil(id, expiresAt)
        return verificationMail(email, mailedLink(app, "verify-email", token))
      })

      const reset = Effect.fnUntraced(function*(email: string, owner: TokenOwner) {
        const { expiresAt, token } = yield* mailedTokens.issue("reset-password", owner)
        if ("signUpId" in owner) yield* signUps.keepUntil(owner.signUpId, expiresAt)
        return resetMail(email, mailedLink(app, "reset-password", token))
      })

      const forSignUp = Effect.fnUntraced(function*(id: SignUpId) {
        const addressee = yield* signUps.addresseeOf(id)
        if (Option.isNone(addressee)) return Option.none()
        const { email, userId } = addressee.value
        if (userId === undefined) return Option.some({ userId, mail: yield* verification(id, email) })
        yield* signUps.remove(id)
        return Option.some({ userId, mail: knownUserMail(email) })
      })

      const forReset = Effect.fnUntraced(function*(email: string) {
        const account = yield* findAccount(emailKey(email))
        if (Option.isSome(account)) {
          const { email, id } = account.value
          yield* audit.record("password.reset_requested", { userId: id })
          return Option.some({ userId: id, mail: yield* reset(email, { userId: id }) })
        }
        const signUp = yield* signUps.findNewest(email)
        if (Option.isNone(signUp)) return Option.none()
        const { email: typed, id } = signUp.value
        return Option.some({ userId: undefined, mail: yield* reset(typed, { signUpId: id }) })
      })

      return AccountMails.of({
        compose: Effect.fn("AccountMails.compose")(
          (request) => request.kind === "verify-email" ? forSignUp(request.signUpId) : forReset(request.email),
          Effect.orDie
        )
      })
    })
  )
}

const verificationMail = (email: string, link: Mail["link"]): Mail => ({
  to: email,
  subject: "Verify your email address",
  text: "Open this link within 24 hours to verify your email address and sign in. If you did not sign up, ignore it:",
  link
})

const resetMail = (email: string, link: Mail["link"]): Mail => ({
  to: email,
  subject: "Reset your password",
  text: "Open this link within 30 minutes to choose a new password. If you did not ask for it, ignore it:",
  link
})

const knownUserMail = (email: string): Mail => ({
  to: email,
  subject: "You already have an account",
  text: "Somebody, probably you, tried to sign up with this address. It already has an account: sign in instead, or "
    + "request a password reset.",
  link: undefined
})
