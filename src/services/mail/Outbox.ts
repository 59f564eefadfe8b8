import { Clock, Context, Duration, Effect, Layer, Option, Queue, Schema } from "effect"
import { Model } from "effect/schema"
import { SqlClient } from "effect/sql"
import { UserId } from "../../schema/Ids.ts"
import { traceIdsOf } from "../metrics/TraceIds.ts"
import { TimestampColumn } from "../sql/Columns.ts"
import { Instant, InstantOnce, readOnly, tableOf } from "../sql/Tables.ts"
import { traced } from "../tracing/Traced.ts"
import type { Mail } from "./Mail.ts"
import { mailCipher, type OutboxPayload } from "./MailCipher.ts"
import type { MailRequest } from "./MailRequests.ts"

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
  expiresAt: InstantOnce,
  countedAt: Model.Field({ select: Schema.NullOr(TimestampColumn), update: Schema.Date })
}) {}

export const outbox = tableOf("outbox", OutboxRecord)

/** Mails are written in the transaction that causes them: a provider outage delays them and loses none. */
export class Outbox extends Context.Service<Outbox, {
  /** Encrypted, in the transaction of the caller. Deleted with the user. */
  readonly put: (userId: UserId, mail: Mail) => Effect.Effect<void>
  /** Encrypted, in the transaction of the caller. Takes the same time for every address: see `MailRequest`. */
  readonly request: (request: MailRequest) => Effect.Effect<void>
  /** Sends pending mails now. Call it after the transaction. */
  readonly wake: Effect.Effect<void>
  /** For the one delivery of this process. */
  readonly woken: Effect.Effect<void>
}>()("route-planning-service/Outbox") {
  static readonly layer = Layer.effect(
    Outbox,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const { encrypt } = yield* mailCipher
      const wakeUps = yield* Queue.sliding<void>(1)

      const write = Effect.fnUntraced(function*(userId: UserId | null, payload: OutboxPayload) {
        const now = yield* Clock.currentTimeMillis
        yield* outbox.insert(sql, {
          userId,
          payload: yield* encrypt(payload),
          createdAt: new Date(now),
          nextAttemptAt: new Date(now),
          expiresAt: new Date(now + LIFETIME)
        })
      }, Effect.orDie)

      return Outbox.of({
        put: traced("Outbox.put")((userId, mail) => write(userId, mail)),
        request: traced("Outbox.request")(function*(request) {
          const trace = traceIdsOf(yield* Effect.context<never>())
          yield* write(null, {
            request,
            ...(Option.isNone(trace) ? {} : { trace: { traceId: trace.value.traceId, spanId: trace.value.spanId } })
          })
        }),
        wake: Effect.asVoid(Queue.offer(wakeUps, undefined)),
        woken: Queue.take(wakeUps)
      })
    })
  )
}
