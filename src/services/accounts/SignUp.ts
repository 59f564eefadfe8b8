import { Clock, Context, DateTime, Duration, Effect, flow, Layer, Option, type Redacted, Schema, Struct } from "effect"
import { Model } from "effect/schema"
import { SqlClient, SqlSchema } from "effect/sql"
import { SignUpId, UserId } from "../../schema/Ids.ts"
import { UNVERIFIED_LIFETIME } from "../../schema/Limits.ts"
import type { Page, PageOf } from "../../schema/Page.ts"
import { inOneLine } from "../../schema/Text.ts"
import { localPartOf } from "../../schema/User.ts"
import { databaseDefects } from "../db/DatabaseErrors.ts"
import { newest, readableRows, selectPage } from "../db/Lists.ts"
import { columnsOf, Instant, readOnly, tableOf } from "../db/Tables.ts"
import { AddressTaken, type LinkUnusable, Missing, SignUpClosed } from "../DomainErrors.ts"
import { Audit } from "../identity/Audit.ts"
import { FALLBACK, Handles } from "../identity/Names.ts"
import { emailKey, hasAddress, UserRecord, users } from "../identity/Users.ts"
import { Outbox } from "../mail/Outbox.ts"
import { settings } from "../operations/SettingsRegistry.ts"
import { linkUnusable, mailedLink, type MailedTokenPurpose, MailedTokens } from "./MailedLinks.ts"

class SignUpRecord extends Model.Class<SignUpRecord>("SignUpRecord")({
  id: readOnly(SignUpId),
  email: Schema.String,
  emailKey: Schema.String,
  name: Schema.String,
  passwordHash: Schema.NullOr(Schema.String),
  isInvited: Schema.Boolean,
  network: Schema.NullOr(Schema.String),
  createdAt: Instant,
  expiresAt: Instant
}) {}

const table = tableOf("sign_ups", SignUpRecord)

const SignUpRow = SignUpRecord.select.mapFields(Struct.omit(["isInvited", "network", "createdAt", "expiresAt"]))

const LockedRow = Schema.Struct({ ...SignUpRow.fields, network: SignUpRecord.fields.network })

/** The address is unverified: anyone may sign up any address. `email` is as typed. */
export interface SignUp {
  readonly id: SignUpId
  readonly email: string
  readonly name: string
  readonly passwordHash: string | undefined
}

interface LockedSignUp extends SignUp {
  readonly isOnly: boolean
}

interface Addressee {
  readonly email: string
  readonly userId: UserId | undefined
}

