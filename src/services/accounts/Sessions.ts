import {
  Cache,
  Clock,
  Context,
  DateTime,
  Duration,
  Effect,
  Exit,
  flow,
  Layer,
  Option,
  Redacted,
  Schema,
  Struct
} from "effect"
import { SecureRandom } from "effect/crypto"
import { Model } from "effect/schema"
import { SqlClient, SqlSchema } from "effect/sql"
import { type JWTPayload, jwtVerify } from "jose"
import { createHmac, createSecretKey, type KeyObject } from "node:crypto"
import type { Session } from "../../schema/Credential.ts"
import { SessionId, UserId } from "../../schema/Ids.ts"
import { SESSION_LIFETIME, SESSION_TOKEN_LIFETIME } from "../../schema/Limits.ts"
import { DEFAULT_UNITS } from "../../schema/Preferences.ts"
import { DeletionState, type SessionPrincipal } from "../../schema/Principal.ts"
import { SERVICE_NAME } from "../../schema/ServiceName.ts"
import { Role } from "../../schema/User.ts"
import { databaseDefects, ifThereIsRoom, UNCONFIRMED } from "../db/DatabaseErrors.ts"
import { gatheredRead } from "../db/GatheredReads.ts"
import { findReadable } from "../db/Lists.ts"
import { deletionCutoff } from "../db/Sweeps.ts"
import { columnsOf, Instant, readOnly, tableOf, TimestampColumn, writtenOnce } from "../db/Tables.ts"
import { Missing, SignInRefused } from "../DomainErrors.ts"
import { actedOn, Audit } from "../identity/Audit.ts"
import { accountLock, canSignIn, DELETION_STATE, emailKey, lockedUser, Roles, users } from "../identity/Users.ts"
import { derivedKey, ownText } from "../operations/Keys.ts"
import { settings } from "../operations/SettingsRegistry.ts"

/** The last use of a credential is noted once a minute. */
export const SEEN_PRECISION = Duration.minutes(1)

/** A token may be made until `SEEN_PRECISION` after the use that is noted. */
const LONGEST_UNSEEN = Duration.toMillis(Duration.sum(SESSION_TOKEN_LIFETIME, SEEN_PRECISION))

/** Returns the condition for sessions that may have a valid token. */
export const isLiveSession = (sql: SqlClient.SqlClient, now: Date) =>
  sql`revoked_at IS NULL AND expires_at > ${now} AND last_seen_at > ${new Date(now.getTime() - LONGEST_UNSEEN)}`

const ALGORITHM = "HS256"
const TYPE = "JWT"

const base64Url = (text: string) => Buffer.from(text).toString("base64url")

const HEADER = base64Url(JSON.stringify({ alg: ALGORITHM, typ: TYPE }))

interface Purpose {
  readonly audience: string
  readonly key: KeyObject
  readonly lifetime: Duration.Duration
}

/** Signs and verifies JWTs of this service for one audience with HS256, and nothing but HS256 (RFC 8725, 3.1). */
const signedTokens = ({ audience, key, lifetime }: Purpose) => ({
  /** Returns the text of the claims to sign; `issuedAt` is in seconds. */
  payloadOf: (claims: JWTPayload & { readonly sub: string }, issuedAt: number): string =>
    JSON.stringify({
      ...claims,
      iss: SERVICE_NAME,
      aud: audience,
      iat: issuedAt,
      exp: issuedAt + Duration.toSeconds(lifetime)
    }),

  /** Signs in this thread: jose and WebCrypto would give it to another thread, which costs more than the signature. */
  sign: (payload: string): string => {
    const signed = `${HEADER}.${base64Url(payload)}`
    return `${signed}.${createHmac("sha256", key).update(signed).digest("base64url")}`
  },

  verify: Effect.fnUntraced(function*(token: string) {
    const currentDate = yield* DateTime.nowAsDate
    const { payload } = yield* Effect.tryPromise(() =>
      jwtVerify<{ readonly exp: number }>(token, key, {
        algorithms: [ALGORITHM],
        issuer: SERVICE_NAME,
        audience,
        typ: TYPE,
        requiredClaims: ["exp", "iat", "sub"],
        currentDate
      })
    )
    return payload
  })
})

/** `role` and `units` are hints: rights are read from the database. Tokens of older processes may lack `units`. */
const Claims = Schema.Struct({
  sub: Schema.FiniteFromString.pipe(Schema.decodeTo(UserId)),
  sid: SessionId,
  role: Role,
  units: Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed(DEFAULT_UNITS)))
})
type Claims = typeof Claims.Type

const decodeClaims = Schema.decodeUnknownOption(Claims)

/** `expiresAt` is the `exp` of the token, in seconds. */
interface VerifiedToken {
  readonly claims: Claims
  readonly expiresAt: number
}

