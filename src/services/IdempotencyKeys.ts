import { Clock, Context, Duration, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlError, SqlSchema } from "effect/sql"
import { Conflict } from "../schema/Errors.ts"
import { UserId } from "../schema/Ids.ts"
import { conflictOrDie } from "./limits/Quotas.ts"

/** An answer as it is kept to be given again. */
export interface KeptAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A call that a client may repeat without its being done twice. */
export interface RepeatableCall {
  readonly userId: UserId
  readonly endpoint: string
  readonly key: string
  /** By which the same request is known. */
  readonly requestHash: string
}

const KEPT_FOR = Duration.toMillis(Duration.hours(24))

/** A call that was not ended by then was not ended by anybody: its process is gone. */
const GIVEN_UP_AFTER = Duration.toMillis(Duration.minutes(1))

const inFlight = new Conflict({ message: "The first request with this Idempotency-Key is still being worked on" })

const anotherRequest = new Conflict({ message: "This Idempotency-Key was used for another request" })

/** Remembers for 24 hours what was answered to a call (draft-ietf-httpapi-idempotency-key-header). */
export class IdempotencyKeys extends Context.Service<IdempotencyKeys, {
  /**
   * Does the work of a call, or gives the first answer again. `Conflict` while the first is in flight, and for another
   * request under the same key, and when the account has no room for the response. A call that failed is forgotten, and
   * may be tried again. The work and the response are one transaction: neither is stored without the other.
   */
  readonly once: <E, R>(
    call: RepeatableCall,
    work: Effect.Effect<KeptAnswer, E, R>
  ) => Effect.Effect<KeptAnswer, E | Conflict, R>
}>()("route-planning-service/IdempotencyKeys") {
  static readonly layer = Layer.effect(
    IdempotencyKeys,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient

      const find = SqlSchema.findOneOption({
        Request: Schema.Struct({ userId: UserId, endpoint: Schema.String, key: Schema.String }),
        Result: KeyRow,
        execute: ({ endpoint, key, userId }) =>
          sql`
            SELECT request_hash, status, body, headers FROM idempotency_keys
            WHERE user_id = ${userId} AND endpoint = ${endpoint} AND key = ${key}`
      })

      // One statement decides who does the work: the first, or whoever comes after the day or after a crash.
      const claim = Effect.fnUntraced(function*({ endpoint, key, requestHash, userId }: RepeatableCall, now: number) {
        const rows = yield* sql`
          INSERT INTO idempotency_keys (user_id, endpoint, key, request_hash, created_at)
          VALUES (${userId}, ${endpoint}, ${key}, ${requestHash}, ${new Date(now)})
          ON CONFLICT (user_id, endpoint, key) DO UPDATE
          SET request_hash = excluded.request_hash, created_at = excluded.created_at, status = NULL, body = NULL,
            headers = NULL
          WHERE idempotency_keys.created_at <= ${new Date(now - KEPT_FOR)}
            OR (idempotency_keys.status IS NULL AND idempotency_keys.created_at <= ${new Date(now - GIVEN_UP_AFTER)})
          RETURNING key`
        return rows.length > 0
      })

      const keep = ({ endpoint, key, userId }: RepeatableCall, { body, headers, status }: KeptAnswer) =>
        sql`
          UPDATE idempotency_keys SET status = ${status}, body = ${body}, headers = ${JSON.stringify(headers)}
          WHERE user_id = ${userId} AND endpoint = ${endpoint} AND key = ${key}`

      const forget = ({ endpoint, key, userId }: RepeatableCall) =>
        sql`
          DELETE FROM idempotency_keys
          WHERE user_id = ${userId} AND endpoint = ${endpoint} AND key = ${key} AND status IS NULL`

      const replay = Effect.fnUntraced(function*(call: RepeatableCall) {
        const row = yield* Effect.orDie(find(call))
        if (Option.isNone(row)) return yield* inFlight
        const { body, headers, request_hash, status } = row.value
        if (request_hash !== call.requestHash) return yield* anotherRequest
        return status === null || body === null ? yield* inFlight : { status, body, headers: headers ?? {} }
      })

      return IdempotencyKeys.of({
        once: Effect.fn("IdempotencyKeys.once")(function*(call, work) {
          const isOurs = yield* Effect.orDie(claim(call, yield* Clock.currentTimeMillis))
          if (!isOurs) return yield* replay(call)
          return yield* work.pipe(
            Effect.tap((answer) => Effect.catchTag(keep(call, answer), "SqlError", conflictOrDie)),
            sql.withTransaction,
            Effect.catchIf(SqlError.isSqlError, Effect.die),
            Effect.onError(() => Effect.ignore(forget(call)))
          )
        })
      })
    })
  )
}

const KeyRow = Schema.Struct({
  request_hash: Schema.String,
  status: Schema.NullOr(Schema.Int),
  body: Schema.NullOr(Schema.String),
  headers: Schema.NullOr(Schema.fromJsonString(Schema.Record(Schema.String, Schema.String)))
})
