import { Clock, Context, Duration, Effect, Fiber, FiberSet, Layer, Option, Schema, Struct } from "effect"
import { Model } from "effect/schema"
import { SqlClient, SqlError, SqlSchema } from "effect/sql"
import { UserId } from "../../schema/Ids.ts"
import { IDEMPOTENCY_RETENTION, IDEMPOTENCY_WAIT } from "../../schema/Limits.ts"
import { DatabaseReadOnly, refuseWrites } from "../db/DatabaseErrors.ts"
import { machineClock } from "../db/SharedTime.ts"
import { columnsOf, Instant, tableOf, writtenOnce } from "../db/Tables.ts"
import { KeyInUse, KeyReused, Overloaded, type QuotaExceeded } from "../DomainErrors.ts"
import { Lanes } from "./Lanes.ts"
import { quotaFailures } from "./Quotas.ts"

export interface StoredResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

class KeyRecord extends Model.Class<KeyRecord>("KeyRecord")({
  userId: writtenOnce(UserId),
  endpoint: Schema.String,
  key: Schema.String,
  requestHash: Schema.String,
  createdAt: Instant,
  status: Schema.Int,
  body: Schema.String,
  headers: Model.Field({
    select: Schema.fromJsonString(Schema.Record(Schema.String, Schema.String)),
    insert: Schema.String
  })
}) {}

const keys = tableOf("idempotency_keys", KeyRecord)

const KeyRow = KeyRecord.select.mapFields(Struct.pick(["requestHash", "status", "body", "headers"]))

/**
 * Deletes the responses that show one of `erased`, rows of a table that has the name of its path: those at its location
 * or below, and those of several resources, a batch or a split import, that have its share token or the first one.
 */
export const forgetErased = (sql: SqlClient.SqlClient, owner: UserId, table: string) =>
  sql`
    DELETE FROM idempotency_keys WHERE user_id = ${owner} AND coalesce(
      substring(headers::json ->> 'location' FROM '[a-z]+/[0-9]+') IN (SELECT ${table} || '/' || id FROM erased),
      EXISTS (
        SELECT FROM string_to_table(body, '"shareToken":"') part
        WHERE split_part(part, '"', 1) IN (SELECT unnest(ARRAY[share_token, imported_from]) FROM erased)
      )
    )`

export interface RepeatableCall {
  readonly userId: UserId
  readonly endpoint: string
  readonly key: string
  readonly requestHash: string
}

const KEPT_FOR = Duration.toMillis(IDEMPOTENCY_RETENTION)

export const LongestWait = Context.Reference<Duration.Duration>("route-planning-service/IdempotencyKeys/LongestWait", {
  defaultValue: () => IDEMPOTENCY_WAIT
})

const BETWEEN_TRIES = Duration.millis(100)

/** No client waits that long for a response. */
const LONGEST_WORK = Duration.seconds(30)

const tooLong = () => Effect.die(new Overloaded({ reason: "keyed_work" }))

/** See draft-ietf-httpapi-idempotency-key-header. */
export class IdempotencyKeys extends Context.Service<IdempotencyKeys, {
  /**
   * Runs a call, or returns its stored response; both commit in one transaction. Work that has begun continues when the
   * caller is interrupted. A second call waits up to `LongestWait`, then fails with `KeyInUse`; another request with
   * the key fails with `KeyReused`, a response over the quota with `QuotaExceeded`. A failed call is not stored.
   */
  readonly once: <E, R>(
    call: RepeatableCall,
    work: Effect.Effect<StoredResponse, E, R>
  ) => Effect.Effect<StoredResponse, E | KeyInUse | KeyReused | QuotaExceeded | Overloaded, R>
}>()("route-planning-service/IdempotencyKeys") {
  static readonly layer = Layer.effect(
    IdempotencyKeys,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const { writes } = yield* Lanes
      const isReadOnly = yield* DatabaseReadOnly

      const pause = Effect.provide(Effect.sleep(BETWEEN_TRIES), machineClock)
      const running = yield* FiberSet.make<unknown, unknown>()

      // The lock is released with the transaction, also when the process or its connection ends.
      const lock = SqlSchema.findOne({
        Request: Schema.String,
        Result: Schema.Struct({ isHeld: Schema.Boolean }),
        execute: (name) => sql`SELECT pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) AS "isHeld"`
      })

      const find = SqlSchema.findOneOption({
        Request: Schema.Struct({ userId: UserId, endpoint: Schema.String, key: Schema.String, since: Schema.Date }),
        Result: KeyRow,
        execute: ({ endpoint, key, since, userId }) =>
          sql`
            SELECT ${sql.literal(columnsOf(KeyRow))} FROM idempotency_keys
            WHERE user_id = ${userId} AND endpoint = ${endpoint} AND key = ${key} AND created_at > ${since}
              AND status IS NOT NULL`
      })

      const keep = (call: RepeatableCall, { body, headers, status }: StoredResponse, now: number) =>
        sql`
          ${
          keys.insert(sql, {
            userId: call.userId,
            endpoint: call.endpoint,
            key: call.key,
            requestHash: call.requestHash,
            createdAt: new Date(now),
            status,
            body,
            headers: JSON.stringify(headers)
          })
        }
          ON CONFLICT (user_id, endpoint, key) DO UPDATE
          SET request_hash = excluded.request_hash, created_at = excluded.created_at, status = excluded.status,
            body = excluded.body, headers = excluded.headers`

      const done = Effect.fnUntraced(function*<E, R>(call: RepeatableCall, work: Effect.Effect<StoredResponse, E, R>) {
        const now = yield* Clock.currentTimeMillis
        const kept = yield* Effect.orDie(find({ ...call, since: new Date(now - KEPT_FOR) }))
        if (Option.isNone(kept)) {
          return yield* Effect.tap(
            work,
            (response) => quotaFailures(keep(call, response, now))
          )
        }
        const { body, headers, requestHash, status } = kept.value
        return requestHash === call.requestHash ? { status, body, headers } : yield* new KeyReused()
      })

      // The attempt locks before it reads, so that it sees what the previous call committed.
      const attempt = <E, R>(call: RepeatableCall, work: Effect.Effect<StoredResponse, E, R>) =>
        Effect.orDie(lock(JSON.stringify([call.userId.toString(), call.endpoint, call.key]))).pipe(
          Effect.flatMap(({ isHeld }) => isHeld ? Effect.asSome(done(call, work)) : Effect.succeedNone),
          sql.withTransaction,
          (attempted) => writes(call.userId, attempted),
          Effect.catchIf(SqlError.isSqlError, Effect.die),
          Effect.timeoutOrElse({ duration: LONGEST_WORK, orElse: tooLong })
        )

      return IdempotencyKeys.of({
        once: Effect.fnUntraced(function*(call, work) {
          if (yield* isReadOnly) return yield* refuseWrites
          const begun = Effect.flatMap(FiberSet.run(running, attempt(call, work)), Fiber.join)
          const tries = Math.ceil(Duration.toMillis(yield* LongestWait) / Duration.toMillis(BETWEEN_TRIES))
          const tried = Effect.tap(begun, (response) => Option.isSome(response) ? Effect.void : pause)
          const response = yield* Effect.repeat(tried, { times: tries, until: Option.isSome })
          return Option.isSome(response) ? response.value : yield* new KeyInUse()
        })
      })
    })
  )
}
