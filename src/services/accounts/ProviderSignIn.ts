import { Clock, Context, DateTime, Duration, Effect, Layer, Option, Schema, Struct } from "effect"
import { SecureRandom } from "effect/crypto"
import { Model } from "effect/schema"
import { SqlClient, SqlSchema } from "effect/sql"
import { UserId } from "../../schema/Ids.ts"
import { PROVIDER_SIGN_IN_LIFETIME } from "../../schema/Limits.ts"
import { isUnambiguous, localPartOf, UNAMBIGUOUS_EMAIL } from "../../schema/User.ts"
import { Lanes } from "../admission/Lanes.ts"
import { databaseDefects } from "../db/DatabaseErrors.ts"
import { columnsOf, InstantOnce, tableOf, writtenOnce } from "../db/Tables.ts"
import { InvalidInput, LinkedElsewhere, type Overloaded, SignInNotBegun, type SignUpClosed } from "../DomainErrors.ts"
import { Audit } from "../identity/Audit.ts"
import { emailKey } from "../identity/Users.ts"
import { signedCursors } from "../operations/Keys.ts"
import type { Identity, RedirectFailure } from "./OpenIdConnect.ts"
import { Profiles } from "./Profile.ts"
import { type CredentialFailure, IdentityProvider, type ProviderCredential } from "./Provider.ts"
import { type Device, Sessions } from "./Sessions.ts"
import type { SignIn } from "./SignIn.ts"
import { NewAccounts } from "./SignUp.ts"

type AccountFailure = InvalidInput | LinkedElsewhere | SignUpClosed | Overloaded

type SignInFailure = CredentialFailure | RedirectFailure | AccountFailure

const MAX_ATTEMPTS = 10

/** The browser keeps this while it is at the provider. */
const Pending = Schema.Struct({
  state: Schema.String,
  nonce: Schema.String,
  verifier: Schema.String,
  returnTo: Schema.URLFromString,
  expiresAt: Schema.Finite
})

interface Return {
  readonly callback: URL
  readonly pending: string | undefined
  readonly device: Device
}

class IdentityRecord extends Model.Class<IdentityRecord>("IdentityRecord")({
  issuer: Schema.String,
  subject: Schema.String,
  userId: writtenOnce(UserId),
  createdAt: InstantOnce
}) {}

const identities = tableOf("identities", IdentityRecord)

const LinkedRow = IdentityRecord.select.mapFields(Struct.pick(["userId"]))