/** Known tokens are not verified again. Each request reads from the database whether its session lives. */
const MAX_KNOWN_TOKENS = 10_000

/** A session's JWT is signed with `JWT_SECRET`. */
export class SessionTokens extends Context.Service<SessionTokens, {
  readonly sign: (claims: Claims) => Effect.Effect<string>
  /** Returns the claims of a token that this service signed and that has not expired, else none. */
  readonly verify: (token: string) => Effect.Effect<Option.Option<Claims>>
}>()("route-planning-service/SessionTokens") {
  static readonly layer = Layer.effect(
    SessionTokens,
    Effect.gen(function*() {
      const tokens = signedTokens({
        audience: "route-planning-service/session",
        key: createSecretKey(Redacted.value(yield* settings.JWT_SECRET), "utf8"),
        lifetime: SESSION_TOKEN_LIFETIME
      })

      const verified = yield* Cache.makeWith(
        (token: string) =>
          Effect.gen(function*() {
            const payload = yield* tokens.verify(token)
            const claims = yield* Effect.fromOption(decodeClaims(payload))
            return { claims, expiresAt: payload.exp } satisfies VerifiedToken
          }),
        {
          capacity: MAX_KNOWN_TOKENS,
          timeToLive: (exit) => Exit.isSuccess(exit) ? SESSION_TOKEN_LIFETIME : Duration.zero
        }
      )

      return SessionTokens.of({
        sign: Effect.fnUntraced(function*(claims) {
          const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
          const expiresAt = now + Duration.toSeconds(SESSION_TOKEN_LIFETIME)
          const { role, sid, sub, units } = claims
          const encoded: typeof Claims.Encoded = { sub: String(sub), sid, role, units }
          const token = tokens.sign(tokens.payloadOf(encoded, now))
          yield* Cache.set(verified, token, { claims, expiresAt })
          return token
        }),
        verify: Effect.fnUntraced(function*(token) {
          const known = yield* Effect.option(Cache.get(verified, ownText(token)))
          const now = yield* Clock.currentTimeMillis
          return known.pipe(
            Option.filter(({ expiresAt }) => now < expiresAt * 1000),
            Option.map(({ claims }) => claims)
          )
        })
      })
    })
  )
}

const MAX_LIVE_SESSIONS = 100

class SessionRecord extends Model.Class<SessionRecord>("SessionRecord")({
  id: SessionId,
  userId: writtenOnce(UserId),
  createdAt: Instant,
  lastSeenAt: Instant,
  expiresAt: Instant,
  userAgent: Schema.NullOr(Schema.String),
  ipAddress: Schema.NullOr(Schema.String),
  revokedAt: readOnly(Schema.NullOr(TimestampColumn))
}) {}

const sessions = tableOf("sessions", SessionRecord)

const SessionRow = SessionRecord.select.mapFields(Struct.omit(["userId", "revokedAt"]))

const ListedRow = Schema.Struct({ ...SessionRow.fields, current: Schema.Boolean })

export interface Device {
  readonly userAgent: string | undefined
  readonly ipAddress: string | undefined
  readonly network?: string | undefined
  /** The token is that of the device's session so far. */
  readonly token?: string | undefined
}

interface LiveSession {
  readonly principal: SessionPrincipal
  readonly freshToken: string
}

