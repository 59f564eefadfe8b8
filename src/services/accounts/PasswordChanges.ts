import { Context, DateTime, Effect, flow, Layer, Option, type Redacted, type Schema, Struct } from "effect"
import { SqlClient, type SqlError, SqlSchema } from "effect/sql"
import { type SessionId, UserId } from "../../schema/Ids.ts"
import { makeLanesByKey } from "../admission/Lane.ts"
import { LANES, Lanes } from "../admission/Lanes.ts"
import { databaseDefects } from "../db/DatabaseErrors.ts"
import { columnsOf } from "../db/Tables.ts"
import { InvalidInput, type LinkUnusable, type Overloaded, type SignUpClosed, WrongPassword } from "../DomainErrors.ts"
import { Audit } from "../identity/Audit.ts"
import { accountLock, UserRecord, users } from "../identity/Users.ts"
import { askedFrom } from "../mail/Mailers.ts"
import { Outbox } from "../mail/Outbox.ts"
import { configuredSite } from "../texts/Site.ts"
import { linkUnusable, MailedTokens, type TokenOwner } from "./MailedLinks.ts"
import { PasswordPolicy, Passwords } from "./Passwords.ts"
import { Sessions } from "./Sessions.ts"
import { NewAccounts, SignUps } from "./SignUp.ts"
import { PersonalAccessTokens } from "./Tokens.ts"