/** Sign-ups are unverified. An address may have any number; the one whose link is used becomes an account. */
export class SignUps extends Context.Service<SignUps, {
  /** With `isInvited` the link works while sign-up is closed. `network` is the network of the request. */
  readonly add: (
    signUp: Omit<SignUp, "id"> & { readonly isInvited?: boolean; readonly network?: string | undefined }
  ) => Effect.Effect<SignUpId>
  readonly isInvited: (email: string) => Effect.Effect<boolean>
  readonly findNewest: (email: string) => Effect.Effect<Option.Option<SignUp>>
  /** Finds a sign-up; none if it is gone. Prevents its deletion until the caller's transaction ends. */
  readonly addresseeOf: (id: SignUpId) => Effect.Effect<Option.Option<Addressee>>
  /** Finds a sign-up; none if it is gone. Takes no lock. */
  readonly find: (id: SignUpId) => Effect.Effect<Option.Option<SignUp>>
  /** Locks all sign-ups of the address until the caller's transaction ends. Returns none if the sign-up is gone. */
  readonly lock: (id: SignUpId) => Effect.Effect<Option.Option<LockedSignUp>>
  /** Finds older sign-ups of the address from other networks. Locks as `lock` does. */
  readonly olderOfOtherNetworks: (id: SignUpId) => Effect.Effect<ReadonlyArray<SignUpId>>
  readonly keepUntil: (id: SignUpId, instant: Date) => Effect.Effect<void>
  /** Deletes every sign-up of an address with its links, in the caller's transaction. */
  readonly removeAll: (email: string) => Effect.Effect<void>
}>()("route-planning-service/SignUps") {
  static readonly layer = Layer.effect(
    SignUps,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient

      const columns = sql.literal(columnsOf(SignUpRow))

      const insert = SqlSchema.findOne({
        Request: Schema.toType(SignUpRecord.insert),
        Result: Schema.Struct({ id: SignUpId }),
        execute: (values) => sql`${table.insert(sql, values)} RETURNING id`
      })

      const newestOf = SqlSchema.findOneOption({
        Request: Schema.Struct({ key: Schema.String, now: Schema.Date }),
        Result: SignUpRow,
        execute: ({ key, now }) =>
          sql`
            SELECT ${columns} FROM sign_ups
            WHERE email_key = ${key} AND expires_at > ${now} ORDER BY created_at DESC, id DESC LIMIT 1`
      })

      const findById = SqlSchema.findOneOption({
        Request: SignUpId,
        Result: SignUpRow,
        execute: (id) => sql`SELECT ${columns} FROM sign_ups WHERE id = ${id}`
      })

      // Rows are locked in one order, so that concurrent uses of an address's links cannot deadlock.
      const lockAll = SqlSchema.findAll({
        Request: Schema.String,
        Result: LockedRow,
        execute: (key) => sql`SELECT ${columns}, network FROM sign_ups WHERE email_key = ${key} ORDER BY id FOR UPDATE`
      })

      const lockWith = Effect.fnUntraced(function*(id: SignUpId) {
        const found = yield* findById(id)
        if (Option.isNone(found)) return Option.none()
        const rows = yield* lockAll(found.value.emailKey)
        const own = rows.find((row) => row.id === id)
        return own === undefined
          ? Option.none()
          : Option.some({ own, others: rows.filter((row) => row.id !== id) })
      })

      const findAddressee = SqlSchema.findOneOption({
        Request: SignUpId,
        Result: Schema.Struct({ email: Schema.String, userId: Schema.NullOr(UserId) }),
        execute: (id) =>
          sql`
            SELECT coalesce(u.email, s.email) AS email, u.id AS "userId"
            FROM sign_ups s LEFT JOIN users u ON u.email_key = s.email_key
            WHERE s.id = ${id} FOR KEY SHARE OF s`
      })

      return SignUps.of({
        add: Effect.fnUntraced(function*({ email, isInvited = false, name, network, passwordHash }) {
          const now = yield* Clock.currentTimeMillis
          const { id } = yield* insert({
            email,
            emailKey: emailKey(email),
            name,
            passwordHash: passwordHash ?? null,
            isInvited,
            network: network ?? null,
            createdAt: new Date(now),
            expiresAt: new Date(now + Duration.toMillis(UNVERIFIED_LIFETIME))
          })
          return id
        }, Effect.orDie),

        isInvited: Effect.fnUntraced(function*(email) {
          const now = yield* DateTime.nowAsDate
          const rows = yield* sql`
            SELECT id FROM sign_ups WHERE email_key = ${emailKey(email)} AND is_invited AND expires_at > ${now} LIMIT 1`
          return rows.length > 0
        }, Effect.orDie),

        findNewest: Effect.fnUntraced(function*(email) {
          const now = yield* DateTime.nowAsDate
          return Option.map(yield* newestOf({ key: emailKey(email), now }), toSignUp)
        }, Effect.orDie),

        addresseeOf: Effect.fnUntraced(function*(id) {
          const found = yield* findAddressee(id)
          return Option.map(found, ({ email, userId }) => ({ email, userId: userId ?? undefined }))
        }, Effect.orDie),

        find: (id) => Effect.orDie(Effect.map(findById(id), Option.map(toSignUp))),

        lock: Effect.fnUntraced(function*(id) {
          return Option.map(yield* lockWith(id), ({ others, own }) => ({
            ...toSignUp(own),
            isOnly: others.length === 0
          }))
        }, Effect.orDie),

        olderOfOtherNetworks: Effect.fnUntraced(function*(id) {
          return Option.match(yield* lockWith(id), {
            onNone: () => [],
            onSome: ({ others, own }) =>
              others.filter((other) => other.id < id && (own.network === null || other.network !== own.network))
                .map((other) => other.id)
          })
        }, Effect.orDie),

        keepUntil: (id, instant) =>
          sql`UPDATE sign_ups SET expires_at = greatest(expires_at, ${instant}) WHERE id = ${id}`.pipe(
            Effect.asVoid,
            Effect.orDie
          ),

        removeAll: Effect.fnUntraced(function*(email) {
          const key = emailKey(email)
          yield* lockAll(key)
          yield* sql`DELETE FROM sign_ups WHERE email_key = ${key}`
        }, Effect.orDie)
      })
    })
  )
}

const toSignUp = ({ email, id, name, passwordHash }: typeof SignUpRow.Type): SignUp => ({
  id,
  email,
  name,
  passwordHash: passwordHash ?? undefined
})

interface ProvenPerson {
  readonly email: string
  readonly name: string | undefined
  readonly avatar?: string | undefined
  readonly passwordHash?: string | undefined
}

const MAX_HANDLE_ATTEMPTS = 10

export const nameFrom = (email: string, name: string | undefined): string =>
  name ?? (inOneLine(localPartOf(email)) || FALLBACK)

