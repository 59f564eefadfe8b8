import { Cache, Clock, Context, DateTime, Duration, Effect, Layer, Option, Redacted, Schema, Struct } from "effect"
import { SecureRandom } from "effect/crypto"
import { Model } from "effect/schema"
import { SqlClient, SqlSchema, type Statement } from "effect/sql"
import { createHmac, createSecretKey } from "node:crypto"
import { crc32 } from "node:zlib"
import {
  type Credential,
  CREDENTIAL_LIMITS,
  daysOf,
  MAX_TOKEN_DAYS,
  type MintedToken,
  type NewToken,
  type PersonalAccessToken,
  Scope
} from "../../schema/Credential.ts"
import { SessionId, TokenId, UserId } from "../../schema/Ids.ts"
import { MAX_TOKENS } from "../../schema/Limits.ts"
import { DeletionState, type Principal, type TokenPrincipal } from "../../schema/Principal.ts"
import { inOneLine } from "../../schema/Text.ts"
import { databaseDefects, ifThereIsRoom, UNCONFIRMED } from "../db/DatabaseErrors.ts"
import { gatheredRead } from "../db/GatheredReads.ts"
import { countRows, findReadable } from "../db/Lists.ts"
import { deletionCutoffAt } from "../db/Sweeps.ts"
import { columnsOf, Instant, NullableInstant, readOnly, tableOf, TimestampColumn, writtenOnce } from "../db/Tables.ts"
import { InvalidInput, Missing, type Overloaded, TokenRefused, TooManyTokens, WrongPassword } from "../DomainErrors.ts"
import { Audit } from "../identity/Audit.ts"
import { accountLock, DELETION_STATE, UserRecord } from "../identity/Users.ts"
import type { Mail } from "../mail/Mailers.ts"
import { Outbox } from "../mail/Outbox.ts"
import { ownText } from "../operations/Keys.ts"
import { settings } from "../operations/SettingsRegistry.ts"
import { isUnexpired } from "../sharing/Visibility.ts"
import { configuredSite } from "../texts/Site.ts"
import type { Texts } from "../texts/Texts.ts"
import { Passwords } from "./Passwords.ts"
import { SEEN_PRECISION } from "./Sessions.ts"

const Row = Schema.Struct({
  name: Schema.NullOr(Schema.String),
  scope: Scope,
  expiresAt: Schema.NullOr(TimestampColumn),
  userId: UserId,
  handle: Schema.String
})

const tokenRevoked = () => Effect.fail(new TokenRefused({ reason: "token_revoked" }))

export class CallerCredential extends Context.Service<CallerCredential, {
  readonly describe: (principal: Principal) => Effect.Effect<Credential, TokenRefused>
}>()("route-planning-service/CallerCredential") {
  static readonly layer = Layer.effect(
    CallerCredential,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const limits = (yield* settings.RATE_LIMITS_ENABLED) ? CREDENTIAL_LIMITS : []
      const owner = sql.literal("u.id AS \"userId\", u.handle")

      const findToken = SqlSchema.findOne({
        Request: TokenId,
        Result: Row,
        execute: (id) =>
          sql`
            SELECT t.name, t.scope, t.expires_at AS "expiresAt", ${owner}
            FROM personal_access_tokens t JOIN users u ON u.id = t.user_id WHERE t.id = ${id}`
      })

      const findSession = SqlSchema.findOne({
        Request: SessionId,
        Result: Row,
        execute: (id) =>
          sql`
            SELECT NULL AS name, 'write' AS scope, s.expires_at AS "expiresAt", ${owner}
            FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.id = ${id}`
      })

      return CallerCredential.of({
        describe: Effect.fnUntraced(function*(principal) {
          const row = principal.kind === "token"
            ? yield* Effect.catchTag(findToken(principal.tokenId), "NoSuchElementError", tokenRevoked)
            : yield* findSession(principal.sessionId)
          const { expiresAt, handle, name, scope, userId } = row
          const credential: Credential = {
            kind: principal.kind,
            scope,
            name,
            expiresAt,
            user: { id: userId, handle },
            limits
          }
          return credential
        }, databaseDefects)
      })
    })
  )
}

