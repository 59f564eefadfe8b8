import { Context, Effect, Layer, Schema } from "effect"
import { Model } from "effect/schema"
import { SqlClient, type Statement } from "effect/sql"
import { domainToASCII } from "node:url"
import { UserId } from "../../schema/Ids.ts"
import { Handle, isUnambiguous, localPartOf, lowerAscii, type Role, type UserSummary } from "../../schema/User.ts"
import { Instant, InstantOnce, PreferencesColumn, readOnly, tableOf, TimestampColumn } from "../db/Tables.ts"
import { Missing } from "../DomainErrors.ts"
import { settings } from "../operations/SettingsRegistry.ts"
import type { Pseudonyms } from "./Names.ts"

/** Returns the domain in lower case and ASCII (IDNA). */
const domainOf = (email: string): string => {
  const domain = email.slice(email.lastIndexOf("@") + 1).normalize("NFC").toLowerCase()
  return domainToASCII(domain) || domain
}

/**
 * Returns the identity of an address: comparisons of addresses use this key. An ambiguous local part counts as it is
 * spelt; in others A to Z are in lower case. Keeps `+tag` and dots, which only the receiving host knows (RFC 5321,
 * 2.3.11).
 */
export const emailKey = (email: string): string => {
  const text = email.trim()
  const local = localPartOf(text)
  return `${isUnambiguous(local) ? lowerAscii(local) : local}@${domainOf(text)}`
}

/** Returns the address to mail to: mail systems differ in how they map a domain that is not in ASCII. */
export const mailboxOf = (email: string): string => `${localPartOf(email)}@${domainOf(email)}`

/** Returns the condition for accounts whose deletion was requested before the cutoff: their grace period is over. */
export const isErasureDue = (sql: SqlClient.SqlClient, cutoff: Date) => sql`deletion_requested_at <= ${cutoff}`

export const isActive = (sql: SqlClient.SqlClient) => sql`deletion_requested_at IS NULL`

export const hasAddress = (sql: SqlClient.SqlClient, email: string) => sql`email_key = ${emailKey(email)}`

/**
 * Selects the row of an account, locked until the transaction ends; other rows may refer to it meanwhile. Against
 * deadlocks, transactions on credentials lock in this order: the sign-ups of the address (`SignUps.lock`), the account,
 * then mailed links, personal access tokens, sessions.
 */
export const lockedUser = (sql: SqlClient.SqlClient, columns: string, condition: Statement.Fragment) =>
  sql`SELECT ${sql.literal(columns)} FROM users WHERE ${condition} FOR NO KEY UPDATE`

/** An account whose deletion is pending can be signed in to until it is due. */
export const canSignIn = (sql: SqlClient.SqlClient, cutoff: Date) =>
  sql`(${isActive(sql)} OR deletion_requested_at > ${cutoff})`

/** Computes the `DeletionState` of the row `u` of users, by the `cutoff` of the row `k` of keys. */
export const DELETION_STATE = `
  CASE WHEN u.deletion_requested_at IS NULL THEN 'none' WHEN u.deletion_requested_at > k.cutoff THEN 'pending'
    ELSE 'over' END AS deletion`

export const HAS_PASSWORD = `password_hash IS NOT NULL AS "hasPassword"`

/** Locks an account as `lockedUser` does. */
export const accountLock = Effect.map(
  SqlClient.SqlClient,
  (sql) => (id: UserId) => lockedUser(sql, "id", sql`id = ${id}`)
)

/** Fails alike for a user who does not exist and one whose deletion is pending. */
export const makeRequireActive = Effect.map(SqlClient.SqlClient, (sql) =>
  Effect.fnUntraced(function*(id: UserId) {
    const rows = yield* sql`SELECT FROM users WHERE id = ${id} AND ${isActive(sql)}`
    if (rows.length === 0) return yield* new Missing({ kind: "user" })
  }))

export class UserRecord extends Model.Class<UserRecord>("UserRecord")({
  id: readOnly(UserId),
  email: Schema.String,
  emailKey: Schema.String,
  emailVerifiedAt: Model.Field({ insert: Schema.Date }),
  passwordHash: Schema.NullOr(Schema.String),
  name: Schema.String,
  handle: Handle,
  avatar: Schema.NullOr(Schema.String),
  preferences: Model.Field({ select: PreferencesColumn, update: Schema.NullOr(Schema.String) }),
  deletionRequestedAt: Model.Field({
    select: Schema.NullOr(TimestampColumn),
    update: Schema.NullOr(Schema.Date)
  }),
  devicesRevokedAt: Model.Field({ update: Schema.Date }),
  createdAt: InstantOnce,
  updatedAt: Instant
}) {}

export const users = tableOf("users", UserRecord)

const { avatar, id, name } = UserRecord.select.fields

export const OwnerFields = {
  userId: id,
  userName: name,
  userHandle: Schema.String,
  userAvatar: avatar
}
const OwnerRow = Schema.Struct(OwnerFields)

export const ownerColumns = `u.id AS "userId", u.name AS "userName", u.handle AS "userHandle", u.avatar AS "userAvatar"`

export const toUserSummary = (row: typeof OwnerRow.Type, pseudonyms: Pseudonyms["Service"]): UserSummary => ({
  id: row.userId,
  name: row.userName,
  handle: row.userHandle,
  ...(row.userAvatar === null ? {} : { avatar: row.userAvatar }),
  idHash: pseudonyms.idHash(row.userId)
})

/** Users with an address in `ADMIN_EMAILS` are administrators: addresses of accounts are proven. */
export class Roles extends Context.Service<Roles, {
  readonly of: (user: { readonly email: string }) => Role
}>()("route-planning-service/Roles") {
  static readonly layer = Layer.effect(
    Roles,
    Effect.gen(function*() {
      const admins = new Set((yield* settings.ADMIN_EMAILS).map(emailKey))
      return Roles.of({
        of: ({ email }) => admins.size > 0 && admins.has(emailKey(email)) ? "admin" : "user"
      })
    })
  )
}
