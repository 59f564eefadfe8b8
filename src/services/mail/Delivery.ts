import {
  Clock,
  DateTime,
  Duration,
  Effect,
  Fiber,
  FiberMap,
  Layer,
  Metric,
  Option,
  Schedule,
  Schema,
  Semaphore,
  Struct,
  Tracer
} from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { Draining } from "../admission/Health.ts"
import { AT_ONCE } from "../admission/Lanes.ts"
import { columnsOf, DateColumn } from "../db/Tables.ts"
import { atZero, countersBy } from "../operations/Metrics.ts"
import { settings } from "../operations/SettingsRegistry.ts"
import { AccountMails, type Mail, MAIL_TIMEOUT, Mailer, MailNotSent, type MailRequest } from "./Mailers.ts"
import {
  mailCipher,
  MailQuota,
  Outbox,
  outbox,
  type OutboxPayload,
  OutboxRecord,
  type StoredRequest
} from "./Outbox.ts"

const QUOTA_RETRY = Duration.toMillis(Duration.minutes(10))

const ClaimedColumns = OutboxRecord.select.mapFields(
  Struct.pick(["id", "payload", "attempts", "idempotencyKey"])
)

const ClaimedMail = Schema.Struct({ ...ClaimedColumns.fields, isCounted: Schema.Boolean })
type ClaimedMail = typeof ClaimedMail.Type

class OverQuota extends Schema.TaggedError<OverQuota>()("OverQuota", { address: Schema.String }) {}

/** Invitations come from an administrator: strangers cannot use up these mails. */
const isExempt = ({ kind }: MailRequest) => kind === "invitation"

const UNKNOWN_NETWORK = "unknown"

const networkOf = (request: MailRequest | undefined) => {
  if (request === undefined) return undefined
  return "network" in request ? request.network : UNKNOWN_NETWORK
}

/** Audit entries get the trace of the request. */
const inTraceOf = ({ trace }: StoredRequest) => <A, E, R>(work: Effect.Effect<A, E, R>) =>
  trace === undefined ? work : Effect.withParentSpan(work, Tracer.externalSpan({ ...trace, sampled: false }))

/**
 * Composes requests and stores them as mails, so that a crash neither loses nor repeats one and the quota counts it
 * once. Over the quota a requested mail is dropped, since its link can be requested again; a notice is retried later.
 */
const mailPreparation = Effect.fnUntraced(function*(limited: Metric.Counter<number>) {
  const sql = yield* SqlClient.SqlClient
  const accountMails = yield* AccountMails
  const quota = yield* MailQuota
  const { encrypt } = yield* mailCipher
  const turns = yield* Semaphore.make(AT_ONCE.mails)

  const forget = (id: number) => Effect.asVoid(sql`DELETE FROM outbox WHERE id = ${id}`)

  const takeQuota = Effect.fnUntraced(function*(id: number, { to }: Mail, request?: MailRequest) {
    const isFree = request !== undefined && isExempt(request)
    if (!isFree && !(yield* quota.take(to, networkOf(request)))) return yield* new OverQuota({ address: to })
    yield* sql`UPDATE outbox SET ${outbox.set(sql, { countedAt: yield* DateTime.nowAsDate })} WHERE id = ${id}`
  })

  const compose = Effect.fnUntraced(function*({ id }: ClaimedMail, stored: StoredRequest) {
    const composed = yield* inTraceOf(stored)(accountMails.compose(stored.request))
    if (Option.isNone(composed)) {
      yield* forget(id)
      return Option.none<Mail>()
    }
    const { lifetime, mail, userId } = composed.value
    yield* takeQuota(id, mail, stored.request)
    const now = yield* Clock.currentTimeMillis
    const changes = {
      payload: yield* encrypt(mail),
      userId: userId ?? null,
      ...(lifetime === undefined ? {} : { expiresAt: new Date(now + Duration.toMillis(lifetime)) })
    }
    yield* sql`UPDATE outbox SET ${outbox.set(sql, changes)} WHERE id = ${id}`
    return Option.some(mail)
  }, sql.withTransaction)

  const drop = Effect.fnUntraced(function*({ id }: ClaimedMail, { request }: StoredRequest, { address }: OverQuota) {
    yield* Effect.logWarning("mail over the quota of its address, dropped")
    yield* Metric.update(limited, 1)
    if (yield* quota.isUsedUp(address)) yield* accountMails.withhold(request)
    yield* forget(id)
    return Option.none<Mail>()
  }, sql.withTransaction)

  const putOff = Effect.fnUntraced(function*({ id }: ClaimedMail) {
    yield* Effect.logWarning("mail over the quota of its address, to be tried again")
    const next = new Date((yield* Clock.currentTimeMillis) + QUOTA_RETRY)
    yield* sql`UPDATE outbox SET ${outbox.set(sql, { nextAttemptAt: next })} WHERE id = ${id}`
    return Option.none<Mail>()
  })

  return {
    composed: (claimed: ClaimedMail, stored: StoredRequest) =>
      compose(claimed, stored).pipe(
        turns.withPermit,
        Effect.catchTag("OverQuota", (over) => drop(claimed, stored, over))
      ),
    counted: (claimed: ClaimedMail, mail: Mail) =>
      claimed.isCounted ? Effect.succeedSome(mail) : takeQuota(claimed.id, mail).pipe(
        sql.withTransaction,
        turns.withPermit,
        Effect.as(Option.some(mail)),
        Effect.catchTag("OverQuota", () => putOff(claimed))
      )
  }
})

