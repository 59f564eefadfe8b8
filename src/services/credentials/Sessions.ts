import { Context, DateTime, Duration, Effect, Layer, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient, SqlSchema } from "effect/sql"
import { TimestampColumn, UserIdColumn } from "../../schema/Columns.ts"
import { NotFound, Unauthorized } from "../../schema/Errors.ts"
import { SessionId, UserId } from "../../schema/Ids.ts"
import { SESSION_LIFETIME } from "../../schema/Limits.ts"
import { DEFAULT_UNITS } from "../../schema/Preferences.ts"
import type { Session } from "../../schema/Session.ts"
import { DeletionState, type SessionPrincipal } from "../../schema/User.ts"
import { actedOn, Audit } from "../audit/Audit.ts"
import { accountLock } from "../identity/AccountLock.ts"
import { Roles } from "../identity/Roles.ts"
import { deletionCutoff } from "../retention/DeletionCutoff.ts"
import { databaseDefects } from "../sql/DatabaseDefects.ts"
import { findReadable } from "../sql/ReadableRows.ts"
import { ifThereIsRoom } from "../sql/ServerState.ts"
import { SessionTokens } from "./SessionTokens.ts"

const MAX_LIVE_SESSIONS = 100

/** `last_seen_at` is for people who look at a list: a write a minute is precise enough. */
const LAST_SEEN_PRECISION = 60 * 1000

/** What a browser or script told of itself when it signed in, for the list of sessions. */
export interface Device {
  readonly userAgent: string | undefined
  readonly ipAddress: string | undefined
}

/** A request's session, with the token that its answer carries back. */
export interface LiveSession {
  readonly principal: SessionPrincipal
  readonly freshToken: string
}

/** Sign-ins that last. A row stands behind each token, so a revoked session ends with its next request. */
export class Sessions extends Context.Service<Sessions, {
  /**
   * Begins a session and gives its token. The oldest session over 100 ends. `Unauthorized` for an account whose 30 days
   * are over, even before a sweep has been there: whatever way in, it is nobody's.
   */
  readonly start: (userId: UserId, device: Device) => Effect.Effect<string, Unauthorized>
  /**
   * The live session that a token stands for, or none: forged, expired, revoked, over 30 days old. One of an account
   * whose deletion is over is still told, for the caller to refuse.
   */
  readonly authenticate: (token: string) => Effect.Effect<Option.Option<LiveSession>>
  /** Ends the session that a token stands for, if it is live. */
  readonly end: (token: string) => Effect.Effect<void>
  /** A user's live sessions, the newest sign-in first. */
  readonly list: (userId: UserId, current: SessionId) => Effect.Effect<ReadonlyArray<Session>>
  /** Ends one session of a user: no request that begins later passes, on any replica. */
  readonly revoke: (userId: UserId, id: SessionId) => Effect.Effect<void, NotFound>
  /**
   * Ends all sessions of a user but the one to be kept, and forgets the devices; leaves an entry by whoever does it, where
   * there were any sessions.
   */
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

      const findLive = SqlSchema.findOneOption({
        Request: Schema.Struct({ id: SessionId, userId: UserId, now: Schema.Date, began: Schema.Date }),
        Result: LiveRow,
        execute: ({ began, id, now, userId }) =>
          sql`
            SELECT u.id AS user_id, u.email, u.email_verified_at IS NOT NULL AS is_email_verified,
              u.preferences ->> 'units' AS units, s.last_seen_at,
              CASE WHEN u.deletion_requested_at IS NULL THEN 'none'
                WHEN u.deletion_requested_at > ${began} THEN 'pending' ELSE 'over' END AS deletion
            FROM sessions s JOIN users u ON u.id = s.user_id
            WHERE s.id = ${id} AND s.user_id = ${userId} AND s.revoked_at IS NULL AND s.expires_at > ${now}`
      })

      const findAll = findReadable({
        table: "sessions",
        Request: Schema.Struct({ userId: UserId, now: Schema.Date }),
        Result: SessionRow,
        execute: ({ now, userId }) =>
          sql`
            SELECT id, created_at, last_seen_at, expires_at, user_agent, ip_address FROM sessions
            WHERE user_id = ${userId} AND revoked_at IS NULL AND expires_at > ${now} ORDER BY created_at DESC, id DESC`
      })

      const lockUser = SqlSchema.findOneOption({
        Request: Schema.Struct({ userId: UserId, began: Schema.Date }),
        Result: UserRow,
        execute: ({ began, userId }) =>
          sql`
            SELECT id AS user_id, email, email_verified_at IS NOT NULL AS is_email_verified,
              preferences ->> 'units' AS units
            FROM users WHERE id = ${userId} AND (deletion_requested_at IS NULL OR deletion_requested_at > ${began})
            FOR NO KEY UPDATE`
      })

      const revokeOldest = (userId: UserId, now: Date) =>
        sql`
          UPDATE sessions SET revoked_at = ${now} WHERE id IN (
            SELECT id FROM sessions WHERE user_id = ${userId} AND revoked_at IS NULL AND expires_at > ${now}
            ORDER BY created_at DESC, id DESC OFFSET ${MAX_LIVE_SESSIONS}
          )`