/** Every session has a row, so that a revoked one ends with its next request. */
export class Sessions extends Context.Service<Sessions, {
  /**
   * Returns the token; ends the user's session so far on the device (OWASP ASVS 7.2.4), and the least recently used ones
   * over the limit. Fails with `SignInRefused` after the account's grace period.
   */
  readonly start: (userId: UserId, device: Device) => Effect.Effect<string, SignInRefused>
  /**
   * Finds a session, which notes that it was used from the address; none if forged, expired or revoked. The caller
   * refuses accounts past their grace period.
   */
  readonly authenticate: (token: string, ipAddress: string | null) => Effect.Effect<Option.Option<LiveSession>>
  /** Finds a session that was authenticated before, also if its token has expired since; none if expired or revoked. */
  readonly again: (session: SessionPrincipal) => Effect.Effect<Option.Option<SessionPrincipal>>
  readonly end: (token: string) => Effect.Effect<void>
  readonly list: (userId: UserId, current: SessionId) => Effect.Effect<ReadonlyArray<Session>>
  /** Ends one session of a user: any later request fails, on every replica. */
  readonly revoke: (userId: UserId, id: SessionId) => Effect.Effect<void, Missing>
  /** Ends all sessions of a user except `keep`, and revokes devices. The audit names `by` if a session ended. */
  readonly revokeAll: (
    userId: UserId,
    options?: { readonly keep?: SessionId; readonly by?: UserId }
  ) => Effect.Effect<void>
}>()("route-planning-service/Sessions") {
  static readonly layer = Layer.effect(
    Sessions,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom
      const tokens = yield* SessionTokens
      const roles = yield* Roles
      const audit = yield* Audit
      const lockAccount = yield* accountLock

      const ended = (now: Date) => sql`UPDATE sessions SET revoked_at = ${now}, user_agent = NULL, ip_address = NULL`

      const findLive = gatheredRead(sql, {
        key: { id: "uuid", user_id: "bigint", now: "timestamptz", cutoff: "timestamptz" },
        Result: LiveRow,
        select: sql`
          SELECT u.id AS "userId", u.email, u.preferences ->> 'units' AS units, s.last_seen_at AS "lastSeenAt",
            ${sql.literal(DELETION_STATE)}
          FROM sessions s JOIN users u ON u.id = s.user_id
          WHERE s.id = k.id AND s.user_id = k.user_id AND s.revoked_at IS NULL AND s.expires_at > k.now`
      })

      const findAll = findReadable({
        table: "sessions",
        Request: Schema.Struct({ userId: UserId, current: SessionId, now: Schema.Date }),
        Result: ListedRow,
        execute: ({ current, now, userId }) =>
          sql`
            SELECT ${sql.literal(columnsOf(SessionRow))}, id = ${current}::uuid AS current FROM sessions
            WHERE user_id = ${userId} AND ${isLiveSession(sql, now)} ORDER BY created_at DESC, id DESC`
      })

      const lockUser = SqlSchema.findOneOption({
        Request: Schema.Struct({ userId: UserId, cutoff: Schema.Date }),
        Result: UserRow,
        execute: ({ cutoff, userId }) =>
          lockedUser(
            sql,
            `id AS "userId", email, preferences ->> 'units' AS units`,
            sql`id = ${userId} AND ${canSignIn(sql, cutoff)}`
          )
      })

      // Sessions without a valid token are the first to end.
      const revokeLeastUsed = (userId: UserId, now: Date) =>
        sql`
          ${ended(now)} WHERE id IN (
            SELECT id FROM sessions WHERE user_id = ${userId} AND revoked_at IS NULL AND expires_at > ${now}
            ORDER BY last_seen_at DESC, created_at DESC OFFSET ${MAX_LIVE_SESSIONS}
          )`

      const sign = (row: typeof UserRow.Type, sid: SessionId) =>
        tokens.sign({
          sub: row.userId,
          sid,
          role: roles.of(row),
          units: row.units ?? DEFAULT_UNITS
        })

      const principalOf = (row: typeof LiveRow.Type, sessionId: SessionId): SessionPrincipal => ({
        kind: "session",
        userId: row.userId,
        role: roles.of(row),
        sessionId,
        deletion: row.deletion
      })

      const end = Effect.fnUntraced(function*(token: string, userId?: UserId) {
        const claims = yield* tokens.verify(token)
        if (Option.isNone(claims)) return
        const now = yield* DateTime.nowAsDate
        yield* sql`
          ${ended(now)}
          WHERE id = ${claims.value.sid} AND user_id = ${userId ?? claims.value.sub} AND revoked_at IS NULL`
      })

      const insert = Effect.fnUntraced(function*(userId: UserId, device: Device) {
        const user = yield* lockUser({ userId, cutoff: yield* deletionCutoff })
        if (Option.isNone(user)) return yield* new SignInRefused()
        const now = yield* DateTime.nowAsDate
        const id = SessionId.make(yield* random.uuidV4())
        yield* sessions.insert(sql, {
          id,
          userId,
          userAgent: device.userAgent?.slice(0, 512) ?? null,
          ipAddress: device.ipAddress ?? null,
          createdAt: now,
          lastSeenAt: now,
          expiresAt: new Date(now.getTime() + Duration.toMillis(SESSION_LIFETIME))
        })
        if (device.token !== undefined) yield* end(device.token, userId)
        yield* revokeLeastUsed(userId, now)
        yield* audit.record("sign_in.succeeded", { userId })
        return yield* sign(user.value, id)
      })

      return Sessions.of({
        start: (userId, device) => insert(userId, device).pipe(sql.withTransaction, databaseDefects),

        authenticate: Effect.fnUntraced(function*(token, ipAddress) {
          const claims = yield* tokens.verify(token)
          if (Option.isNone(claims)) return Option.none()
          const { sid: sessionId, sub: userId } = claims.value
          const now = yield* DateTime.nowAsDate
          const found = yield* findLive({ id: sessionId, user_id: userId, now, cutoff: yield* deletionCutoff })
          if (Option.isNone(found)) return Option.none()
          const row = found.value
          if (now.getTime() - Date.parse(row.lastSeenAt) >= Duration.toMillis(SEEN_PRECISION)) {
            yield* ifThereIsRoom(sql`
              UPDATE sessions SET last_seen_at = ${now}, ip_address = ${ipAddress} WHERE id = (
                SELECT id FROM sessions WHERE id = ${sessionId} AND last_seen_at < ${now} FOR NO KEY UPDATE SKIP LOCKED
              ) AND revoked_at IS NULL AND ${sql.literal(UNCONFIRMED)}`)
          }
          return Option.some({ principal: principalOf(row, sessionId), freshToken: yield* sign(row, sessionId) })
        }, Effect.orDie),

        again: Effect.fnUntraced(function*({ sessionId, userId }) {
          const now = yield* DateTime.nowAsDate
          const found = yield* findLive({ id: sessionId, user_id: userId, now, cutoff: yield* deletionCutoff })
          return Option.map(found, (row) => principalOf(row, sessionId))
        }, Effect.orDie),

        end: flow(end, Effect.orDie),

        list: Effect.fnUntraced(function*(userId, current) {
          return yield* findAll({ userId, current, now: yield* DateTime.nowAsDate })
        }, Effect.orDie),

        revoke: Effect.fnUntraced(
          function*(userId, id) {
            const now = yield* DateTime.nowAsDate
            yield* lockAccount(userId)
            const rows = yield* sql`
              ${ended(now)}
              WHERE id = ${id} AND user_id = ${userId} AND revoked_at IS NULL AND expires_at > ${now} RETURNING id`
            if (rows.length === 0) return yield* new Missing({ kind: "session" })
            yield* audit.record("session.revoked", { userId })
          },
          sql.withTransaction,
          databaseDefects
        ),

        revokeAll: Effect.fnUntraced(
          function*(userId, { by = userId, keep } = {}) {
            const now = yield* DateTime.nowAsDate
            // The user is locked before the sessions, in the order of `accountLock`.
            yield* sql`UPDATE users SET ${users.set(sql, { devicesRevokedAt: now })} WHERE id = ${userId}`
            const rows = yield* sql`
              ${ended(now)}
              WHERE user_id = ${userId} AND revoked_at IS NULL AND id IS DISTINCT FROM ${keep ?? null}::uuid
              RETURNING id`
            if (rows.length > 0) yield* audit.record("sessions.revoked", actedOn(userId, by))
          },
          sql.withTransaction,
          Effect.orDie
        )
      })
    })
  )
}

