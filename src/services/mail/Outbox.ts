import { Clock, Config, Context, Duration, Effect, Layer, Option, Queue, Schema } from "effect"
import { Model } from "effect/schema"
import { SqlClient, type Statement } from "effect/sql"
import { compactDecrypt, CompactEncrypt } from "jose"
import { createHmac } from "node:crypto"
import { UserId } from "../../schema/Ids.ts"
import { MAILS_A_DAY, MAILS_A_DAY_IN_ALL, MAILS_AN_HOUR } from "../../schema/Limits.ts"
import { Instant, InstantOnce, readOnly, tableOf, TimestampColumn } from "../db/Tables.ts"
import { emailKey } from "../identity/Users.ts"
import { derivedKey } from "../operations/Keys.ts"
import { traceIdsOf } from "../operations/RequestNotes.ts"
import { Mail, MailRequest } from "./Mailers.ts"

const HOUR = Duration.toMillis(Duration.hours(1))
const DAY = Duration.toMillis(Duration.days(1))

/** Notices, which nobody requests, have limits of their own by this network. */
const NO_NETWORK = ""

/** Limits mails to one address, so that nobody floods a mailbox and no network uses up the mails of others. */
export class MailQuota extends Context.Service<MailQuota, {
  /**
   * Returns false, without counting, above a limit; exact across processes, in the transaction of the caller. A mail
   * without a network is a notice, whose limit is its own: a thief of a session causes notices, strangers the others.
   */
  readonly take: (address: string, network?: string) => Effect.Effect<boolean>
  /** Returns true if no network can request a mail to the address now. */
  readonly isUsedUp: (address: string) => Effect.Effect<boolean>
  readonly forget: (address: string) => Effect.Effect<void>
}>()("route-planning-service/MailQuota") {
  static readonly layer = Layer.effect(
    MailQuota,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const key = yield* derivedKey("mail-quota")

      const keyed = (text: string) => createHmac("sha256", key).update(text).digest("base64url")
      const digest = (address: string) => keyed(emailKey(address))
      const laneOf = (recipient: string, network: string) => keyed(`${recipient} ${network}`)

      const sent = sql`unnest(q.sent_at, q.sent_from) AS sent(at, network)`

      const sentSince = (since: number, lane: Statement.Fragment) =>
        sql`
          (SELECT count(*) FROM ${sent} WHERE sent.at > ${new Date(since)}::timestamptz AND ${lane})`

      const askedSince = (since: number, recipient: string) =>
        sentSince(since, sql`sent.network IS DISTINCT FROM ${laneOf(recipient, NO_NETWORK)}`)

      return MailQuota.of({
        take: Effect.fnUntraced(function*(address, network = NO_NETWORK) {
          const now = yield* Clock.currentTimeMillis
          const recipient = digest(address)
          const asking = laneOf(recipient, network)
          const ofLane = sql`sent.network = ${asking}`
          const rows = yield* sql`
            INSERT INTO mail_quotas AS q (recipient, sent_at, sent_from, expires_at)
            VALUES (${recipient}, ARRAY[${new Date(now)}::timestamptz], ARRAY[${asking}], ${new Date(now + DAY)})
            ON CONFLICT (recipient) DO UPDATE SET
              (sent_at, sent_from) = (
                SELECT coalesce(array_agg(sent.at), '{}') || excluded.sent_at,
                  coalesce(array_agg(sent.network), '{}') || excluded.sent_from
                FROM ${sent} WHERE sent.at > ${new Date(now - DAY)}::timestamptz
              ),
              expires_at = excluded.expires_at
            WHERE ${sentSince(now - HOUR, ofLane)} < ${MAILS_AN_HOUR} AND ${
            sentSince(now - DAY, ofLane)
          } < ${MAILS_A_DAY}
              AND ${
            network === NO_NETWORK ? sql`true` : sql`${askedSince(now - DAY, recipient)} < ${MAILS_A_DAY_IN_ALL}`
          }
            RETURNING recipient`
          return rows.length > 0
        }, Effect.orDie),

        isUsedUp: Effect.fnUntraced(function*(address) {
          const dayAgo = (yield* Clock.currentTimeMillis) - DAY
          const recipient = digest(address)
          const rows = yield* sql`
            SELECT recipient FROM mail_quotas q
            WHERE recipient = ${recipient} AND ${askedSince(dayAgo, recipient)} >= ${MAILS_A_DAY_IN_ALL}`
          return rows.length > 0
        }, Effect.orDie),

        forget: (address) =>
          sql`DELETE FROM mail_quotas WHERE recipient = ${digest(address)}`.pipe(Effect.asVoid, Effect.orDie)
      })
    })
  )
}

