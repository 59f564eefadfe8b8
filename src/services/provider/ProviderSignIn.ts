import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, type SqlError, SqlSchema } from "effect/sql"
import { UserIdColumn } from "../../schema/Columns.ts"
import {
  type BadGateway,
  Conflict,
  type Forbidden,
  type GatewayTimeout,
  Unauthorized,
  type Unavailable
} from "../../schema/Errors.ts"
import type { UserId } from "../../schema/Ids.ts"
import type { SignIn } from "../accounts/Accounts.ts"
import { emailKey } from "../accounts/EmailAddresses.ts"
import { Handles } from "../accounts/Handles.ts"
import { Profiles } from "../accounts/Profiles.ts"
import { MailedTokens } from "../credentials/MailedTokens.ts"
import { type Device, Sessions } from "../credentials/Sessions.ts"
import { Audit } from "../operations/Audit.ts"
import { type Identity, IdentityProvider, type ProviderCredential } from "./IdentityProvider.ts"

type ProviderFailure = Unauthorized | Forbidden | BadGateway | Unavailable | GatewayTimeout

/** How often a sign-in that lost a race, for a handle or against another first sign-in, looks again. */
const MAX_ATTEMPTS = 10

/** Sign-in by an identity provider. */
export class ProviderSignIn extends Context.Service<ProviderSignIn, {
  /**
   * Signs in whom the provider knows: by its subject identifier; else by a proven email address, whose account is
   * linked; else as a new account. An ID token signs in as often as it is sent, until it expires. `Conflict` when that account is linked to another identity of the provider.
   */
  readonly signIn: (credential: ProviderCredential, device: Device) => Effect.Effect<SignIn, ProviderFailure | Conflict>
}>()("route-planning-service/ProviderSignIn") {
  static readonly layer = Layer.effect(
    ProviderSignIn,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit
      const handles = yield* Handles
      const identityProvider = yield* IdentityProvider
      const mailedTokens = yield* MailedTokens
      const profiles = yield* Profiles
      const sessions = yield* Sessions

      const findBySubject = SqlSchema.findOneOption({
        Request: Schema.Struct({ issuer: Schema.String, subject: Schema.String }),
        Result: Schema.Struct({ id: UserIdColumn }),
        execute: ({ issuer, subject }) =>
          sql`SELECT user_id AS id FROM identities WHERE issuer = ${issuer} AND subject = ${subject}`
      })

      const findByEmail = SqlSchema.findOneOption({
        Request: Schema.Struct({ key: Schema.String, issuer: Schema.String }),
        Result: EmailRow,
        execute: ({ issuer, key }) =>
          sql`
            SELECT id, email_verified_at IS NOT NULL AS is_email_verified,
              (SELECT subject FROM identities i WHERE i.user_id = users.id AND i.issuer = ${issuer}) AS linked_subject
            FROM users WHERE email_key = ${key} FOR UPDATE`
      })

      const insertUser = SqlSchema.findOne({
        Request: Schema.Record(Schema.String, Schema.Unknown),
        Result: Schema.Struct({ id: UserIdColumn }),
        execute: (values) => sql`INSERT INTO users ${sql.insert(values)} RETURNING id`
      })

      // Whoever registered the address without proving it must not stay in its account (pre-hijacking): neither the
      // password, nor a session, token or link of theirs survives.
      const takeOver = Effect.fnUntraced(function*(userId: UserId, now: Date) {
        yield* sql`
          UPDATE users SET password_hash = NULL, email_verified_at = ${now}, updated_at = ${now} WHERE id = ${userId}`
        yield* audit.record("password.removed", { userId })
        const tokens = yield* sql`DELETE FROM personal_access_tokens WHERE user_id = ${userId} RETURNING id`
        yield* Effect.forEach(tokens, () => audit.record("token.revoked", { userId }), { discard: true })
        yield* mailedTokens.revokeAll(userId)
        yield* sessions.revokeAll(userId)
      })

      const createUser = Effect.fnUntraced(function*({ email, name, picture }: Identity, attempt: number, now: Date) {
        const displayName = name ?? email.slice(0, email.lastIndexOf("@"))
        const { id } = yield* insertUser({
          email,
          email_key: emailKey(email),
          email_verified_at: now,
          name: displayName,
          handle: yield* handles.suggest({ name: displayName, email }, attempt),
          avatar: picture ?? null,
          created_at: now,
          updated_at: now
        })
        return id
      })

      const link = Effect.fnUntraced(function*({ issuer, subject }: Identity, userId: UserId, now: Date) {
        yield* sql`INSERT INTO identities ${sql.insert({ issuer, subject, user_id: userId, created_at: now })}`
        return userId
      })

      const resolve = Effect.fnUntraced(function*(identity: Identity, attempt: number) {
        const bySubject = yield* findBySubject(identity)
        if (Option.isSome(bySubject)) return bySubject.value.id
        const now = new Date(yield* Clock.currentTimeMillis)
        const byEmail = yield* findByEmail({ key: emailKey(identity.email), issuer: identity.issuer })
        if (Option.isNone(byEmail)) return yield* link(identity, yield* createUser(identity, attempt, now), now)
        const { id, is_email_verified, linked_subject } = byEmail.value
        // The same person, linked since we looked.
        if (linked_subject === identity.subject) return id
        if (linked_subject !== null) {
          return yield* new Conflict({ message: "This account is linked to another identity of the provider" })
        }
        if (!is_email_verified) yield* takeOver(id, now)
        return yield* link(identity, id, now)
      }, sql.withTransaction)

      const resolveRacing = (identity: Identity, attempt = 0): ReturnType<typeof resolve> =>
        resolve(identity, attempt).pipe(
          Effect.catchReason(
            "SqlError",
            "UniqueViolation",
            (_reason, error): Effect.Effect<UserId, Effect.Error<ReturnType<typeof resolve>> | SqlError.SqlError> =>
              attempt < MAX_ATTEMPTS ? resolveRacing(identity, attempt + 1) : Effect.fail(error)
          )
        )

      return ProviderSignIn.of({
        signIn: Effect.fn("ProviderSignIn.signIn")(
          function*(credential, device) {
            const identity = yield* identityProvider.identify(credential)
            const userId = yield* resolveRacing(identity)
            const accessToken = yield* sessions.start(userId, device)
            return { accessToken, user: yield* profiles.user(userId) }
          },
          Effect.catchTags({ SqlError: Effect.die, SchemaError: Effect.die, NoSuchElementError: Effect.die }),
          Effect.tapError((error) => isRefusal(error) ? audit.record("sign_in.failed") : Effect.void)
        )
      })
    })
  )
}

/** The person was refused; that the provider is away says nothing of them. */
const isRefusal = ({ _tag }: ProviderFailure | Conflict) =>
  _tag === "Unauthorized" || _tag === "Forbidden" || _tag === "Conflict"

const EmailRow = Schema.Struct({
  id: UserIdColumn,
  is_email_verified: Schema.Boolean,
  linked_subject: Schema.NullOr(Schema.String)
})
