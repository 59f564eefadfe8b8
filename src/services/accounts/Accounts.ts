import { Clock, Context, Effect, Layer, Option, Redacted, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { UserIdColumn } from "../../schema/Columns.ts"
import { Forbidden, Unauthorized, type Unavailable, ValidationFailed } from "../../schema/Errors.ts"
import { UserId } from "../../schema/Ids.ts"
import type { User } from "../../schema/User.ts"
import { appUrl } from "../Addresses.ts"
import { mailedLink } from "../credentials/MailedLinks.ts"
import { MailedTokens } from "../credentials/MailedTokens.ts"
import { PasswordPolicy } from "../credentials/PasswordPolicy.ts"
import { Passwords } from "../credentials/Passwords.ts"
import { type Device, Sessions } from "../credentials/Sessions.ts"
import type { Mail } from "../mail/Mailer.ts"
import { Outbox } from "../mail/Outbox.ts"
import { Audit } from "../operations/Audit.ts"
import { emailKey } from "./EmailAddresses.ts"
import { graceBegan } from "./GraceWindow.ts"
import { Handles } from "./Handles.ts"
import { Profiles } from "./Profiles.ts"

/** A sign-in: the session's token and whose it is. */
export interface SignIn {
  readonly accessToken: string
  readonly user: User
}

interface Credentials {
  readonly email: string
  readonly password: Redacted.Redacted
}

const MAX_HANDLE_ATTEMPTS = 10

/** Accounts by email and password. */
export class Accounts extends Context.Service<Accounts, {
  /**
   * Registers an address and mails a link that proves it. Succeeds alike whether or not the address is known, and takes
   * the same time: who already has an account is told by mail, and nobody else is.
   */
  readonly signUp: (
    registration: Credentials & { readonly name: string | undefined }
  ) => Effect.Effect<void, ValidationFailed | Unavailable>
  /** Uses a verification link up: the password that its sign-up chose becomes the account's, and the caller is in. */
  readonly verifyEmail: (token: Redacted.Redacted, device: Device) => Effect.Effect<SignIn, ValidationFailed>
  /**
   * Signs in. Unknown address, wrong password and an account without one fail alike, by time too. Before the address is
   * proven the right password gets `Forbidden` and a new link by mail.
   */
  readonly logIn: (
    credentials: Credentials,
    device: Device
  ) => Effect.Effect<SignIn, Unauthorized | Forbidden | Unavailable>
}>()("route-planning-service/Accounts") {
  static readonly layer = Layer.effect(
    Accounts,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit
      const handles = yield* Handles
      const mailedTokens = yield* MailedTokens
      const outbox = yield* Outbox
      const passwords = yield* Passwords
      const policy = yield* PasswordPolicy
      const profiles = yield* Profiles
      const sessions = yield* Sessions
      const app = yield* appUrl

      const findByEmail = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: AccountRow,
        execute: (key) =>
          sql`
            SELECT id, email, email_verified_at IS NOT NULL AS is_email_verified, deletion_requested_at,
              CASE WHEN email_verified_at IS NOT NULL THEN password_hash ELSE (
                SELECT t.password_hash FROM email_tokens t
                WHERE t.user_id = users.id AND t.purpose = 'verify-email' ORDER BY t.created_at DESC LIMIT 1
              ) END AS password_hash
            FROM users WHERE email_key = ${key}`
      })

      const insertUser = SqlSchema.findOneOption({
        Request: Schema.Struct({
          email: Schema.String,
          key: Schema.String,
          name: Schema.String,
          handle: Schema.String,
          now: Schema.Date
        }),
        Result: Schema.Struct({ id: UserIdColumn }),
        execute: ({ email, handle, key, name, now }) =>
          sql`
            INSERT INTO users (email, email_key, name, handle, created_at, updated_at)
            VALUES (${email}, ${key}, ${name}, ${handle}, ${now}, ${now})
            ON CONFLICT ON CONSTRAINT users_email_key DO NOTHING RETURNING id`
      })

      const register = Effect.fnUntraced(function*(email: string, name: string, attempt: number) {
        const now = new Date(yield* Clock.currentTimeMillis)
        const handle = yield* handles.suggest({ name, email }, attempt)
        return yield* insertUser({ email, key: emailKey(email), name, handle, now }).pipe(sql.withTransaction)
      })

      // The conflict on the email is nothing to retry; what is left to be violated is the handle's uniqueness.
      const registerWithHandle = (email: string, name: string, attempt = 0): ReturnType<typeof register> =>
        register(email, name, attempt).pipe(
          Effect.catchReason(
            "SqlError",
            "UniqueViolation",
            (reason, error) =>
              reason.constraint === "users_handle_key" && attempt < MAX_HANDLE_ATTEMPTS
                ? registerWithHandle(email, name, attempt + 1)
                : Effect.fail(error)
          )
        )

      const mailVerification = Effect.fnUntraced(function*(email: string, userId: UserId, passwordHash: string) {
        const token = yield* mailedTokens.issue({ userId, purpose: "verify-email", passwordHash })
        yield* outbox.put(userId, {
          to: email,
          subject: "Verify your email address",
          text: "Open this link within 24 hours to verify your email address and sign in:",
          link: mailedLink(app, "verify-email", token)
        })
      })

      const mailSignUp = Effect.fnUntraced(function*(email: string, name: string, passwordHash: string) {
        const created = yield* registerWithHandle(email, name)
        if (Option.isSome(created)) return yield* mailVerification(email, created.value.id, passwordHash)
        const known = yield* Effect.flatMap(findByEmail(emailKey(email)), Effect.fromOption)
        yield* known.is_email_verified
          ? outbox.put(known.id, knownUserMail(known.email))
          : mailVerification(known.email, known.id, passwordHash)
      })

      const signIn = Effect.fnUntraced(function*(userId: UserId, device: Device) {
        const accessToken = yield* sessions.start(userId, device)
        return { accessToken, user: yield* profiles.user(userId) }
      })

      // An address without an account leaves an entry too: it takes as long, and its address is in none.
      const refuse = (userId: UserId | undefined) =>
        Effect.andThen(audit.record("sign_in.failed", { userId }), Effect.fail(wrongCredentials))

      // A password that was changed while it was being verified signs nobody in.
      const signInUnchanged = Effect.fnUntraced(function*(userId: UserId, digest: string, device: Device) {
        const rows = yield* sql`SELECT id FROM users WHERE id = ${userId} AND password_hash = ${digest} FOR UPDATE`
        if (rows.length === 0) return yield* wrongCredentials
        return yield* signIn(userId, device).pipe(Effect.catchTag("Unauthorized", () => Effect.fail(wrongCredentials)))
      }, sql.withTransaction)

      const activate = (userId: UserId, passwordHash: string | undefined, now: Date) =>
        sql`
          UPDATE users SET email_verified_at = ${now}, password_hash = ${passwordHash ?? null}, updated_at = ${now}
          WHERE id = ${userId} AND email_verified_at IS NULL`

      return Accounts.of({
        signUp: Effect.fn("Accounts.signUp")(function*({ email, name, password }) {
          const displayName = name ?? email.slice(0, email.lastIndexOf("@"))
          yield* policy.check("password", password, { email, name })
          const passwordHash = yield* passwords.hash(password)
          yield* mailSignUp(email, displayName, passwordHash).pipe(sql.withTransaction)
          yield* outbox.wake
        }, Effect.catchTags({ SqlError: Effect.die, SchemaError: Effect.die, NoSuchElementError: Effect.die })),

        verifyEmail: Effect.fn("Accounts.verifyEmail")(
          function*(token, device) {
            const consumed = yield* mailedTokens.consume("verify-email", token)
            if (Option.isNone(consumed)) return yield* staleLink
            const { passwordHash, userId } = consumed.value
            const now = new Date(yield* Clock.currentTimeMillis)
            yield* activate(userId, passwordHash, now)
            yield* mailedTokens.revokeAll(userId)
            return yield* signIn(userId, device)
          },
          sql.withTransaction,
          Effect.catchTags({ SqlError: Effect.die, Unauthorized: () => Effect.fail(staleLink) })
        ),

        logIn: Effect.fn("Accounts.logIn")(function*({ email, password }, device) {
          const began = yield* graceBegan
          // An account whose 30 days are over is nobody's, even before a sweep has been there.
          const account = Option.getOrUndefined(
            Option.filter(
              yield* findByEmail(emailKey(email)),
              ({ deletion_requested_at }) => deletion_requested_at === null || deletion_requested_at > began
            )
          )
          const digest = account?.password_hash ?? undefined
          const matches = yield* passwords.verify(password, digest)
          if (!matches || account === undefined || digest === undefined) {
            return yield* refuse(account?.id)
          }
          if (!account.is_email_verified) {
            yield* Effect.andThen(
              mailVerification(account.email, account.id, digest),
              audit.record("sign_in.failed", { userId: account.id })
            ).pipe(sql.withTransaction)
            yield* outbox.wake
            return yield* new Forbidden({ message: "Verify your email address first: a new link has been mailed" })
          }
          const rehashed = passwords.isOutdated(digest)
            ? yield* Effect.orElseSucceed(passwords.hash(password), () => undefined)
            : undefined
          if (rehashed !== undefined) {
            yield* sql`UPDATE users SET password_hash = ${rehashed} WHERE id = ${account.id} AND password_hash = ${digest}`
          }
          return yield* signInUnchanged(account.id, rehashed ?? digest, device)
        }, Effect.catchTags({ SqlError: Effect.die, SchemaError: Effect.die }))
      })
    })
  )
}

const staleLink = ValidationFailed.at("token", "Expected a link that is still good")

const wrongCredentials = new Unauthorized({ message: "Wrong email address or password" })

const AccountRow = Schema.Struct({
  id: UserIdColumn,
  email: Schema.String,
  is_email_verified: Schema.Boolean,
  deletion_requested_at: Schema.NullOr(Schema.Date),
  password_hash: Schema.NullOr(Schema.String)
})

const knownUserMail = (email: string): Mail => ({
  to: email,
  subject: "You already have an account",
  text: "Somebody, probably you, tried to sign up with this address. It already has an account: sign in instead, or "
    + "request a password reset.",
  link: undefined
})
