import { Clock, Context, DateTime, Duration, Effect, Layer, Option, Redacted, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { Model } from "effect/schema"
import { SqlClient, SqlSchema } from "effect/sql"
import { createHash } from "node:crypto"
import { SignUpId, UserId } from "../../schema/Ids.ts"
import { LINK_LIFETIME } from "../../schema/Limits.ts"
import { databaseDefects } from "../db/DatabaseErrors.ts"
import { deletionCutoff } from "../db/Sweeps.ts"
import { Instant, readOnly, tableOf, TimestampColumn, writtenOnce } from "../db/Tables.ts"
import { LinkState, LinkUnusable } from "../DomainErrors.ts"
import { accountLock, canSignIn } from "../identity/Users.ts"

export const mailedLink = (app: URL, page: string, token?: Redacted.Redacted): Redacted.Redacted => {
  const url = new URL(page, app.href.endsWith("/") ? app : `${app.href}/`)
  if (token !== undefined) url.searchParams.set("token", Redacted.value(token))
  return Redacted.make(url.href)
}

const MAX_LIVE_RESETS = 3

export type MailedTokenPurpose = keyof typeof LINK_LIFETIME

/** An invitation is a link to choose a password, which other front ends send to the endpoint of a reset. */
export const INVITATION: MailedTokenPurpose = "reset-password"

class MailedTokenRecord extends Model.Class<MailedTokenRecord>("MailedTokenRecord")({
  tokenHash: Schema.String,
  userId: writtenOnce(Schema.NullOr(UserId)),
  signUpId: writtenOnce(Schema.NullOr(SignUpId)),
  purpose: Schema.String,
  createdAt: Instant,
  expiresAt: Instant,
  usedAt: readOnly(Schema.NullOr(TimestampColumn))
}) {}

const emailTokens = tableOf("email_tokens", MailedTokenRecord)

const TokenOwner = Schema.Union([Schema.Struct({ userId: UserId }), Schema.Struct({ signUpId: SignUpId })])
export type TokenOwner = typeof TokenOwner.Type

export const linkUnusable = () => Effect.fail(new LinkUnusable({ state: "unknown" }))

const digest = (token: Redacted.Redacted) => createHash("sha256").update(Redacted.value(token)).digest("base64url")

/** Tokens are 32 random bytes, used once, and stored as SHA-256, enough for a secret of 256 bits (OWASP ASVS 6.5.2). */
export class MailedTokens extends Context.Service<MailedTokens, {
  /** Each purpose has a default `lifetime`. Only the newest reset links of an account are valid. */
  readonly issue: (
    purpose: MailedTokenPurpose,
    owner: TokenOwner,
    lifetime?: Duration.Duration
  ) => Effect.Effect<Redacted.Redacted>
  /**
   * Finds the owner of a token that `consume` or `signUpOf` would accept now; neither locks nor changes anything. The
   * error says why a token cannot be used. An expired one is unknown some time later, once its row is deleted.
   */
  readonly ownerOf: (purpose: MailedTokenPurpose, token: Redacted.Redacted) => Effect.Effect<TokenOwner, LinkUnusable>
  /**
   * Succeeds for exactly one of concurrent callers, which have `accountLock`. Fails for an unknown, used or expired
   * token, one for another purpose, or an account past its grace period.
   */
  readonly consume: (purpose: MailedTokenPurpose, token: Redacted.Redacted) => Effect.Effect<void, LinkUnusable>
  /** Consumes a valid token and returns its sign-up: `SignUps.lock` decides between concurrent callers. */
  readonly signUpOf: (purpose: MailedTokenPurpose, token: Redacted.Redacted) => Effect.Effect<Option.Option<SignUpId>>
  /** Stores a used token of a sign-up, whose rows are deleted, as one of the account that was made by it. */
  readonly keepUsed: (
    purpose: MailedTokenPurpose,
    token: Redacted.Redacted,
    userId: UserId
  ) => Effect.Effect<void>
  /** Deletes the verification tokens of sign-ups. Call it under `SignUps.lock`. */
  readonly revokeVerifications: (signUpIds: ReadonlyArray<SignUpId>) => Effect.Effect<void>
  /** Deletes the unused tokens of a user. A used one stays, so that its page can say that it was used. */
  readonly revokeAll: (userId: UserId) => Effect.Effect<void>
}>()("route-planning-service/MailedTokens") {
  static readonly layer = Layer.effect(
    MailedTokens,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom
      const lockAccount = yield* accountLock

      const findOwner = SqlSchema.findOneOption({
        Request: Schema.Struct({ hash: Schema.String, purpose: Schema.String, now: Schema.Date, cutoff: Schema.Date }),
        Result: Schema.Struct({ owner: TokenOwner, refused: Schema.NullOr(LinkState) }),
        execute: ({ cutoff, hash, now, purpose }) =>
          sql`
            SELECT json_build_object('userId', t.user_id, 'signUpId', t.sign_up_id) AS owner,
              CASE WHEN t.used_at IS NOT NULL THEN 'used' WHEN t.expires_at <= ${now} THEN 'expired'
                WHEN NOT ${canSignIn(sql, cutoff)} THEN 'unknown' END AS refused
            FROM email_tokens t LEFT JOIN users u ON u.id = t.user_id
            WHERE t.token_hash = ${hash} AND t.purpose = ${purpose}`
      })

      const findSignUp = SqlSchema.findOneOption({
        Request: Schema.Struct({ hash: Schema.String, purpose: Schema.String, now: Schema.Date }),
        Result: Schema.Struct({ signUpId: SignUpId }),
        execute: ({ hash, now, purpose }) =>
          sql`
            SELECT sign_up_id AS "signUpId" FROM email_tokens
            WHERE token_hash = ${hash} AND purpose = ${purpose} AND expires_at > ${now} AND sign_up_id IS NOT NULL`
      })

      // A sign-up keeps all its links: anyone may sign up an address, or request a reset for it, and must not invalidate
      // the verification or the invitation of its owner.
      const keepNewest = (userId: UserId) =>
        sql`
          DELETE FROM email_tokens WHERE token_hash IN (
            SELECT token_hash FROM email_tokens WHERE user_id = ${userId} AND purpose = 'reset-password'
            ORDER BY created_at DESC, token_hash OFFSET ${MAX_LIVE_RESETS} FOR UPDATE
          )`

      return MailedTokens.of({
        issue: Effect.fnUntraced(function*(purpose, owner, lifetime = LINK_LIFETIME[purpose]) {
          const token = Redacted.make(Buffer.from(yield* random.randomBytes(32)).toString("base64url"))
          const now = yield* Clock.currentTimeMillis
          if ("userId" in owner) yield* lockAccount(owner.userId)
          yield* emailTokens.insert(sql, {
            tokenHash: digest(token),
            userId: "userId" in owner ? owner.userId : null,
            signUpId: "signUpId" in owner ? owner.signUpId : null,
            purpose,
            createdAt: new Date(now),
            expiresAt: new Date(now + Duration.toMillis(lifetime))
          })
          if (purpose === "reset-password" && "userId" in owner) yield* keepNewest(owner.userId)
          return token
        }, Effect.orDie),

        ownerOf: Effect.fnUntraced(
          function*(purpose, token) {
            const now = yield* DateTime.nowAsDate
            const found = yield* findOwner({ hash: digest(token), purpose, now, cutoff: yield* deletionCutoff })
            if (Option.isNone(found)) return yield* linkUnusable()
            const { owner, refused } = found.value
            return refused === null ? owner : yield* new LinkUnusable({ state: refused })
          },
          databaseDefects
        ),

        consume: Effect.fnUntraced(function*(purpose, token) {
          const now = yield* DateTime.nowAsDate
          const used = yield* sql`
            UPDATE email_tokens t SET used_at = ${now} FROM users u
            WHERE t.token_hash = ${digest(token)} AND t.purpose = ${purpose} AND t.used_at IS NULL
              AND t.expires_at > ${now} AND u.id = t.user_id AND ${canSignIn(sql, yield* deletionCutoff)}
            RETURNING u.id`
          if (used.length === 0) return yield* linkUnusable()
        }, databaseDefects),

        signUpOf: Effect.fnUntraced(function*(purpose, token) {
          const now = yield* DateTime.nowAsDate
          const found = yield* findSignUp({ hash: digest(token), purpose, now })
          return Option.map(found, ({ signUpId }) => signUpId)
        }, Effect.orDie),

        keepUsed: Effect.fnUntraced(function*(purpose, token, userId) {
          const now = yield* DateTime.nowAsDate
          yield* sql`
            INSERT INTO email_tokens (token_hash, user_id, purpose, created_at, expires_at, used_at)
            VALUES (${digest(token)}, ${userId}, ${purpose}, ${now}, ${now}, ${now})`
        }, Effect.orDie),

        revokeVerifications: Effect.fnUntraced(function*(signUpIds) {
          if (signUpIds.length === 0) return
          yield* sql`DELETE FROM email_tokens WHERE purpose = 'verify-email' AND ${sql.in("sign_up_id", signUpIds)}`
        }, Effect.orDie),

        revokeAll: (userId) =>
          sql`DELETE FROM email_tokens WHERE user_id = ${userId} AND used_at IS NULL`.pipe(Effect.asVoid, Effect.orDie)
      })
    })
  )
}
