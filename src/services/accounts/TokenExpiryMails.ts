import { DateTime, Duration, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { UserId } from "../../schema/Ids.ts"
import { inWords, TOKEN_EXPIRY_MAILED } from "../../schema/Limits.ts"
import { inOneLine } from "../../schema/Text.ts"
import { runSweep, scheduled, sweepUntilShort } from "../db/Sweeps.ts"
import { DateColumn, TimestampColumn } from "../db/Tables.ts"
import { Outbox } from "../mail/Outbox.ts"
import type { Mail } from "../mail/Texts.ts"
import { settings } from "../settings/Registry.ts"

const BATCH = 100

const BEFORE = Duration.toMillis(TOKEN_EXPIRY_MAILED)

const ExpiringToken = Schema.Struct({
  name: Schema.String,
  hint: Schema.String,
  expiresAt: TimestampColumn,
  userId: UserId,
  email: Schema.String
})
type ExpiringToken = typeof ExpiringToken.Type

/** Each token causes one mail, in the transaction that records it. A token with a shorter lifetime causes none. */
export const tokenExpiryMailsLayer = Layer.effectDiscard(Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const outbox = yield* Outbox
  const lead = sql`make_interval(secs => ${BEFORE / 1000})`

  const isDue = sql`
    t.expiry_mailed_at IS NULL AND t.created_at < t.expires_at - ${lead} AND EXISTS (
      SELECT FROM users u WHERE u.id = t.user_id AND u.deletion_requested_at IS NULL)`

  const note = SqlSchema.findAll({
    Request: Schema.Struct({ now: Schema.Date, until: Schema.Date }),
    Result: ExpiringToken,
    execute: ({ now, until }) =>
      sql`
        UPDATE personal_access_tokens t SET expiry_mailed_at = ${now} FROM users u
        WHERE u.id = t.user_id AND t.id IN (
          SELECT t.id FROM personal_access_tokens t
          WHERE t.expires_at > ${now} AND t.expires_at <= ${until} AND ${isDue}
          ORDER BY t.expires_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
        ) RETURNING t.name, t.hint, t.expires_at AS "expiresAt", u.id AS "userId", u.email`
  })

  const findEarliest = SqlSchema.findOne({
    Request: Schema.Date,
    Result: Schema.Struct({ earliest: Schema.NullOr(DateColumn) }),
    execute: (now) =>
      sql`
        SELECT min(t.expires_at) AS earliest FROM personal_access_tokens t WHERE t.expires_at > ${now} AND ${isDue}`
  })

  const mailBatch = Effect.gen(function*() {
    const now = yield* DateTime.nowAsDate
    const tokens = yield* note({ now, until: new Date(now.getTime() + BEFORE) })
    yield* Effect.forEach(tokens, (token) => outbox.put(token.userId, expiryMail(token)), { discard: true })
    const lags = tokens.map(({ expiresAt }) => now.getTime() + BEFORE - Date.parse(expiresAt))
    return { rows: tokens.length, lagMillis: Math.max(0, ...lags) }
  }).pipe(sql.withTransaction, Effect.tap(() => outbox.wake), Effect.uninterruptible)

  yield* scheduled({
    longestSleep: settings.PURGE_SWEEP_INTERVAL,
    run: runSweep("token_expiry_mails", sweepUntilShort(mailBatch, BATCH)),
    earliestDue: Effect.map(
      Effect.flatMap(DateTime.nowAsDate, findEarliest),
      ({ earliest }) => Option.map(Option.fromNullOr(earliest), (instant) => new Date(instant.getTime() - BEFORE))
    )
  })
}))

const expiryMail = ({ email, expiresAt, hint, name }: ExpiringToken): Mail => ({
  to: email,
  subject: `Your access token expires in ${inWords(TOKEN_EXPIRY_MAILED)}`,
  text:
    `The personal access token "${inOneLine(name)}" (${hint}) expires on ${
      expiresAt.slice(0, 10)
    } (UTC). What uses it is `
    + "refused from then on: make a new token and replace it there.",
  link: undefined,
  ifNotYou: "If you do not use this token any more, do nothing, or revoke it."
})
