import { Context, Effect, Layer, Option, Redacted, Schema, Struct } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { SignUpId, UserId } from "../../schema/Ids.ts"
import type { User } from "../../schema/User.ts"
import { Lanes } from "../admission/Lanes.ts"
import { databaseDefects } from "../db/DatabaseErrors.ts"
import { deletionCutoff } from "../db/Sweeps.ts"
import { columnsOf } from "../db/Tables.ts"
import {
  EmailUnverified,
  type InvalidInput,
  type LinkUnusable,
  type Overloaded,
  SignUpClosed,
  SignUpPasswordNeeded,
  SignUpPasswordWrong,
  WrongCredentials
} from "../DomainErrors.ts"
import { Audit } from "../identity/Audit.ts"
import { canSignIn, hasAddress, lockedUser, UserRecord, users } from "../identity/Users.ts"
import { askedFrom } from "../mail/Mailers.ts"
import { Outbox } from "../mail/Outbox.ts"
import { settings } from "../operations/SettingsRegistry.ts"
import { INVITATION, linkUnusable, type MailedTokenPurpose, MailedTokens } from "./MailedLinks.ts"
import { PasswordPolicy, Passwords } from "./Passwords.ts"
import { Profiles } from "./Profile.ts"
import { type Device, Sessions } from "./Sessions.ts"
import { nameFrom, NewAccounts, type SignUp, SignUps } from "./SignUp.ts"

export interface SignIn {
  readonly accessToken: string
  readonly user: User
}

interface Credentials {
  readonly email: string
  readonly password: Redacted.Redacted
}

/** The password of the sign-up proves the mailbox, or a new one is set; without both the link is the proof. */
interface ChosenPassword {
  readonly password?: Redacted.Redacted | undefined
  readonly newPassword?: Redacted.Redacted | undefined
}