class TokenRecord extends Model.Class<TokenRecord>("TokenRecord")({
  id: readOnly(TokenId),
  userId: writtenOnce(UserId),
  name: Schema.String,
  scope: Scope,
  tokenHash: Schema.String,
  hint: Schema.String,
  createdAt: Instant,
  expiresAt: NullableInstant,
  lastUsedAt: readOnly(Schema.NullOr(TimestampColumn))
}) {}

const personalAccessTokens = tableOf("personal_access_tokens", TokenRecord)

const TokenRow = TokenRecord.select.mapFields(Struct.omit(["userId", "tokenHash"]))

const FoundRow = TokenRecord.select.mapFields(Struct.pick(["id", "userId", "scope", "expiresAt"])).pipe(
  Schema.fieldsAssign({ isStale: Schema.Boolean, isExpired: Schema.Boolean, deletion: DeletionState })
)

const PREFIX = "service_pat_"
const RANDOM_LENGTH = 40
const CHECKSUM_LENGTH = 6
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`)

const toBase62 = (value: number): string =>
  value < 62 ? BASE62.charAt(value) : toBase62(Math.floor(value / 62)) + BASE62.charAt(value % 62)

const withChecksum = (text: string) => text + toBase62(crc32(text)).padStart(CHECKSUM_LENGTH, "0")

/** Nobody can cancel a deletion whose grace period is over. */
const REFUSED_WHILE = { pending: "account_pending_deletion", over: "token_revoked" } as const

export const looksLikeToken = (credential: string): boolean => credential.startsWith(PREFIX)

/** The checksum rejects typos and made-up tokens without a query. */
const isWellFormed = (token: string) => SHAPE.test(token) && withChecksum(token.slice(0, -CHECKSUM_LENGTH)) === token

/** Digests, which take 9 us each, are kept. Each request reads from the database whether its token lives. */
const MAX_KNOWN_DIGESTS = 10_000

/** Tokens have a CRC-32, so that scanners find leaked ones, and are stored as HMAC-SHA-256 under `PAT_PEPPER`. */
export class PersonalAccessTokens extends Context.Service<PersonalAccessTokens, {
  /** Mails the owner. A token without an end requires the current password. */
  readonly mint: (
    owner: UserId,
    token: NewToken
  ) => Effect.Effect<MintedToken, InvalidInput | Overloaded | TooManyTokens | WrongPassword>
  readonly list: (owner: UserId) => Effect.Effect<ReadonlyArray<PersonalAccessToken>>
  readonly revoke: (owner: UserId, id: TokenId) => Effect.Effect<void, Missing>
  readonly revokeAll: (owner: UserId) => Effect.Effect<void>
  /** Finds token and account in one query. Refuses the token while the deletion of its account is pending. */
  readonly authenticate: (token: string) => Effect.Effect<TokenPrincipal, TokenRefused>
}>()("route-planning-service/PersonalAccessTokens") {
  static readonly layer = Layer.effect(
    PersonalAccessTokens,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom
      const audit = yield* Audit
      const outbox = yield* Outbox
      const { texts } = yield* configuredSite
      const passwords = yield* Passwords
      const lockAccount = yield* accountLock
      const pepper = createSecretKey(Redacted.value(yield* settings.PAT_PEPPER), "utf8")

      const digest = (token: string) => createHmac("sha256", pepper).update(token).digest("base64url")
      const digests = yield* Cache.make({
        capacity: MAX_KNOWN_DIGESTS,
        lookup: (token: string) => Effect.sync(() => digest(token))
      })

      const generate = Effect.forEach(
        Array.from({ length: RANDOM_LENGTH }),
        () => random.intBetween(0, BASE62.length, { halfOpen: true })
      ).pipe(Effect.map((digits) => withChecksum(PREFIX + digits.map((digit) => BASE62.charAt(digit)).join(""))))

      const columns = sql.literal(columnsOf(TokenRow))

      const findOwn = findReadable({
        table: "personal_access_tokens",
        Request: Schema.Struct({ owner: UserId, now: Schema.Date }),
        Result: TokenRow,
        execute: ({ now, owner }) =>
          sql`
            SELECT ${columns} FROM personal_access_tokens
            WHERE user_id = ${owner} AND ${isUnexpired(sql, now)} ORDER BY id DESC`
      })

      const insert = SqlSchema.findOne({
        Request: Schema.toType(TokenRecord.insert),
        Result: TokenRow,
        execute: (values) => sql`${personalAccessTokens.insert(sql, values)} RETURNING ${columns}`
      })

      const findOwner = SqlSchema.findOne({
        Request: UserId,
        Result: OwnerRow,
        execute: (id) => sql`SELECT ${sql.literal(columnsOf(OwnerRow))} FROM users WHERE id = ${id}`
      })

      const provePassword = Effect.fnUntraced(function*(owner: UserId, attempt: Redacted.Redacted | null | undefined) {
        const { passwordHash } = yield* findOwner(owner)
        if (passwordHash === null) {
          return yield* InvalidInput.at(
            "expiresInDays",
            `Expected 1 to ${MAX_TOKEN_DAYS}, since the account has no password: give an end, or set a password first`
          )
        }
        if (attempt === null || attempt === undefined) {
          return yield* InvalidInput.at("currentPassword", "Expected the current password, for a token without an end")
        }
        if (!(yield* passwords.verify(attempt, passwordHash))) {
          yield* audit.record("token.mint_failed", { userId: owner })
          return yield* new WrongPassword()
        }
        return passwordHash
      })

      const requireRoom = Effect.fnUntraced(function*(owner: UserId, now: Date) {
        const live = yield* countRows(
          sql,
          sql`personal_access_tokens WHERE user_id = ${owner} AND ${isUnexpired(sql, now)}`
        )
        if (live >= MAX_TOKENS) {
          return yield* new TooManyTokens({ limit: MAX_TOKENS })
        }
      })

      /** `proven` is the digest of the password that the caller verified. */
      const insertToken = Effect.fnUntraced(function*(owner: UserId, request: NewToken, proven: string | undefined) {
        const now = yield* DateTime.nowAsDate
        yield* lockAccount(owner)
        const { email, passwordHash } = yield* findOwner(owner)
        // The password was changed since it was verified.
        if (proven !== undefined && proven !== passwordHash) return yield* new WrongPassword()
        yield* requireRoom(owner, now)
        const token = yield* generate
        const days = daysOf(request)
        const row = yield* insert({
          userId: owner,
          name: request.name,
          scope: request.scope,
          tokenHash: digest(token),
          hint: token.slice(-4),
          createdAt: now,
          expiresAt: days === null ? null : new Date(now.getTime() + Duration.toMillis(Duration.days(days)))
        })
        yield* audit.record("token.minted", { userId: owner })
        yield* outbox.put(owner, mintedMail(texts, email, row))
        return { ...row, token }
      }, sql.withTransaction)

      const findByHash = gatheredRead(sql, {
        key: { hash: "text", now: "timestamptz", stale: "timestamptz", cutoff: "timestamptz" },
        Result: FoundRow,
        select: sql`
          SELECT t.id, t.user_id AS "userId", t.scope, t.expires_at AS "expiresAt",
            t.last_used_at IS NULL OR t.last_used_at < k.stale AS "isStale",
            coalesce(t.expires_at <= k.now, false) AS "isExpired",
            ${sql.literal(DELETION_STATE)}
          FROM personal_access_tokens t JOIN users u ON u.id = t.user_id WHERE t.token_hash = k.hash`
      })

      const isRevoked = Effect.fnUntraced(function*(hash: string) {
        return (yield* sql`SELECT FROM revoked_tokens WHERE token_hash = ${hash}`).length > 0
      })

      const noteUse = (id: TokenId, now: Date, stale: Date) =>
        ifThereIsRoom(sql`
          UPDATE personal_access_tokens SET last_used_at = ${now} WHERE id = (
            SELECT id FROM personal_access_tokens
            WHERE id = ${id} AND (last_used_at IS NULL OR last_used_at < ${stale}) FOR NO KEY UPDATE SKIP LOCKED
          ) AND ${sql.literal(UNCONFIRMED)}`)

      const revokeLive = Effect.fnUntraced(function*(owner: UserId, which: Statement.Fragment) {
        const now = yield* DateTime.nowAsDate
        const revoked = yield* sql`
          WITH ended AS (
            DELETE FROM personal_access_tokens
            WHERE user_id = ${owner} AND ${which} AND ${isUnexpired(sql, now)}
            RETURNING token_hash, user_id
          )
          INSERT INTO revoked_tokens SELECT token_hash, user_id, ${now}::timestamptz FROM ended RETURNING user_id`
        yield* Effect.forEach(revoked, () => audit.record("token.revoked", { userId: owner }), { discard: true })
        return revoked.length
      })

      return PersonalAccessTokens.of({
        mint: Effect.fnUntraced(function*(owner, request) {
          const proven = daysOf(request) === null ? yield* provePassword(owner, request.currentPassword) : undefined
          return yield* insertToken(owner, request, proven)
        }, databaseDefects),

        list: Effect.fnUntraced(function*(owner) {
          return yield* findOwn({ owner, now: yield* DateTime.nowAsDate })
        }, Effect.orDie),

        revoke: Effect.fnUntraced(
          function*(owner, id) {
            yield* lockAccount(owner)
            const revoked = yield* revokeLive(owner, sql`id = ${id}`)
            if (revoked === 0) return yield* new Missing({ kind: "token" })
          },
          sql.withTransaction,
          databaseDefects
        ),

        revokeAll: Effect.fnUntraced(
          function*(owner) {
            yield* lockAccount(owner)
            yield* revokeLive(owner, sql`true`)
          },
          sql.withTransaction,
          databaseDefects
        ),

        authenticate: Effect.fnUntraced(function*(token) {
          if (!isWellFormed(token)) return yield* new TokenRefused({ reason: "token_malformed" })
          const millis = yield* Clock.currentTimeMillis
          const now = new Date(millis)
          const stale = new Date(millis - Duration.toMillis(SEEN_PRECISION))
          const hash = yield* Cache.get(digests, ownText(token))
          const found = yield* findByHash({ hash, now, stale, cutoff: deletionCutoffAt(millis) })
          if (Option.isNone(found)) {
            return yield* new TokenRefused({
              reason: (yield* isRevoked(hash)) ? "token_revoked" : "token_unknown"
            })
          }
          const { deletion, expiresAt, id, isExpired, isStale, scope, userId } = found.value
          if (isExpired) return yield* new TokenRefused({ reason: "token_expired" })
          if (deletion !== "none") return yield* new TokenRefused({ reason: REFUSED_WHILE[deletion] })
          if (isStale) yield* noteUse(id, now, stale)
          const principal: TokenPrincipal = { kind: "token", userId, tokenId: id, scope, expiresAt }
          return principal
        }, databaseDefects)
      })
    })
  )
}

const OwnerRow = UserRecord.select.mapFields(Struct.pick(["email", "passwordHash"]))

const mintedMail = ({ mails: { minted } }: Texts, to: string, token: typeof TokenRow.Type): Mail => ({
  to,
  subject: minted.subject,
  text: minted.text({ ...token, name: inOneLine(token.name) }),
  ifNotYou: minted.ifNotYou
})