      const sign = (row: typeof UserRow.Type, sid: SessionId) =>
        tokens.sign({
          sub: row.user_id,
          sid,
          role: roles.of({ email: row.email, isEmailVerified: row.is_email_verified }),
          units: row.units ?? DEFAULT_UNITS
        })

      const insert = Effect.fnUntraced(function*(userId: UserId, device: Device) {
        const user = yield* lockUser({ userId, began: yield* deletionCutoff })
        if (Option.isNone(user)) return yield* new Unauthorized({ message: "The sign-in was not accepted" })
        const now = yield* DateTime.nowAsDate
        const id = SessionId.make(yield* random.uuidV4())
        yield* sql`INSERT INTO sessions ${
          sql.insert({
            id,
            user_id: userId,
            user_agent: device.userAgent?.slice(0, 512) ?? null,
            ip_address: device.ipAddress ?? null,
            created_at: now,
            last_seen_at: now,
            expires_at: new Date(now.getTime() + Duration.toMillis(SESSION_LIFETIME))
          })
        }`
        yield* revokeOldest(userId, now)
        yield* audit.record("sign_in.succeeded", { userId })
        return yield* sign(user.value, id)
      })

      return Sessions.of({
        start: Effect.fn("Sessions.start")((userId, device) =>
          insert(userId, device).pipe(
            sql.withTransaction,
            databaseDefects
          )
        ),

        authenticate: Effect.fn("Sessions.authenticate")(function*(token) {
          const claims = yield* tokens.verify(token)
          if (Option.isNone(claims)) return Option.none()
          const { sid: sessionId, sub: userId } = claims.value
          const now = yield* DateTime.nowAsDate
          const found = yield* findLive({ id: sessionId, userId, now, began: yield* deletionCutoff })
          if (Option.isNone(found)) return Option.none()
          const row = found.value
          if (now.getTime() - row.last_seen_at.getTime() >= LAST_SEEN_PRECISION) {
            yield* ifThereIsRoom(
              sql`UPDATE sessions SET last_seen_at = ${now} WHERE id = ${sessionId} AND last_seen_at < ${now}`
            )
          }
          const role = roles.of({ email: row.email, isEmailVerified: row.is_email_verified })
          const principal: SessionPrincipal = {
            kind: "session",
            userId,
            role,
            sessionId,
            deletion: row.deletion
          }
          return Option.some({ principal, freshToken: yield* sign(row, sessionId) })
        }, Effect.orDie),

        end: Effect.fn("Sessions.end")(function*(token) {
          const claims = yield* tokens.verify(token)
          if (Option.isNone(claims)) return
          const now = yield* DateTime.nowAsDate
          yield* sql`
            UPDATE sessions SET revoked_at = ${now}
            WHERE id = ${claims.value.sid} AND user_id = ${claims.value.sub} AND revoked_at IS NULL`
        }, Effect.orDie),

        list: Effect.fn("Sessions.list")(function*(userId, current) {
          const rows = yield* findAll({ userId, now: yield* DateTime.nowAsDate })
          return rows.map((row) => toSession(row, current))
        }, Effect.orDie),

        revoke: Effect.fn("Sessions.revoke")(
          function*(userId, id) {
            const now = yield* DateTime.nowAsDate
            yield* lockAccount(userId)
            const rows = yield* sql`
              UPDATE sessions SET revoked_at = ${now}
              WHERE id = ${id} AND user_id = ${userId} AND revoked_at IS NULL AND expires_at > ${now} RETURNING id`
            if (rows.length === 0) return yield* new NotFound({ message: "No such session" })
            yield* audit.record("session.revoked", { userId })
          },
          sql.withTransaction,
          databaseDefects
        ),

        revokeAll: Effect.fn("Sessions.revokeAll")(
          function*(userId, { by = userId, keep } = {}) {
            const now = yield* DateTime.nowAsDate
            // Before the sessions: the order of `accountLock`.
            yield* sql`UPDATE users SET devices_revoked_at = ${now} WHERE id = ${userId}`
            const rows = yield* sql`
              UPDATE sessions SET revoked_at = ${now}
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
  user_id: UserIdColumn,
  email: Schema.String,
  is_email_verified: Schema.Boolean,
  units: Schema.NullOr(Schema.String)
})

const LiveRow = Schema.Struct({
  ...UserRow.fields,
  deletion: DeletionState,
  last_seen_at: Schema.Date
})

const SessionRow = Schema.Struct({
  id: SessionId,
  created_at: TimestampColumn,
  last_seen_at: TimestampColumn,
  expires_at: TimestampColumn,
  user_agent: Schema.NullOr(Schema.String),
  ip_address: Schema.NullOr(Schema.String)
})

const toSession = (row: typeof SessionRow.Type, current: SessionId): Session => ({
  id: row.id,
  createdAt: row.created_at,
  lastSeenAt: row.last_seen_at,
  expiresAt: row.expires_at,
  userAgent: row.user_agent,
  ipAddress: row.ip_address,
  current: row.id === current
})
