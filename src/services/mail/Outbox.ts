import { Clock, Config, Context, Duration, Effect, Layer, Metric, Queue, Redacted, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { compactDecrypt, CompactEncrypt } from "jose"
import { hkdfSync } from "node:crypto"
import type { UserId } from "../../schema/Ids.ts"
import { period } from "../SettingTypes.ts"
import { type Mail, Mailer } from "./Mailer.ts"

const HOUR = 60 * 60 * 1000

/** A mail that could not be sent within a day speaks of a link that is dead. */
const LIFETIME = 24 * HOUR

/** Longer than a mailer tries, so that no other process sends a mail that is being sent. */
const LEASE = 15 * 1000

const FIRST_RETRY = 1000
const MAX_RETRY = 5 * 60 * 1000

const BATCH = 10

/** For what no wake-up told of: mails of a process that ended, and those to be tried again. */
const pollInterval = period("OUTBOX_POLL_INTERVAL").pipe(Config.withDefault(Duration.seconds(5)))

const Claimed = Schema.Struct({ id: Schema.BigInt, payload: Schema.String, attempts: Schema.Int })

const Rest = Schema.Struct({ waiting: Schema.Int, oldest: Schema.NullOr(Schema.Date) })

const StoredMail = Schema.fromJsonString(Schema.Struct({
  to: Schema.String,
  subject: Schema.String,
  text: Schema.String,
  link: Schema.optionalKey(Schema.String)
}))

const encodeMail = ({ link, subject, text, to }: Mail) =>
  Schema.encodeSync(StoredMail)({ to, subject, text, ...(link === undefined ? {} : { link: Redacted.value(link) }) })

const decodeMail = (json: string) =>
  Effect.map(
    Schema.decodeEffect(StoredMail)(json),
    ({ link, ...mail }): Mail => ({ ...mail, link: link === undefined ? undefined : Redacted.make(link) })
  )

const pending = Metric.gauge("outbox_pending_mails", {
  description: "Mails that are written and not sent, of all processes"
})

const oldestAge = Metric.gauge("outbox_oldest_mail_age_seconds", { description: "Age of the oldest mail not sent" })

const mails = (result: "sent" | "failed" | "dropped") =>
  Metric.counter("outbox_mails_total", {
    description: "Mails that this process sent, failed to send and tries again, or dropped",
    attributes: { result },
    incremental: true
  })

const SENT = mails("sent")
const FAILED = mails("failed")
const DROPPED = mails("dropped")

/**
 * Mails are written in the transaction that they speak of, and sent after it: a provider that is down delays them and
 * loses none. What waits is encrypted (JWE, A256GCM) under a key derived from `JWT_SECRET`, since a link is a secret.
 */
export class Outbox extends Context.Service<Outbox, {
  /** Writes a mail to a user, in the transaction of the caller where there is one. It goes with the user. */
  readonly put: (userId: UserId, mail: Mail) => Effect.Effect<void>
  /** Has what was written sent now; to be called after the transaction. */
  readonly wake: Effect.Effect<void>
}>()("route-planning-service/Outbox") {
  /** With the delivery beside it: any number of processes may deliver, and any may end. */
  static readonly layer = Layer.effect(
    Outbox,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const mailer = yield* Mailer
      const secret = yield* Config.Redacted("JWT_SECRET")
      const key = new Uint8Array(hkdfSync("sha256", Redacted.value(secret), "", "outbox", 32))
      const interval = yield* pollInterval
      const wakeUps = yield* Queue.sliding<void>(1)

      const encrypt = (mail: Mail) =>
        Effect.promise(() =>
          new CompactEncrypt(new TextEncoder().encode(encodeMail(mail)))
            .setProtectedHeader({ alg: "dir", enc: "A256GCM" })
            .encrypt(key)
        )

      const decrypt = (payload: string) =>
        Effect.tryPromise(() => compactDecrypt(payload, key)).pipe(
          Effect.flatMap(({ plaintext }) => decodeMail(new TextDecoder().decode(plaintext)))
        )

      // A claim is a lease: whoever ends before it sent its mails leaves them to the next try.
      const claim = SqlSchema.findAll({
        Request: Schema.Date,
        Result: Claimed,
        execute: (now) =>
          sql`
            UPDATE outbox SET attempts = attempts + 1, next_attempt_at = ${new Date(now.getTime() + LEASE)}
            WHERE id IN (
              SELECT id FROM outbox WHERE next_attempt_at <= ${now} AND expires_at > ${now}
              ORDER BY next_attempt_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
            ) RETURNING id, payload, attempts`
      })

      const postpone = Effect.fnUntraced(function*({ attempts, id }: typeof Claimed.Type) {
        const now = yield* Clock.currentTimeMillis
        const delay = Math.min(FIRST_RETRY * 2 ** (attempts - 1), MAX_RETRY)
        yield* sql`UPDATE outbox SET next_attempt_at = ${new Date(now + delay)} WHERE id = ${id}`
      })

      const rest = SqlSchema.findOne({
        Request: Schema.Void,
        Result: Rest,
        execute: () => sql`SELECT count(*)::int AS waiting, min(created_at) AS oldest FROM outbox`
      })

      const forget = (id: bigint) => Effect.asVoid(sql`DELETE FROM outbox WHERE id = ${id}`)

      const send = (claimed: typeof Claimed.Type, mail: Mail) =>
        mailer.send(mail).pipe(
          Effect.andThen(Metric.update(SENT, 1)),
          Effect.andThen(forget(claimed.id)),
          Effect.catchTag("MailNotSent", ({ reason }) =>
            Effect.logWarning("mail not sent, to be tried again", { reason }).pipe(
              Effect.andThen(Metric.update(FAILED, 1)),
              Effect.andThen(postpone(claimed))
            ))
        )

      // Not to be interrupted between the provider's answer and its record: the mail would be sent again.
      const deliver = (claimed: typeof Claimed.Type) =>
        Effect.matchEffect(decrypt(claimed.payload), {
          onSuccess: (mail) => send(claimed, mail),
          onFailure: () =>
            Effect.logError("mail cannot be read and is dropped").pipe(
              Effect.andThen(Metric.update(DROPPED, 1)),
              Effect.andThen(forget(claimed.id))
            )
        }).pipe(Effect.uninterruptible)

      const deliverDue = Effect.gen(function*() {
        const mails = yield* claim(new Date(yield* Clock.currentTimeMillis))
        yield* Effect.forEach(mails, deliver, { concurrency: BATCH, discard: true })
        return mails.length
      }).pipe(Effect.repeat({ while: (delivered) => delivered === BATCH }))

      const dropExpired = Effect.gen(function*() {
        const now = new Date(yield* Clock.currentTimeMillis)
        const dropped = yield* sql`DELETE FROM outbox WHERE expires_at <= ${now} RETURNING id`
        if (dropped.length > 0) {
          yield* Metric.update(DROPPED, dropped.length)
          yield* Effect.logError("mails not sent within a day are dropped", { mails: dropped.length })
        }
      })

      const lookAtRest = Effect.gen(function*() {
        const { oldest, waiting } = yield* rest()
        const now = yield* Clock.currentTimeMillis
        yield* Metric.update(pending, waiting)
        yield* Metric.update(oldestAge, oldest === null ? 0 : Math.max(0, now - oldest.getTime()) / 1000)
      })

      yield* Effect.forEach([SENT, FAILED, DROPPED], (counter) => Metric.update(counter, 0), { discard: true })
      yield* deliverDue.pipe(
        Effect.andThen(dropExpired),
        Effect.andThen(lookAtRest),
        Effect.withSpan("Outbox.deliver"),
        Effect.catchCause((cause) => Effect.logError("the outbox could not be worked through", cause)),
        Effect.andThen(Effect.timeoutOption(Queue.take(wakeUps), interval)),
        Effect.forever,
        Effect.forkScoped
      )

      return Outbox.of({
        put: Effect.fn("Outbox.put")(function*(userId, mail) {
          const now = yield* Clock.currentTimeMillis
          yield* sql`INSERT INTO outbox ${
            sql.insert({
              user_id: userId,
              payload: yield* encrypt(mail),
              created_at: new Date(now),
              next_attempt_at: new Date(now),
              expires_at: new Date(now + LIFETIME)
            })
          }`
        }, Effect.orDie),
        wake: Effect.asVoid(Queue.offer(wakeUps, undefined))
      })
    })
  )
}