const UserRow = Schema.Struct({
  userId: UserId,
  email: Schema.String,
  units: Schema.NullOr(Schema.String)
})

const LiveRow = Schema.Struct({
  ...UserRow.fields,
  deletion: DeletionState,
  lastSeenAt: TimestampColumn
})

export const DEVICE_LIFETIME = Duration.days(180)

/** `iat` is in seconds with decimals, because it is compared with the time of revocation. */
const DeviceClaims = Schema.Struct({
  sub: Schema.FiniteFromString.pipe(Schema.decodeTo(UserId)),
  jti: Schema.String,
  iat: Schema.Finite
})

const decodeDevice = Schema.decodeUnknownOption(DeviceClaims)

/**
 * A device that has signed in has its own limit for wrong passwords, so that attackers cannot lock the owner out
 * (OWASP, Slow Down Online Guessing Attacks with Device Cookies). Its token proves nothing else.
 */
export class Devices extends Context.Service<Devices, {
  readonly remember: (userId: UserId) => Effect.Effect<string>
  /** Returns the device's id; none for a token that is forged, expired, revoked, or of another address. */
  readonly recognise: (token: string, email: string) => Effect.Effect<Option.Option<string>>
}>()("route-planning-service/Devices") {
  static readonly layer = Layer.effect(
    Devices,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom
      const tokens = signedTokens({
        audience: "route-planning-service/device",
        key: yield* derivedKey("device"),
        lifetime: DEVICE_LIFETIME
      })

      return Devices.of({
        remember: Effect.fnUntraced(function*(userId) {
          const now = (yield* Clock.currentTimeMillis) / 1000
          const id = yield* random.uuidV4()
          return tokens.sign(tokens.payloadOf({ sub: String(userId), jti: id }, now))
        }),

        recognise: Effect.fnUntraced(function*(token, email) {
          const claims = yield* tokens.verify(token).pipe(
            Effect.map(decodeDevice),
            Effect.orElseSucceed(() => Option.none())
          )
          if (Option.isNone(claims)) return Option.none()
          const { iat, jti, sub } = claims.value
          const rows = yield* sql`
            SELECT FROM users WHERE id = ${sub} AND email_key = ${emailKey(email)}
              AND (devices_revoked_at IS NULL OR devices_revoked_at <= ${new Date(Math.round(iat * 1000))})`
          return rows.length > 0 ? Option.some(jti) : Option.none()
        }, Effect.orDie)
      })
    })
  )
}
