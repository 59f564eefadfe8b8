import { Context, DateTime, Effect, Layer, Option, type Redacted, Schema, Struct } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { UserId } from "../../schema/Ids.ts"
import { inOneLine } from "../../schema/Text.ts"
import { localPartOf } from "../../schema/User.ts"
import { type MailedTokenPurpose, MailedTokens } from "../credentials/MailedTokens.ts"
import { SignUpClosed } from "../DomainErrors.ts"
import { emailKey } from "../identity/EmailAddresses.ts"
import { FALLBACK, Handles } from "../identity/Handles.ts"
import { UserRecord, users } from "../identity/UserRecord.ts"
import { settings } from "../settings/Registry.ts"
import { databaseDefects } from "../sql/DatabaseDefects.ts"
import { traced } from "../tracing/Traced.ts"
import { type LockedSignUp, type SignUp, SignUps } from "./SignUps.ts"

export interface ProvenPerson {
  readonly email: string
  readonly name: string | undefined
  readonly avatar?: string | undefined
  readonly passwordHash?: string | undefined
}

const MAX_HANDLE_ATTEMPTS = 10

export const nameFrom = (email: string, name: string | undefined): string =>
  name ?? (inOneLine(localPartOf(email)) || FALLBACK)

/** Creates accounts. Call `signUpOf` and `open` in a transaction. */
export class NewAccounts extends Context.Service<NewAccounts, {
  /** The sign-up of a mailed link; none when the link cannot be used. Takes no lock. */
  readonly find: (purpose: MailedTokenPurpose, token: Redacted.Redacted) => Effect.Effect<Option.Option<SignUp>>
  /** The same. Blocks the other links of the address. */
  readonly signUpOf: (
    purpose: MailedTokenPurpose,
    token: Redacted.Redacted
  ) => Effect.Effect<Option.Option<LockedSignUp>>
  /** Deletes the sign-ups of the address. None if it has an account. `SignUpClosed` if uninvited and sign-up is closed. */
  readonly open: (person: ProvenPerson) => Effect.Effect<Option.Option<UserId>, SignUpClosed>
}>()("route-planning-service/NewAccounts") {
  static readonly layer = Layer.effect(
    NewAccounts,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const handles = yield* Handles
      const mailedTokens = yield* MailedTokens
      const signUps = yield* SignUps
      const isOpen = yield* settings.SIGNUP_ENABLED

      const insert = SqlSchema.findOneOption({
        Request: Schema.toType(UserRecord.insert),
        Result: UserRecord.select.mapFields(Struct.pick(["id"])),
        execute: (values) =>
          sql`
            ${users.insert(sql, values)}
            ON CONFLICT ON CONSTRAINT users_email_key DO NOTHING RETURNING id`
      })

      const attemptOpen = Effect.fnUntraced(
        function*({ avatar, email, name, passwordHash }: ProvenPerson, attempt: number) {
          const now = yield* DateTime.nowAsDate
          const displayName = nameFrom(email, name)
          return yield* insert({
            email,
            emailKey: emailKey(email),
            emailVerifiedAt: now,
            passwordHash: passwordHash ?? null,
            name: displayName,
            handle: yield* handles.suggest({ name: displayName, email }, attempt),
            avatar: avatar ?? null,
            createdAt: now,
            updatedAt: now
          })
        },
        sql.withTransaction
      )

      const openWithHandle = (person: ProvenPerson, attempt = 0): ReturnType<typeof attemptOpen> =>
        attemptOpen(person, attempt).pipe(
          Effect.catchReason(
            "SqlError",
            "UniqueViolation",
            (reason, error) =>
              reason.constraint === "users_handle_key" && attempt < MAX_HANDLE_ATTEMPTS
                ? openWithHandle(person, attempt + 1)
                : Effect.fail(error)
          )
        )

      return NewAccounts.of({
        find: traced("NewAccounts.find")(function*(purpose, token) {
          const id = yield* mailedTokens.signUpOf(purpose, token)
          return Option.isNone(id) ? Option.none() : yield* signUps.find(id.value)
        }),

        signUpOf: traced("NewAccounts.signUpOf")(function*(purpose, token) {
          const id = yield* mailedTokens.signUpOf(purpose, token)
          const signUp = Option.isNone(id) ? Option.none() : yield* signUps.lock(id.value)
          // The link may have become void before the lock.
          return Option.isSome(yield* mailedTokens.signUpOf(purpose, token)) ? signUp : Option.none()
        }),

        open: traced("NewAccounts.open")(function*(person) {
          if (!isOpen && !(yield* signUps.isInvited(person.email))) return yield* new SignUpClosed()
          yield* signUps.removeAll(person.email)
          return Option.map(yield* openWithHandle(person), ({ id }) => id)
        }, databaseDefects)
      })
    })
  )
}