/** A later attempt might outlast the lease, which is renewed. */
const LATEST_TRY = Duration.toMillis(Duration.seconds(10))

/** Attempts that take longer go on beside the next round, so that other mails do not wait for them. */
const ROUND_TIMEOUT = Duration.seconds(6)

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

const oldestAge = Metric.gauge("outbox_oldest_mail_age_seconds", {
  description: "Age of the oldest mail not sent, without those that wait for the quota of their address"
})

const MAILS = countersBy(
  "outbox_mails_total",
  "result",
  ["sent", "failed", "dropped", "limited"],
  "Mails that this process sent, failed to send and tries again, or dropped, by age, by a refusal for good or by quota"
)

/** Any number of processes may deliver, and any may end. */
export const outboxDeliveryLayer = Layer.effectDiscard(Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const mailer = yield* Mailer
  const { begun } = yield* Draining
  const { woken } = yield* Outbox
  const { decrypt } = yield* mailCipher
  const { composed, counted } = yield* mailPreparation(MAILS.limited)
  const first = yield* settings.OUTBOX_POLL_INTERVAL
  const sending = yield* FiberMap.make<number, void>()

  // The lease is longer than an attempt, so that no other process sends the same mail.
  const lease = LATEST_TRY + Duration.toMillis(mailer.timeout ?? MAIL_TIMEOUT)

  // A claim is a lease: mails of a process that ends are claimed again.
  const claim = SqlSchema.findAll({
    Request: Schema.Struct({ now: Schema.Date, current: Schema.Array(Schema.Int) }),
    Result: ClaimedMail,
    execute: ({ current, now }) =>
      sql`
        UPDATE outbox SET attempts = attempts + 1, next_attempt_at = ${new Date(now.getTime() + lease)}
        WHERE id IN (
          SELECT id FROM outbox WHERE next_attempt_at <= ${now} AND expires_at > ${now} AND id <> ALL(${current})
          ORDER BY next_attempt_at LIMIT ${BATCH - current.length} FOR UPDATE SKIP LOCKED
        ) RETURNING ${sql.literal(columnsOf(ClaimedColumns))}, counted_at IS NOT NULL AS "isCounted"`
  })

  const postpone = Effect.fnUntraced(function*({ attempts, id }: ClaimedMail) {
    const now = yield* Clock.currentTimeMillis
    const delay = Math.min(FIRST_RETRY * 2 ** (attempts - 1), MAX_RETRY)
    yield* sql`UPDATE outbox SET ${outbox.set(sql, { nextAttemptAt: new Date(now + delay) })} WHERE id = ${id}`
  })

  // A mail that waits for the quota of its address is not late: it was not counted, and is tried after any lease.
  const rest = SqlSchema.findOne({
    Request: Schema.Date,
    Result: Rest,
    execute: (now) =>
      sql`
        SELECT count(*)::int AS waiting, min(next_attempt_at) AS next,
          min(created_at) FILTER (
            WHERE counted_at IS NOT NULL OR next_attempt_at <= ${new Date(now.getTime() + lease)}
          ) AS oldest
        FROM outbox`
  })

  // A sent mail would be sent again if the database was busy.
  const forget = (id: number) =>
    sql`DELETE FROM outbox WHERE id = ${id}`.pipe(
      Effect.retry({ schedule: Schedule.spaced(FORGET_AGAIN), times: 10 }),
      Effect.asVoid
    )

  const givenUp = begun.pipe(
    Effect.andThen(Effect.sleep(MAIL_TIMEOUT)),
    Effect.andThen(Effect.fail(new MailNotSent({ reason: "shutdown" })))
  )

  const trySending = (claimed: ClaimedMail, mail: Mail) =>
    mailer.send(mail, claimed.idempotencyKey).pipe(
      Effect.raceFirst(givenUp),
      Effect.andThen(Metric.update(MAILS.sent, 1)),
      Effect.andThen(forget(claimed.id)),
      Effect.catchTag("MailNotSent", ({ isFinal, reason }) =>
        isFinal
          ? Effect.logWarning("mail to an unknown address, dropped", { reason }).pipe(
            Effect.andThen(Metric.update(MAILS.dropped, 1)),
            Effect.andThen(forget(claimed.id))
          )
          : Effect.logWarning("mail not sent, to be tried again", { reason }).pipe(
            Effect.andThen(Metric.update(MAILS.failed, 1)),
            Effect.andThen(postpone(claimed))
          ))
    )

  const renew = Effect.fnUntraced(function*({ attempts, id }: ClaimedMail, now: number) {
    const rows = yield* sql`
      UPDATE outbox SET ${
      outbox.set(sql, { nextAttemptAt: new Date(now + lease) })
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
          Effect.andThen(Metric.update(MAILS.dropped, 1)),
          Effect.andThen(forget(claimed.id))
        )
    }).pipe(
      Effect.catchCause((cause) => Effect.logError("outbox delivery failed", cause)),
      Effect.uninterruptible
    )

  const deliverDue = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const mails = yield* claim({ now: new Date(now), current: Array.from(sending, ([id]) => id) })
    const batch = yield* Effect.forEach(mails, (mail) => FiberMap.run(sending, mail.id, deliver(mail, now)))
    yield* Effect.timeoutOption(Fiber.awaitAll(batch), ROUND_TIMEOUT)
    return mails.length
  }).pipe(Effect.repeat({ while: (delivered) => delivered === BATCH }))

  const dropExpired = Effect.gen(function*() {
    const now = yield* DateTime.nowAsDate
    const dropped = yield* sql`DELETE FROM outbox WHERE expires_at <= ${now} RETURNING id`
    if (dropped.length > 0) {
      yield* Metric.update(MAILS.dropped, dropped.length)
      yield* Effect.logError("mails not sent in time, dropped", { mails: dropped.length })
    }
  })

  const lookAtRest = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const { next, oldest, waiting } = yield* rest(new Date(now))
    yield* Metric.update(pending, waiting)
    yield* Metric.update(oldestAge, oldest === null ? 0 : Math.max(0, now - oldest.getTime()) / 1000)
    return next === null ? Duration.infinity : Duration.millis(Math.max(SHORTEST_POLL, next.getTime() - now))
  })

  // Mails that wait are counted although none can be claimed.
  const workThrough = Effect.all([deliverDue, dropExpired]).pipe(
    Effect.onError(() => Effect.ignore(lookAtRest)),
    Effect.flatMap(([delivered]) => Effect.map(lookAtRest, (untilNext) => ({ isQuiet: delivered === 0, untilNext }))),
    Effect.tapCause((cause) => Effect.logError("outbox delivery failed", cause)),
    Effect.withSpan("Outbox.deliver"),
    Effect.catchCause(() => Effect.succeed({ isQuiet: false, untilNext: Duration.infinity }))
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

  yield* atZero(Object.values(MAILS))
  yield* Effect.forkScoped(deliverForever(first))
}))