export class Accounts extends Context.Service<Accounts, {
  /** Mails a link to create the account, or a notice to its owner, in equal time. Fails while sign-up is closed. */
  readonly signUp: (
    registration: Credentials & { readonly name: string | undefined; readonly network: string | undefined }
  ) => Effect.Effect<void, InvalidInput | SignUpClosed | Overloaded>
  /** Returns the address that a verification link was mailed to. Does not consume the link. */
  readonly addressOf: (token: Redacted.Redacted) => Effect.Effect<string, LinkUnusable | Overloaded>
  /**
   * Creates the account of the link's sign-up, ends all other sign-ups of the address, and signs the caller in. Since
   * anyone may sign up any address, the holder of the mailbox shows by the password that the sign-up is theirs, or
   * chooses a new one; the link alone is enough while the address has no other sign-up.
   */
  readonly verifyEmail: (
    token: Redacted.Redacted,
    chosen: ChosenPassword,
    device: Device
  ) => Effect.Effect<
    SignIn,
    InvalidInput | LinkUnusable | SignUpPasswordNeeded | SignUpPasswordWrong | SignUpClosed | Overloaded
  >
  /** Returns the address that an invitation was mailed to. Does not consume the link. */
  readonly invitedAddress: (token: Redacted.Redacted) => Effect.Effect<string, LinkUnusable | Overloaded>
  /** Creates the account of an invitation, by its name if that is given, and signs the caller in. */
  readonly acceptInvitation: (
    token: Redacted.Redacted,
    chosen: { readonly name: string | undefined; readonly password: Redacted.Redacted },
    device: Device
  ) => Effect.Effect<SignIn, InvalidInput | LinkUnusable | SignUpClosed | Overloaded>
  /**
   * Signs in. An unknown address, a wrong password and an account without a password fail alike in equal time. The
   * password of the newest pending sign-up gets `EmailUnverified` and a new mail, even if the address has an account.
   */
  readonly logIn: (
    credentials: Credentials,
    device: Device
  ) => Effect.Effect<SignIn, WrongCredentials | EmailUnverified | SignUpClosed | Overloaded>
}>()("route-planning-service/Accounts") {
  static readonly layer = Layer.effect(
    Accounts,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit
      const mailedTokens = yield* MailedTokens
      const newAccounts = yield* NewAccounts
      const outbox = yield* Outbox
      const { signIns } = yield* Lanes
      const passwords = yield* Passwords
      const policy = yield* PasswordPolicy
      const profiles = yield* Profiles
      const sessions = yield* Sessions
      const signUps = yield* SignUps
      const isOpen = yield* settings.SIGNUP_ENABLED

      const findByEmail = SqlSchema.findOneOption({
        Request: Schema.Struct({ email: Schema.String, cutoff: Schema.Date }),
        Result: AccountRow,
        execute: ({ cutoff, email }) =>
          sql`
            SELECT ${sql.literal(columnsOf(AccountRow))} FROM users
            WHERE ${hasAddress(sql, email)} AND ${canSignIn(sql, cutoff)}`
      })

      /** Runs the same queries for every address. */
      const candidatesOf = Effect.fnUntraced(function*(email: string) {
        const account = yield* findByEmail({ email, cutoff: yield* deletionCutoff })
        return {
          account: Option.getOrUndefined(account),
          signUp: Option.getOrUndefined(yield* signUps.findNewest(email))
        }
      })

      const signIn = Effect.fnUntraced(function*(userId: UserId, device: Device) {
        const accessToken = yield* sessions.start(userId, device)
        return { accessToken, user: yield* profiles.user(userId) }
      })

      // Unknown addresses leave an audit entry too, without the address, so that known ones take no longer.
      const refuse = (userId: UserId | undefined) =>
        Effect.andThen(audit.record("sign_in.failed", { userId }), Effect.fail(new WrongCredentials()))

      // Fails if the password was changed during verification.
      const signInUnchanged = Effect.fnUntraced(function*(userId: UserId, digest: string, device: Device) {
        const rows = yield* lockedUser(sql, "id", sql`id = ${userId} AND password_hash = ${digest}`)
        if (rows.length === 0) return yield* new WrongCredentials()
        return yield* signIn(userId, device).pipe(
          Effect.catchTag("SignInRefused", () => Effect.fail(new WrongCredentials()))
        )
      })

      const requestLink = (signUpId: SignUpId, network: string | undefined) =>
        Effect.flatMap(askedFrom(network), (asked) => outbox.request({ kind: "verify-email", signUpId, ...asked }))

      const mailAgain = (signUpId: SignUpId, userId: UserId | undefined, network: string | undefined) =>
        requestLink(signUpId, network).pipe(
          Effect.andThen(audit.record("sign_in.failed", { userId })),
          sql.withTransaction
        )

      /** Hashes with the current parameters if the digest has older ones; skipped under load. */
      const rehash = (password: Redacted.Redacted, digest: string) =>
        passwords.isOutdated(digest)
          ? Effect.orElseSucceed(passwords.hash(password), () => undefined)
          : Effect.undefined

      const accept = Effect.fnUntraced(function*(
        { digest, rehashed, userId }: {
          readonly userId: UserId
          readonly digest: string
          readonly rehashed: string | undefined
        },
        device: Device
      ) {
        if (rehashed !== undefined) {
          yield* sql`UPDATE users SET ${
            users.set(sql, { passwordHash: rehashed })
          } WHERE id = ${userId} AND password_hash = ${digest}`
        }
        return yield* signInUnchanged(userId, rehashed ?? digest, device)
      }, sql.withTransaction)

      // A sign-up must not reveal whether its address has an account: same response, and two verifications always.
      const decline = Effect.fnUntraced(function*(
        { account, signUp }: Effect.Success<ReturnType<typeof candidatesOf>>,
        password: Redacted.Redacted,
        { network }: Device
      ) {
        const isOfSignUp = yield* passwords.verify(password, signUp?.passwordHash)
        if (!isOfSignUp || signUp === undefined) return yield* signIns(refuse(account?.id))
        if (!isOpen) return yield* new SignUpClosed()
        yield* signIns(mailAgain(signUp.id, account?.id, network))
        return yield* new EmailUnverified()
      })

      const pendingOf = (token: Redacted.Redacted, purpose: MailedTokenPurpose) =>
        mailedTokens.ownerOf(purpose, token).pipe(
          Effect.flatMap((owner) => "signUpId" in owner ? signUps.find(owner.signUpId) : Effect.succeedNone),
          Effect.flatMap(Option.match({ onNone: linkUnusable, onSome: Effect.succeed })),
          signIns
        )

      const proven = Effect.fnUntraced(function*(signUp: SignUp, { newPassword, password }: ChosenPassword) {
        if (newPassword !== undefined) {
          yield* policy.check("password", newPassword, signUp)
          return yield* passwords.hash(newPassword)
        }
        if (password === undefined) return undefined
        if (signUp.passwordHash === undefined || !(yield* passwords.verify(password, signUp.passwordHash))) {
          yield* audit.record("sign_in.failed")
          return yield* new SignUpPasswordWrong()
        }
        return signUp.passwordHash
      })

      const signInNew = <E>(opening: Effect.Effect<UserId, E>, device: Device) =>
        opening.pipe(
          Effect.flatMap((userId) => Effect.catchTag(signIn(userId, device), "SignInRefused", linkUnusable)),
          sql.withTransaction,
          signIns
        )

      return Accounts.of({
        signUp: Effect.fnUntraced(function*({ email, name, network, password }) {
          if (!isOpen) return yield* new SignUpClosed()
          yield* policy.check("password", password, { email, name })
          const passwordHash = yield* passwords.hash(password)
          yield* signUps.add({ email, name: nameFrom(email, name), network, passwordHash }).pipe(
            Effect.flatMap((signUpId) => requestLink(signUpId, network)),
            sql.withTransaction,
            signIns
          )
        }, databaseDefects),

        addressOf: (token) => Effect.map(pendingOf(token, "verify-email"), ({ email }) => email),

        invitedAddress: (token) => Effect.map(pendingOf(token, INVITATION), ({ email }) => email),

        acceptInvitation: Effect.fnUntraced(function*(token, { name, password }, device) {
          const signUp = yield* pendingOf(token, INVITATION)
          const given = name === undefined ? {} : { name }
          yield* policy.check("password", password, { ...signUp, ...given })
          const chosen = { ...given, passwordHash: yield* passwords.hash(password) }
          const opening = newAccounts.openBy(INVITATION, token, (signUp) => Effect.succeed({ ...signUp, ...chosen }))
          return yield* signInNew(opening, device)
        }, databaseDefects),

        verifyEmail: Effect.fnUntraced(function*(token, chosen, device) {
          const digest = yield* proven(yield* pendingOf(token, "verify-email"), chosen)
          const opening = newAccounts.openBy(
            "verify-email",
            token,
            (signUp) =>
              digest === undefined && !signUp.isOnly
                ? Effect.fail(new SignUpPasswordNeeded())
                : Effect.succeed({ ...signUp, passwordHash: digest ?? signUp.passwordHash })
          )
          return yield* signInNew(opening, device)
        }, databaseDefects),

        logIn: Effect.fnUntraced(function*({ email, password }, device) {
          // The queries find no account past its grace period, even before the sweep.
          const candidates = yield* signIns(candidatesOf(email))
          const { id: userId, passwordHash } = candidates.account ?? NO_ACCOUNT
          const digest = passwordHash ?? undefined
          const matches = yield* passwords.verify(password, digest)
          if (!matches || digest === undefined || userId === undefined) {
            return yield* decline(candidates, password, device)
          }
          const rehashed = yield* rehash(password, digest)
          return yield* signIns(accept({ userId, digest, rehashed }, device))
        }, databaseDefects)
      })
    })
  )
}

const NO_ACCOUNT = { id: undefined, passwordHash: null }

const AccountRow = UserRecord.select.mapFields(Struct.pick(["id", "passwordHash"]))