const StoredRequest = Schema.Struct({
  request: MailRequest,
  trace: Schema.optionalKey(
    Schema.Struct({ traceId: Schema.String, spanId: Schema.String })
  )
})
export type StoredRequest = typeof StoredRequest.Type

const Payload = Schema.fromJsonString(Schema.Union([StoredRequest, Mail]))
export type OutboxPayload = typeof Payload.Type

const decodePayload = Schema.decodeEffect(Payload)

const encodePayload = Schema.encodeSync(Payload)

/** Encrypts as JWE (A256GCM) with a key derived from `JWT_SECRET`: the link in a mail is a secret. */
export const mailCipher = Config.map(derivedKey("outbox"), (key) => ({
  encrypt: (payload: OutboxPayload) =>
    Effect.promise(() =>
      new CompactEncrypt(new TextEncoder().encode(encodePayload(payload)))
        .setProtectedHeader({ alg: "dir", enc: "A256GCM" })
        .encrypt(key)
    ),
  decrypt: (payload: string) =>
    Effect.tryPromise(() => compactDecrypt(payload, key)).pipe(
      Effect.flatMap(({ plaintext }) => decodePayload(new TextDecoder().decode(plaintext)))
    )
}))

/** Links in older mails have expired. */
const LIFETIME = Duration.toMillis(Duration.hours(24))

export class OutboxRecord extends Model.Class<OutboxRecord>("OutboxRecord")({
  id: readOnly(Schema.Int),
  userId: Schema.NullOr(UserId),
  payload: Schema.String,
  attempts: readOnly(Schema.Int),
  idempotencyKey: readOnly(Schema.String),
  createdAt: InstantOnce,
  nextAttemptAt: Instant,
  expiresAt: Instant,
  countedAt: Model.Field({ select: Schema.NullOr(TimestampColumn), update: Schema.Date })
}) {}

export const outbox = tableOf("outbox", OutboxRecord)

/** Mails are written in the transaction that causes them: a provider outage delays them and loses none. */
export class Outbox extends Context.Service<Outbox, {
  /** Writes a mail, encrypted, in the transaction of the caller, and sends it afterwards. It is deleted with the user. */
  readonly put: (userId: UserId, mail: Mail) => Effect.Effect<void>
  /** Writes a request as `put` does a mail, in the same time for every address (`MailRequest`). */
  readonly request: (request: MailRequest) => Effect.Effect<void>
  /** Sends pending mails now. */
  readonly wake: Effect.Effect<void>
  /** The one delivery of this process waits for this. */
  readonly woken: Effect.Effect<void>
}>()("route-planning-service/Outbox") {
  static readonly layer = Layer.effect(
    Outbox,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const { encrypt } = yield* mailCipher
      const wakeUps = yield* Queue.sliding<void>(1)
      const wake = Effect.asVoid(Queue.offer(wakeUps, undefined))

      const write = Effect.fnUntraced(function*(userId: UserId | null, payload: OutboxPayload) {
        const now = yield* Clock.currentTimeMillis
        yield* outbox.insert(sql, {
          userId,
          payload: yield* encrypt(payload),
          createdAt: new Date(now),
          nextAttemptAt: new Date(now),
          expiresAt: new Date(now + LIFETIME)
        }).pipe(
          // An interrupted insert may be stored.
          Effect.ensuring(sql.afterCommit(wake))
        )
      }, Effect.orDie)

      return Outbox.of({
        put: (userId, mail) => write(userId, mail),
        request: Effect.fnUntraced(function*(request) {
          const trace = traceIdsOf(yield* Effect.context<never>())
          yield* write(null, {
            request,
            ...(Option.isNone(trace) ? {} : { trace: { traceId: trace.value.traceId, spanId: trace.value.spanId } })
          })
        }),
        wake,
        woken: Queue.take(wakeUps)
      })
    })
  )
}