/** Creates accounts, in the transaction of the caller. */
export class NewAccounts extends Context.Service<NewAccounts, {
  /**
   * Opens the account that `choose` makes of a mailed link's sign-up, and uses up the link. The other links of the address
   * wait meanwhile. Fails with `LinkUnusable` also if the address has an account.
   */
  readonly openBy: <E = never>(
    purpose: MailedTokenPurpose,
    token: Redacted.Redacted,
    choose: (signUp: LockedSignUp) => Effect.Effect<ProvenPerson, E>
  ) => Effect.Effect<UserId, E | LinkUnusable | SignUpClosed>
  /** Deletes the address's sign-ups. Returns none if it has an account. Fails if uninvited while sign-up is closed. */
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

      const open = Effect.fnUntraced(function*(person: ProvenPerson) {
        if (!isOpen && !(yield* signUps.isInvited(person.email))) return yield* new SignUpClosed()
        yield* signUps.removeAll(person.email)
        return Option.map(yield* openWithHandle(person), ({ id }) => id)
      }, databaseDefects)

      return NewAccounts.of({
        open,

        openBy: Effect.fnUntraced(function*(purpose, token, choose) {
          const id = yield* mailedTokens.signUpOf(purpose, token)
          const signUp = Option.isNone(id) ? Option.none() : yield* signUps.lock(id.value)
          // The link may have become void before the lock.
          const isValid = Option.isSome(yield* mailedTokens.signUpOf(purpose, token))
          if (Option.isNone(signUp) || !isValid) return yield* linkUnusable()
          const userId = yield* open(yield* choose(signUp.value))
          if (Option.isNone(userId)) return yield* linkUnusable()
          yield* mailedTokens.keepUsed(purpose, token, userId.value)
          return userId.value
        })
      })
    })
  )
}

const InvitationRow = SignUpRecord.select.mapFields(Struct.pick(["id", "email", "createdAt", "expiresAt"]))

export type PendingInvitation = typeof InvitationRow.Type

const decodeInvitations = readableRows("sign_ups", InvitationRow)

const requireInvitation = (rows: ReadonlyArray<unknown>) =>
  rows.length > 0 ? Effect.void : Effect.fail(new Missing({ kind: "invitation" }))

/** Operators create accounts by invitations, even while sign-up is closed. */
export class Invitations extends Context.Service<Invitations, {
  /** Lists the invitations that can still be used, the newest first. The audit names the administrator. */
  readonly list: (admin: UserId, page: Page) => Effect.Effect<PageOf<PendingInvitation>>
  /** Mails another link of an invitation; the links before it work too. */
  readonly mailAgain: (admin: UserId, id: SignUpId) => Effect.Effect<void, Missing>
  /** Deletes an invitation: its links stop working. */
  readonly withdraw: (admin: UserId, id: SignUpId) => Effect.Effect<void, Missing>
  /** Mails a link: choosing a password creates the account. Fails with `AddressTaken` if there is one. */
  readonly invite: (admin: UserId, email: string) => Effect.Effect<void, AddressTaken>
  /** Creates a link for an address that the operator verified; it expires sooner. Fails as `invite` does. */
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

      const isPending = (now: Date) => sql`is_invited AND expires_at > ${now}`

      return Invitations.of({
        list: Effect.fnUntraced(function*(admin, page) {
          const found = yield* selectPage(sql, {
            columns: sql.literal(columnsOf(InvitationRow)),
            tables: sql`sign_ups`,
            where: isPending(yield* DateTime.nowAsDate),
            order: newest("id"),
            decode: decodeInvitations
          }, page)
          yield* audit.recordRead("admin.invitations_listed", { userId: admin })
          return found
        }, Effect.orDie),

        mailAgain: Effect.fnUntraced(
          function*(admin, id) {
            const now = yield* DateTime.nowAsDate
            yield* requireInvitation(
              yield* sql`SELECT id FROM sign_ups WHERE id = ${id} AND ${isPending(now)} FOR KEY SHARE`
            )
            yield* outbox.request({ kind: "invitation", signUpId: id })
            yield* audit.record("admin.user_invited", { userId: admin })
          },
          sql.withTransaction,
          databaseDefects
        ),

        withdraw: Effect.fnUntraced(
          function*(admin, id) {
            yield* requireInvitation(yield* sql`DELETE FROM sign_ups WHERE id = ${id} AND is_invited RETURNING id`)
            yield* audit.record("admin.invitation_withdrawn", { userId: admin })
          },
          sql.withTransaction,
          databaseDefects
        ),

        invite: flow(addAndMail, databaseDefects),

        create: Effect.fnUntraced(
          function*(email) {
            yield* add(email)
            const userId = yield* newAccounts.open({ email, name: undefined })
            if (Option.isNone(userId)) return yield* new AddressTaken()
            const token = yield* mailedTokens.issue("reset-password", { userId: userId.value })
            return mailedLink(app, "reset-password", token)
          },
          sql.withTransaction,
          // The address is invited, so sign-up is not closed to it.
          Effect.catchTags({ SignUpClosed: Effect.die, SqlError: Effect.die })
        )
      })
    })
  )
}
