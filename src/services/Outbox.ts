import { Clock, Config, Context, Duration, Effect, Layer, Queue, Redacted, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { compactDecrypt, CompactEncrypt } from "jose"
import { hkdfSync } from "node:crypto"
import type { UserId } from "../schema/Ids.ts"
import { type Mail, Mailer } from "./Mailer.ts"

const HOUR = 60 * 60 * 1000

/** A mail that could not be sent within a day speaks of a link that is dead. */
const LIFETIME = 24 * HOUR

const FIRST_RETRY = 1000
const MAX_RETRY = 5 * 60 * 1000

const BATCH = 10

/** For what no wake-up told of: mails of a process that ended, and those to be tried again. */
const pollInterval = Config.Duration("OUTBOX_POLL_INTERVAL").pipe(Config.withDefault(Duration.seconds(5)))

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
            UPDATE outbox SET attempts = attempts + 1, next_attempt_at = ${now}::timestamptz
              + least(${FIRST_RETRY} * power(2, least(attempts, 20)), ${MAX_RETRY}) * interval '1 millisecond'
            WHERE id IN (
              SELECT id FROM outbox WHERE next_attempt_at <= ${now} AND expires_at > ${now}
              ORDER BY next_attempt_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
            ) RETURNING id, payload`
      })

      const forget = (id: bigint) => Effect.asVoid(sql`DELETE FROM outbox WHERE id = ${id}`)

      const deliver = ({ id, payload }: typeof Claimed.Type) =>
        decrypt(payload).pipe(
          Effect.flatMap(mailer.send),
          Effect.matchEffect({
            onSuccess: () => forget(id),
            onFailure: (error) =>
              error._tag === "MailNotSent"
                ? Effect.logWarning("mail not sent, to be tried again", { reason: error.reason })
                : Effect.andThen(Effect.logError("mail cannot be read and is dropped"), forget(id))
          })
        )

      const deliverDue: Effect.Effect<void, unknown> = Effect.gen(function*() {
        const now = new Date(yield* Clock.currentTimeMillis)
        const mails = yield* claim(now)
        yield* Effect.forEach(mails, deliver, { concurrency: BATCH, discard: true })
        if (mails.length === BATCH) yield* deliverDue
      })

      const dropExpired = Effect.gen(function*() {
        const now = new Date(yield* Clock.currentTimeMillis)
        const dropped = yield* sql`DELETE FROM outbox WHERE expires_at <= ${now} RETURNING id`
        if (dropped.length > 0) {
          yield* Effect.logError("mails not sent within a day are dropped", { mails: dropped.length })
        }
      })

      yield* Effect.andThen(deliverDue, dropExpired).pipe(
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

const Claimed = Schema.Struct({ id: Schema.BigInt, payload: Schema.String })

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