export class PasswordChanges extends Context.Service<PasswordChanges, {
  /** Mails a link. Every address gets the same row in the same time: the caller learns nothing. */
  readonly requestReset: (email: string, network?: string) => Effect.Effect<void>
  /** Returns the address that a link of a reset or an invitation was mailed to. Does not consume the link. */
  readonly addressOf: (token: Redacted.Redacted) => Effect.Effect<string, LinkUnusable | Overloaded>
  /**
   * Ends every session and revokes other links; personal access tokens stay. A sign-up's link creates the account, or
   * fails with `SignUpClosed` if sign-up is closed and it is no invitation. A refused password does not consume the
   * link. Returns how many personal access tokens of the account still work.
   */
  readonly reset: (
    token: Redacted.Redacted,
    password: Redacted.Redacted
  ) => Effect.Effect<number, InvalidInput | LinkUnusable | SignUpClosed | Overloaded>
  /** Requires the current password if there is one. Ends all other sessions. */
  readonly change: (
    user: { readonly userId: UserId; readonly sessionId: SessionId },
    request: { readonly currentPassword: Redacted.Redacted | undefined; readonly newPassword: Redacted.Redacted }
  ) => Effect.Effect<void, InvalidInput | WrongPassword | Overloaded>
}>()("route-planning-service/PasswordChanges") {
  static readonly layer = Layer.effect(
    PasswordChanges,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit
      const mailedTokens = yield* MailedTokens
      const newAccounts = yield* NewAccounts
      const outbox = yield* Outbox
      const passwords = yield* Passwords
      const policy = yield* PasswordPolicy
      const sessions = yield* Sessions
      const signUps = yield* SignUps
      const tokens = yield* PersonalAccessTokens
      const lockAccount = yield* accountLock
      const { signIns } = yield* Lanes
      const mail = (yield* configuredSite).texts.mails.passwordChanged

      const findById = SqlSchema.findOne({
        Request: UserId,
        Result: OwnerRow,
        execute: (id) => sql`SELECT ${sql.literal(columnsOf(OwnerRow))} FROM users WHERE id = ${id}`
      })

      const inTurn = yield* makeLanesByKey<string>("links", LANES.links)

      const setPassword = Effect.fnUntraced(function*(userId: UserId, digest: string, previous: string | null) {
        const now = yield* DateTime.nowAsDate
        const rows = yield* sql`
          UPDATE users SET ${users.set(sql, { passwordHash: digest, updatedAt: now })}
          WHERE id = ${userId} AND password_hash IS NOT DISTINCT FROM ${previous} RETURNING id`
        return rows.length > 0
      })

      const notice = (owner: typeof OwnerRow.Type, how: "byLink" | "byOwner") =>
        outbox.put(owner.id, {
          to: owner.email,
          subject: mail.subject,
          text: mail[how],
          ifNotYou: mail.ifNotYou
        })

      const replacePassword = Effect.fnUntraced(function*(owner: typeof OwnerRow.Type, digest: string) {
        const now = yield* DateTime.nowAsDate
        yield* sql`
          UPDATE users SET ${users.set(sql, { passwordHash: digest, updatedAt: now })} WHERE id = ${owner.id}`
        yield* mailedTokens.revokeAll(owner.id)
        yield* sessions.revokeAll(owner.id)
        yield* audit.record("password.reset", { userId: owner.id })
        yield* notice(owner, "byLink")
      })

      const ownerOf = (token: Redacted.Redacted) => signIns(mailedTokens.ownerOf("reset-password", token))

      const personOf = (owner: TokenOwner): Effect.Effect<Person, LookupFailure> =>
        "userId" in owner
          ? Effect.catchTag(findById(owner.userId), "NoSuchElementError", linkUnusable)
          : Effect.flatMap(signUps.find(owner.signUpId), Option.match({ onNone: linkUnusable, onSome: Effect.succeed }))

      const resetAccount = Effect.fnUntraced(function*(userId: UserId, token: Redacted.Redacted, digest: string) {
        yield* lockAccount(userId)
        yield* mailedTokens.consume("reset-password", token)
        yield* replacePassword(yield* findById(userId), digest)
        return (yield* tokens.list(userId)).length
      }, sql.withTransaction)

      const resetSignUp = Effect.fnUntraced(function*(token: Redacted.Redacted, digest: string) {
        const userId = yield* newAccounts.openBy(
          "reset-password",
          token,
          (signUp) => Effect.succeed({ ...signUp, passwordHash: digest })
        )
        yield* audit.record("password.reset", { userId })
        return 0
      }, sql.withTransaction)

      // The password is hashed before the transaction, so that no connection or lock waits for it.
      const useLink = Effect.fnUntraced(function*(token: Redacted.Redacted, password: Redacted.Redacted) {
        const owner = yield* ownerOf(token)
        yield* policy.check("password", password, yield* personOf(owner))
        const digest = yield* passwords.hash(password)
        if ("userId" in owner) return yield* signIns(resetAccount(owner.userId, token, digest))
        return yield* signIns(resetSignUp(token, digest))
      })

      const useInTurn = (token: Redacted.Redacted, password: Redacted.Redacted) =>
        Effect.flatMap(ownerOf(token), (owner) => inTurn(JSON.stringify(owner))(useLink(token, password)))

      const refuseChange = (userId: UserId) =>
        Effect.andThen(audit.record("password.change_failed", { userId }), Effect.fail(new WrongPassword()))

      return PasswordChanges.of({
        requestReset: (email, network) =>
          Effect.flatMap(askedFrom(network), (asked) => outbox.request({ kind: "reset-password", email, ...asked })),

        addressOf: flow(
          (token) => Effect.map(Effect.flatMap(ownerOf(token), personOf), ({ email }) => email),
          databaseDefects
        ),

        reset: flow(useInTurn, databaseDefects),

        change: Effect.fnUntraced(function*({ sessionId, userId }, request) {
          const owner = yield* findById(userId)
          const { currentPassword, newPassword } = request
          if (owner.passwordHash !== null) {
            if (currentPassword === undefined) {
              return yield* InvalidInput.at("currentPassword", "Expected the current password")
            }
            if (!(yield* passwords.verify(currentPassword, owner.passwordHash))) return yield* refuseChange(userId)
          }
          yield* policy.check("newPassword", newPassword, owner)
          const digest = yield* passwords.hash(newPassword)
          yield* Effect.gen(function*() {
            // The password was changed since it was verified.
            if (!(yield* setPassword(userId, digest, owner.passwordHash))) return yield* new WrongPassword()
            yield* audit.record("password.changed", { userId })
            yield* mailedTokens.revokeAll(userId)
            yield* sessions.revokeAll(userId, { keep: sessionId })
            yield* notice(owner, "byOwner")
          }).pipe(sql.withTransaction, signIns)
        }, databaseDefects)
      })
    })
  )
}

type LookupFailure = LinkUnusable | SqlError.SqlError | Schema.SchemaError

interface Person {
  readonly email: string
  readonly name: string
}

const OwnerRow = UserRecord.select.mapFields(Struct.pick(["id", "email", "name", "passwordHash"]))
