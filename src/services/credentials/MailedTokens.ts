import { Clock, Context, Effect, Layer, Option, Redacted, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient, SqlSchema } from "effect/sql"
import { createHash } from "node:crypto"
import { UserIdColumn } from "../../schema/Columns.ts"
import type { UserId } from "../../schema/Ids.ts"
import { graceBegan } from "../accounts/GraceWindow.ts"

const HOUR = 60 * 60 * 1000

/** How long the link of each purpose is good for. */
const LIFETIME = { "verify-email": 24 * HOUR, "reset-password": HOUR / 2 } as const

const MAX_LIVE_RESETS = 3

export type MailedTokenPurpose = keyof typeof LIFETIME

/** What a token was issued for. `passwordHash` is the password that its sign-up chose. */
const Consumed = Schema.Struct({ user_id: UserIdColumn, password_hash: Schema.NullOr(Schema.String) })

const digest = (token: Redacted.Redacted) => createHash("sha256").update(Redacted.value(token)).digest("base64url")

/**
 * The secrets of mailed links: 32 random bytes, stored as their SHA-256, good for one purpose, once, for a time. A
 * standard hash is enough for a secret of 256 bits (OWASP ASVS 6.5.2).
 */
export class MailedTokens extends Context.Service<MailedTokens, {
  /** Of a user's links to reset the password the three newest are good. */
  readonly issue: (
    request: {
      readonly userId: UserId
      readonly purpose: MailedTokenPurpose
      readonly passwordHash: string | undefined
    }
  ) => Effect.Effect<Redacted.Redacted>
  /**
   * Uses a token up. Of any number of callers at once exactly one gets its owner; a token that is wrong, used, expired,
   * meant for something else or of an account whose 30 days are over gives none to all.
   */
  readonly consume: (
    purpose: MailedTokenPurpose,
    token: Redacted.Redacted
  ) => Effect.Effect<Option.Option<{ readonly userId: UserId; readonly passwordHash: string | undefined }>>
  /** Takes every other token of a user away, used or not. */
  readonly revokeAll: (userId: UserId) => Effect.Effect<void>
}>()("route-planning-service/MailedTokens") {
  static readonly layer = Layer.effect(
    MailedTokens,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom

      const markUsed = SqlSchema.findOneOption({
        Request: Schema.Struct({ hash: Schema.String, purpose: Schema.String, now: Schema.Date, began: Schema.Date }),
        Result: Consumed,
        execute: ({ began, hash, now, purpose }) =>
          sql`
            UPDATE email_tokens t SET used_at = ${now} FROM users u
            WHERE t.token_hash = ${hash} AND t.purpose = ${purpose} AND t.used_at IS NULL AND t.expires_at > ${now}
              AND u.id = t.user_id AND (u.deletion_requested_at IS NULL OR u.deletion_requested_at > ${began})
            RETURNING t.user_id, t.password_hash`
      })

      // A sign-up's links are all kept: whoever signs up for another person's address must not be able to push theirs out.
      const keepNewest = (userId: UserId) =>
        sql`
          DELETE FROM email_tokens WHERE token_hash IN (
            SELECT token_hash FROM email_tokens WHERE user_id = ${userId} AND purpose = 'reset-password'
            ORDER BY created_at DESC, token_hash OFFSET ${MAX_LIVE_RESETS}
          )`

      return MailedTokens.of({
        issue: Effect.fn("MailedTokens.issue")(function*({ passwordHash, purpose, userId }) {
          const token = Redacted.make(Buffer.from(yield* random.randomBytes(32)).toString("base64url"))
          const now = yield* Clock.currentTimeMillis
          yield* sql`INSERT INTO email_tokens ${
            sql.insert({
              token_hash: digest(token),
              user_id: userId,
              purpose,
              password_hash: passwordHash ?? null,
              created_at: new Date(now),
              expires_at: new Date(now + LIFETIME[purpose])
            })
          }`
          if (purpose === "reset-password") yield* keepNewest(userId)
          return token
        }, Effect.orDie),

        consume: Effect.fn("MailedTokens.consume")(function*(purpose, token) {
          const now = new Date(yield* Clock.currentTimeMillis)
          const used = yield* markUsed({ hash: digest(token), purpose, now, began: yield* graceBegan })
          return Option.map(used, ({ password_hash, user_id }) => ({
            userId: user_id,
            passwordHash: password_hash ?? undefined
          }))
        }, Effect.orDie),

        revokeAll: Effect.fn("MailedTokens.revokeAll")(
          (userId) => sql`DELETE FROM email_tokens WHERE user_id = ${userId}`.pipe(Effect.asVoid, Effect.orDie)
        )
      })
    })
  )
}
