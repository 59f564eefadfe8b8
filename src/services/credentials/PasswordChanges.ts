import { Clock, Context, Effect, Layer, Option, Redacted, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { UserIdColumn } from "../../schema/Columns.ts"
import { Forbidden, type Unavailable, ValidationFailed } from "../../schema/Errors.ts"
import { type SessionId, UserId } from "../../schema/Ids.ts"
import { emailKey } from "../accounts/EmailAddresses.ts"
import { appUrl } from "../Addresses.ts"
import { Outbox } from "../mail/Outbox.ts"
import { Audit } from "../operations/Audit.ts"
import { mailedLink } from "./MailedLinks.ts"
import { MailedTokens } from "./MailedTokens.ts"
import { PasswordPolicy } from "./PasswordPolicy.ts"
import { Passwords } from "./Passwords.ts"
import { Sessions } from "./Sessions.ts"

/** A new password for those who forgot theirs, and for those who have a session. */
export class PasswordChanges extends Context.Service<PasswordChanges, {
  /**
   * Mails a link, good for 30 minutes, to an address that has an account; says and does nothing otherwise. Succeeds at
   * once either way: who asks learns nothing, not even by waiting.
   */
  readonly requestReset: (email: string) => Effect.Effect<void>
  /**
   * Uses a link up: the password is set, the address proven, every session over and every other link dead. Personal
   * access tokens stay. A password that the policy refuses leaves the link good.
   */
  readonly reset: (
    token: Redacted.Redacted,
    password: Redacted.Redacted
  ) => Effect.Effect<void, ValidationFailed | Unavailable>
  /** Sets or changes the password; the current one is asked for where there is one. All other sessions end. */
  readonly change: (
    user: { readonly userId: UserId; readonly sessionId: SessionId },
    request: { readonly currentPassword: Redacted.Redacted | undefined; readonly newPassword: Redacted.Redacted }
  ) => Effect.Effect<void, ValidationFailed | Forbidden | Unavailable>
}>()("route-planning-service/PasswordChanges") {
  static readonly layer = Layer.effect(
    PasswordChanges,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit
      const mailedTokens = yield* MailedTokens
      const outbox = yield* Outbox
      const passwords = yield* Passwords
      const policy = yield* PasswordPolicy
      const sessions = yield* Sessions
      const app = yield* appUrl

      const findByEmail = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: OwnerRow,
        execute: (key) => sql`SELECT id, email, name, password_hash FROM users WHERE email_key = ${key}`
      })

      const findById = SqlSchema.findOne({
        Request: UserId,
        Result: OwnerRow,
        execute: (id) => sql`SELECT id, email, name, password_hash FROM users WHERE id = ${id}`
      })

      const setPassword = Effect.fnUntraced(function*(userId: UserId, digest: string, previous: string | null) {
        const now = new Date(yield* Clock.currentTimeMillis)
        const rows = yield* sql`
          UPDATE users SET password_hash = ${digest}, updated_at = ${now}
          WHERE id = ${userId} AND password_hash IS NOT DISTINCT FROM ${previous} RETURNING id`
        return rows.length > 0
      })

      const notice = (owner: typeof OwnerRow.Type, text: string) =>
        outbox.put(owner.id, { to: owner.email, subject: "Your password was changed", text, link: undefined })

      const mailLink = Effect.fnUntraced(function*(email: string) {
        const owner = yield* findByEmail(emailKey(email))
        if (Option.isNone(owner)) return
        const token = yield* mailedTokens.issue({
          userId: owner.value.id,
          purpose: "reset-password",
          passwordHash: undefined
        })
        yield* outbox.put(owner.value.id, {
          to: owner.value.email,
          subject: "Reset your password",
          text: "Open this link within 30 minutes to choose a new password. If you did not ask for it, ignore it:",
          link: mailedLink(app, "reset-password", token)
        })
        yield* audit.record("password.reset_requested", { userId: owner.value.id })
      }, sql.withTransaction)

      const refuseChange = (userId: UserId) =>
        Effect.andThen(audit.record("password.change_failed", { userId }), Effect.fail(wrongPassword))

      return PasswordChanges.of({
        // Beside the request, since an unknown address would be answered sooner than one that a link is made for.
        requestReset: Effect.fn("PasswordChanges.requestReset")((email) =>
          Effect.andThen(mailLink(email), outbox.wake).pipe(
            Effect.catchCause((cause) => Effect.logError("no reset link could be made", cause)),
            Effect.forkDetach,
            Effect.asVoid
          )
        ),

        reset: Effect.fn("PasswordChanges.reset")(
          function*(token, password) {
            const consumed = yield* mailedTokens.consume("reset-password", token)
            if (Option.isNone(consumed)) {
              return yield* ValidationFailed.at("token", "Expected a link that is still good")
            }
            const owner = yield* findById(consumed.value.userId)
            yield* policy.check("password", password, owner)
            const digest = yield* passwords.hash(password)
            const now = new Date(yield* Clock.currentTimeMillis)
            yield* sql`
              UPDATE users SET password_hash = ${digest}, updated_at = ${now},
                email_verified_at = coalesce(email_verified_at, ${now}::timestamptz)
              WHERE id = ${owner.id}`
            yield* mailedTokens.revokeAll(owner.id)
            yield* sessions.revokeAll(owner.id)
            yield* audit.record("password.reset", { userId: owner.id })
            yield* notice(
              owner,
              "Your password was reset by a mailed link, and every session was signed out. Personal access tokens still "
                + "work: revoke them if this was not you, and request another reset."
            )
          },
          sql.withTransaction,
          (effect) => Effect.andThen(effect, outbox.wake),
          Effect.catchTags({ SqlError: Effect.die, SchemaError: Effect.die, NoSuchElementError: Effect.die })
        ),

        change: Effect.fn("PasswordChanges.change")(function*({ sessionId, userId }, request) {
          const owner = yield* findById(userId)
          const { currentPassword, newPassword } = request
          if (owner.password_hash !== null) {
            if (currentPassword === undefined) {
              return yield* ValidationFailed.at("currentPassword", "Expected the current password")
            }
            if (!(yield* passwords.verify(currentPassword, owner.password_hash))) return yield* refuseChange(userId)
          }
          yield* policy.check("newPassword", newPassword, owner)
          const digest = yield* passwords.hash(newPassword)
          yield* Effect.gen(function*() {
            // Somebody else changed it meanwhile: then it is no longer the password that was proven.
            if (!(yield* setPassword(userId, digest, owner.password_hash))) return yield* wrongPassword
            yield* audit.record("password.changed", { userId })
            yield* mailedTokens.revokeAll(userId)
            yield* sessions.revokeAll(userId, { keep: sessionId })
            yield* notice(owner, "Your password was changed, and your other sessions were signed out.")
          }).pipe(sql.withTransaction)
          yield* outbox.wake
        }, Effect.catchTags({ SqlError: Effect.die, SchemaError: Effect.die, NoSuchElementError: Effect.die }))
      })
    })
  )
}

const wrongPassword = new Forbidden({ message: "The current password is wrong" })

const OwnerRow = Schema.Struct({
  id: UserIdColumn,
  email: Schema.String,
  name: Schema.String,
  password_hash: Schema.NullOr(Schema.String)
})
