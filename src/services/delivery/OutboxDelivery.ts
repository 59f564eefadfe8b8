import { Clock, DateTime, Duration, Effect, Layer, Metric, Option, Schedule, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { Mail } from "../mail/Mail.ts"
import { mailCipher, type OutboxPayload } from "../mail/MailCipher.ts"
import { MAIL_TIMEOUT, Mailer } from "../mail/Mailer.ts"
import { Outbox, outbox } from "../mail/Outbox.ts"
import { counterBy } from "../metrics/Counters.ts"
import { settings } from "../settings/Registry.ts"
import { DateColumn } from "../sql/Columns.ts"
import { columnsOf } from "../sql/Tables.ts"
import { ClaimedColumns, ClaimedMail, mailPreparation } from "./MailPreparation.ts"

/** Longer than an attempt, so that no other process sends the same mail. */
const LEASE = Duration.toMillis(Duration.seconds(15))

/** A later attempt might outlast the lease, which is renewed. */
const LATEST_TRY = LEASE - Duration.toMillis(MAIL_TIMEOUT)

const FIRST_RETRY = Duration.toMillis(Duration.seconds(5))
const MAX_RETRY = Duration.toMillis(Duration.hours(1))

const SHORTEST_POLL = Duration.toMillis(Duration.seconds(1))

const FORGET_AGAIN = Duration.seconds(1)

const BATCH = 10

const LONGEST_POLL = Duration.minutes(5)

const Rest = Schema.Struct({
  waiting: Schema.Int,
  oldest: Schema.NullOr(DateColumn),
  next: Schema.NullOr(DateColumn)
})

const pending = Metric.gauge("outbox_pending_mails", {
  description: "Mails that are written and not sent, of all processes"
})

const oldestAge = Metric.gauge("outbox_oldest_mail_age_seconds", { description: "Age of the oldest mail not sent" })

const mails = counterBy<"sent" | "failed" | "dropped" | "limited">(
  "outbox_mails_total",
  "result",
  "Mails that this process sent, failed to send and tries again, or dropped, by age or by quota"
)

const SENT = mails("sent")
const FAILED = mails("failed")
const DROPPED = mails("dropped")
const LIMITED = mails("limited")

/** Any number of processes may deliver, and any may end. */
export const outboxDeliveryLayer = Layer.effectDiscard(Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const mailer = yield* Mailer
  const { woken } = yield* Outbox
  const { decrypt } = yield* mailCipher
  const { composed, counted } = yield* mailPreparation(LIMITED)
  const first = yield* settings.OUTBOX_POLL_INTERVAL

  // A claim is a lease: mails of a process that ends are claimed again.
  const claim = SqlSchema.findAll({
    Request: Schema.Date,
    Result: ClaimedMail,
    execute: (now) =>
      sql`
        UPDATE outbox SET attempts = attempts + 1, next_attempt_at = ${new Date(now.getTime() + LEASE)}
        WHERE id IN (
          SELECT id FROM outbox WHERE next_attempt_at <= ${now} AND expires_at > ${now}
          ORDER BY next_attempt_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
        ) RETURNING ${sql.literal(columnsOf(ClaimedColumns))}, counted_at IS NOT NULL AS "isCounted"`
  })

  const postpone = Effect.fnUntraced(function*({ attempts, id }: ClaimedMail) {
    const now = yield* Clock.currentTimeMillis
    const delay = Math.min(FIRST_RETRY * 2 ** (attempts - 1), MAX_RETRY)
    yield* sql`UPDATE outbox SET ${outbox.set(sql, { nextAttemptAt: new Date(now + delay) })} WHERE id = ${id}`
  })

  const rest = SqlSchema.findOne({
    Request: Schema.Void,
    Result: Rest,
    execute: () =>
      sql`
        SELECT count(*)::int AS waiting, min(created_at) AS oldest, min(next_attempt_at) AS next FROM outbox`
  })

  // A sent mail would be sent again if the database was busy.
  const forget = (id: number) =>
    sql`DELETE FROM outbox WHERE id = ${id}`.pipe(
      Effect.retry({ schedule: Schedule.spaced(FORGET_AGAIN), times: 10 }),
      Effect.asVoid
    )

  const trySending = (claimed: ClaimedMail, mail: Mail) =>
    mailer.send(mail, claimed.idempotencyKey).pipe(
      Effect.andThen(Metric.update(SENT, 1)),
      Effect.andThen(forget(claimed.id)),
      Effect.catchTag("MailNotSent", ({ reason }) =>
        Effect.logWarning("mail not sent, to be tried again", { reason }).pipe(
          Effect.andThen(Metric.update(FAILED, 1)),
          Effect.andThen(postpone(claimed))
        ))
    )

  const renew = Effect.fnUntraced(function*({ attempts, id }: ClaimedMail, now: number) {
    const rows = yield* sql`
      UPDATE outbox SET ${
      outbox.set(sql, { nextAttemptAt: new Date(now + LEASE) })
    } WHERE id = ${id} AND attempts = ${attempts} RETURNING id`
    return rows.length > 0
  })

  const send = Effect.fnUntraced(function*(claimed: ClaimedMail, mail: Mail, claimedAt: number) {
    const now = yield* Clock.currentTimeMillis
    if (now <= claimedAt + LATEST_TRY || (yield* renew(claimed, now))) yield* trySending(claimed, mail)
  })

  const sendIfAny = (claimed: ClaimedMail, payload: OutboxPayload, claimedAt: number) =>
    Effect.flatMap(
      "request" in payload ? composed(claimed, payload) : counted(claimed, payload),
      Option.match({ onNone: () => Effect.void, onSome: (mail) => send(claimed, mail, claimedAt) })
    )

  // An interruption between the provider's response and its record would send the mail again.
  const deliver = (claimed: ClaimedMail, claimedAt: number) =>
    Effect.matchEffect(decrypt(claimed.payload), {
      onSuccess: (payload) => sendIfAny(claimed, payload, claimedAt),
      onFailure: () =>
        Effect.logError("mail unreadable, dropped").pipe(
          Effect.andThen(Metric.update(DROPPED, 1)),
          Effect.andThen(forget(claimed.id))
        )
    }).pipe(Effect.uninterruptible)

  const deliverDue = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const mails = yield* claim(new Date(now))
    yield* Effect.forEach(mails, (mail) => deliver(mail, now), { concurrency: BATCH, discard: true })
    return mails.length
  }).pipe(Effect.repeat({ while: (delivered) => delivered === BATCH }))

  const dropExpired = Effect.gen(function*() {
    const now = yield* DateTime.nowAsDate
    const dropped = yield* sql`DELETE FROM outbox WHERE expires_at <= ${now} RETURNING id`
    if (dropped.length > 0) {
      yield* Metric.update(DROPPED, dropped.length)
      yield* Effect.logError("mails dropped after a day of failures", { mails: dropped.length })
    }
  })

  const lookAtRest = Effect.gen(function*() {
    const { next, oldest, waiting } = yield* rest()
    const now = yield* Clock.currentTimeMillis
    yield* Metric.update(pending, waiting)
    yield* Metric.update(oldestAge, oldest === null ? 0 : Math.max(0, now - oldest.getTime()) / 1000)
    return next === null ? Duration.infinity : Duration.millis(Math.max(SHORTEST_POLL, next.getTime() - now))
  })

  const workThrough = Effect.all([deliverDue, dropExpired, lookAtRest]).pipe(
    Effect.withSpan("Outbox.deliver"),
    Effect.map(([delivered, , untilNext]) => ({ isQuiet: delivered === 0, untilNext })),
    Effect.catchCause((cause) =>
      Effect.as(Effect.logError("outbox delivery failed", cause), {
        isQuiet: false,
        untilNext: Duration.infinity
      })
    )
  )

  const round = Effect.fnUntraced(function*(delay: Duration.Duration) {
    const { isQuiet, untilNext } = yield* workThrough
    const longest = isQuiet ? delay : first
    const wakeUp = yield* Effect.timeoutOption(woken, Duration.min(longest, untilNext))
    return isQuiet && Option.isNone(wakeUp) && Duration.isLessThanOrEqualTo(longest, untilNext)
      ? Duration.min(Duration.times(delay, 2), Duration.max(first, LONGEST_POLL))
      : first
  })

  const deliverForever = (delay: Duration.Duration): Effect.Effect<never> =>
    Effect.flatMap(round(delay), deliverForever)

  yield* Effect.forEach([SENT, FAILED, DROPPED, LIMITED], (counter) => Metric.update(counter, 0), { discard: true })
  yield* Effect.forkScoped(deliverForever(first))
}))