export class ProviderSignIn extends Context.Service<ProviderSignIn, {
  /**
   * Finds the account by the subject identifier, else links the one with the verified email address, else creates one.
   * A new account fails with `SignUpClosed` while sign-up is closed, with `InvalidInput` for an ambiguous address.
   */
  readonly signIn: (
    credential: ProviderCredential,
    device: Device
  ) => Effect.Effect<SignIn, CredentialFailure | AccountFailure>
  /** Begins a sign-in by redirect to a provider's address. Only a browser that brings `pending` back can finish it. */
  readonly begin: (
    provider: string,
    addresses: { readonly redirectUri: URL; readonly returnTo: URL }
  ) => Effect.Effect<{ readonly address: URL; readonly pending: string }, RedirectFailure>
  /** Signs in as `signIn` does. Fails with `SignInNotBegun` unless the `pending` of this provider is valid. */
  readonly finish: (
    provider: string,
    returned: Return
  ) => Effect.Effect<
    { readonly signIn: SignIn; readonly returnTo: URL },
    RedirectFailure | AccountFailure | SignInNotBegun
  >
}>()("route-planning-service/ProviderSignIn") {
  static readonly layer = Layer.effect(
    ProviderSignIn,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit
      const identityProvider = yield* IdentityProvider
      const newAccounts = yield* NewAccounts
      const profiles = yield* Profiles
      const sessions = yield* Sessions
      const { signIns } = yield* Lanes
      const pendings = yield* signedCursors("sign-in by redirect/1", Pending)
      const random = yield* SecureRandom.SecureRandom
      const randomText = Effect.map(random.randomBytes(32), (bytes) => Buffer.from(bytes).toString("base64url"))

      const findBySubject = SqlSchema.findOneOption({
        Request: Schema.Struct({ issuer: Schema.String, subject: Schema.String }),
        Result: LinkedRow,
        execute: ({ issuer, subject }) =>
          sql`SELECT ${
            sql.literal(columnsOf(LinkedRow))
          } FROM identities WHERE issuer = ${issuer} AND subject = ${subject}`
      })

      const findByEmail = SqlSchema.findOneOption({
        Request: Schema.Struct({ key: Schema.String, issuer: Schema.String }),
        Result: EmailRow,
        execute: ({ issuer, key }) =>
          sql`
            SELECT id, (SELECT subject FROM identities i WHERE i.user_id = users.id AND i.issuer = ${issuer}) AS "linkedSubject"
            FROM users WHERE email_key = ${key} FOR NO KEY UPDATE`
      })

      const link = Effect.fnUntraced(function*({ issuer, subject }: Identity, userId: UserId, now: Date) {
        yield* identities.insert(sql, { issuer, subject, userId, createdAt: now })
        return userId
      })

      /** Creates the account, or returns none if another request has just created one with the address. */
      const open = Effect.fnUntraced(function*(identity: Identity, now: Date) {
        const { email, name, picture } = identity
        if (!isUnambiguous(localPartOf(email))) return yield* InvalidInput.at("email", `Expected ${UNAMBIGUOUS_EMAIL}`)
        const opened = yield* newAccounts.open({ email, name: name ?? undefined, avatar: picture ?? undefined })
        return Option.isNone(opened) ? opened : Option.some(yield* link(identity, opened.value, now))
      })

      const resolve = Effect.fnUntraced(function*(identity: Identity) {
        const bySubject = yield* findBySubject(identity)
        if (Option.isSome(bySubject)) return Option.some(bySubject.value.userId)
        const now = yield* DateTime.nowAsDate
        const byEmail = yield* findByEmail({ key: emailKey(identity.email), issuer: identity.issuer })
        if (Option.isNone(byEmail)) return yield* open(identity, now)
        const { id, linkedSubject } = byEmail.value
        if (linkedSubject === identity.subject) return Option.some(id)
        if (linkedSubject !== null) {
          return yield* new LinkedElsewhere()
        }
        return Option.some(yield* link(identity, id, now))
      })

      const signInOnce = Effect.fnUntraced(function*(identity: Identity, device: Device) {
        const resolved = yield* resolve(identity)
        if (Option.isNone(resolved)) return Option.none<SignIn>()
        const accessToken = yield* sessions.start(resolved.value, device)
        return Option.some<SignIn>({ accessToken, user: yield* profiles.user(resolved.value) })
      }, sql.withTransaction)

      const signInAs = (
        identity: Identity,
        device: Device,
        attempt = 0
      ): Effect.Effect<SignIn, Effect.Error<ReturnType<typeof signInOnce>>> =>
        signInOnce(identity, device).pipe(
          Effect.catchReason(
            "SqlError",
            "UniqueViolation",
            (_reason, error): ReturnType<typeof signInOnce> =>
              attempt < MAX_ATTEMPTS ? Effect.succeedNone : Effect.fail(error)
          ),
          Effect.flatMap(Option.match({
            onNone: () => signInAs(identity, device, attempt + 1),
            onSome: Effect.succeed
          }))
        )

      const signInOf = Effect.fnUntraced(
        function*<E extends CredentialFailure | RedirectFailure>(
          identified: Effect.Effect<Identity, E>,
          device: Device
        ) {
          return yield* signIns(signInAs(yield* identified, device))
        },
        databaseDefects,
        Effect.tapError((error) => isRefusal(error) ? audit.record("sign_in.failed") : Effect.void)
      )

      return ProviderSignIn.of({
        signIn: (credential, device) => signInOf(identityProvider.identify(credential), device),
        begin: Effect.fnUntraced(function*(provider, { redirectUri, returnTo }) {
          const checks = { state: yield* randomText, nonce: yield* randomText, verifier: yield* randomText }
          const address = yield* identityProvider.begin(provider, redirectUri, checks)
          const expiresAt = (yield* Clock.currentTimeMillis) + Duration.toMillis(PROVIDER_SIGN_IN_LIFETIME)
          return { address, pending: pendings.seal(provider, { ...checks, returnTo, expiresAt }) }
        }),
        finish: Effect.fnUntraced(function*(provider, { callback, device, pending = "" }) {
          const now = yield* Clock.currentTimeMillis
          const begun = Option.filter(pendings.open(provider, pending), ({ expiresAt }) => now < expiresAt)
          if (Option.isNone(begun)) return yield* new SignInNotBegun()
          const { returnTo, ...checks } = begun.value
          return { signIn: yield* signInOf(identityProvider.finish(provider, callback, checks), device), returnTo }
        })
      })
    })
  )
}

/** These failures refuse the user; a failure of the provider is none of them. */
const REFUSALS: ReadonlySet<SignInFailure["_tag"]> = new Set([
  "InvalidInput",
  "LinkedElsewhere",
  "ProviderDisabled",
  "ProviderEmailUnverified",
  "SignInRefused",
  "SignUpClosed"
])

const isRefusal = ({ _tag }: SignInFailure) => REFUSALS.has(_tag)

const EmailRow = Schema.Struct({
  id: UserId,
  linkedSubject: Schema.NullOr(Schema.String)
})
