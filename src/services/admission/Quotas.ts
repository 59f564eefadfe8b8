import { Config, Context, DateTime, Duration, Effect, flow, Layer, Option, Schema } from "effect"
import { Model } from "effect/schema"
import { SqlClient, SqlError, SqlSchema, type Statement } from "effect/sql"
import { UserId } from "../../schema/Ids.ts"
import { type Quota, QUOTAS, Usage } from "../../schema/User.ts"
import { databaseDefects } from "../db/DatabaseErrors.ts"
import { machineClock } from "../db/SharedTime.ts"
import { Instant, tableOf } from "../db/Tables.ts"
import { QuotaExceeded } from "../DomainErrors.ts"
import { settings } from "../operations/SettingsRegistry.ts"

class LimitsRecord extends Model.Class<LimitsRecord>("LimitsRecord")({
  maxRoutes: Schema.Int,
  maxStoredBytes: Schema.Int,
  maxCollections: Schema.Int,
  seenAt: Instant
}) {}

const limits = tableOf("usage_limits", LimitsRecord)

// A wrong counter, as after a restore without triggers, must not fail a profile or an export.
const usedAndLimit = (counter: string, limit: string) =>
  `json_build_object('used', greatest(0, least(${counter}, ${Number.MAX_SAFE_INTEGER})), 'limit', l.${limit})`

const MAX_INT4 = 2 ** 31 - 1

const USAGE = `json_build_object('routes', ${usedAndLimit("routes", "max_routes")},
  'storedBytes', ${usedAndLimit("stored_bytes", "max_stored_bytes")},
  'collections', ${usedAndLimit("collections", "max_collections")})`

/** These expressions read `route_usage r`. */
export const TOTAL_ROUTES = `greatest(0, least(r.live_routes, ${MAX_INT4}))::int`
export const STORED_BYTES = `greatest(0, least(r.stored_bytes, ${Number.MAX_SAFE_INTEGER}))::bigint`
export const TOTAL_DISTANCE = "round(greatest(0, least(r.live_distance, 1e300)), 2)::float8"

const STATISTICS = `${TOTAL_ROUTES} AS "totalRoutes", ${TOTAL_DISTANCE} AS "totalDistance"`

export const selectUsage = (sql: SqlClient.SqlClient, user: number | Statement.Fragment) =>
  sql`
    SELECT ${sql.literal(USAGE)} AS usage, ${sql.literal(STATISTICS)}
    FROM route_usage r JOIN collection_usage c USING (user_id) CROSS JOIN usage_limits l WHERE user_id = ${user}`

export const selectTotalRoutes = (sql: SqlClient.SqlClient, user: number) =>
  sql`SELECT coalesce((SELECT ${sql.literal(TOTAL_ROUTES)} FROM route_usage r WHERE r.user_id = ${user}), 0) AS total`

export type Addition = Readonly<Record<Quota, number>>

const quotaLimits = Config.all({
  maxRoutes: settings.MAX_ROUTES_PER_USER,
  maxStoredBytes: settings.MAX_STORED_BYTES_PER_USER,
  maxCollections: settings.MAX_COLLECTIONS_PER_USER
})

const SEEN_INTERVAL = Duration.minutes(1)

const SEEN_FOR = Duration.minutes(3)

/**
 * Writes the limits of this process, which hold in all. A process that starts with limits which others have replaced is
 * older: its limits hold again once no process with the newer ones was there for 3 minutes.
 */
const writeLimits = Effect.fnUntraced(function*(
  sql: SqlClient.SqlClient,
  own: Config.Success<typeof quotaLimits>,
  isStart: boolean
) {
  const now = yield* DateTime.nowAsDate
  const values = sql`ARRAY[excluded.max_routes, excluded.max_stored_bytes, excluded.max_collections]`
  const stored = sql`ARRAY[usage_limits.max_routes, usage_limits.max_stored_bytes, usage_limits.max_collections]`
  yield* sql`
    ${limits.insert(sql, { ...own, seenAt: now })} ON CONFLICT (id) DO UPDATE
    SET max_routes = excluded.max_routes, max_stored_bytes = excluded.max_stored_bytes,
      max_collections = excluded.max_collections, seen_at = excluded.seen_at,
      replaced = CASE WHEN ${stored} = ${values} THEN usage_limits.replaced ELSE ${stored} END
    WHERE ${stored} = ${values} OR (${isStart} AND usage_limits.replaced IS DISTINCT FROM ${values})
      OR usage_limits.seen_at < ${new Date(now.getTime() - Duration.toMillis(SEEN_FOR))}`
})

/**
 * PostgreSQL counts every row in its statement, exactly under concurrency, and refuses what exceeds a limit.
 * `begin_usage` gives an account its counters. The triggers `usage_on_insert`, `usage_on_update` and `usage_on_delete`
 * call `count_routes_on_*`, `count_idempotency_keys_on_*` and `count_collections_on_*`, which sum `route_bytes`,
 * `response_bytes` and `live_metres` for `add_route_usage` and `add_collection_usage`; these fail by `refuse_usage`
 * (`db/schema/usage.sql`).
 */
export class Quotas extends Context.Service<Quotas, {
  readonly usage: (userId: UserId) => Effect.Effect<Usage>
  /** Fails unless the whole addition fits. Reserves nothing: concurrent writes may use the room. */
  readonly requireRoom: (userId: UserId, addition: Addition) => Effect.Effect<void, QuotaExceeded>
}>()("route-planning-service/Quotas") {
  static readonly layer = Layer.effect(
    Quotas,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient

      const own = yield* quotaLimits
      yield* Effect.provide(writeLimits(sql, own, true), machineClock)
      yield* writeLimits(sql, own, false).pipe(
        Effect.catchCause((cause) => Effect.logWarning("limits of accounts not written", cause)),
        Effect.delay(SEEN_INTERVAL),
        Effect.forever,
        Effect.provide(machineClock),
        Effect.forkScoped
      )

      const findUsage = SqlSchema.findOne({
        Request: UserId,
        Result: Schema.Struct({ usage: Usage }),
        execute: (id) => selectUsage(sql, id)
      })

      const usage = flow(
        (userId: UserId) => Effect.map(findUsage(userId), ({ usage }) => usage),
        Effect.orDie
      )

      return Quotas.of({
        usage,
        requireRoom: Effect.fnUntraced(function*(userId, addition) {
          const now = yield* usage(userId)
          const exceeded = QUOTAS.find((quota) =>
            addition[quota] > 0 && now[quota].used + addition[quota] > now[quota].limit
          )
          if (exceeded !== undefined) return yield* new QuotaExceeded({ quota: exceeded, ...now[exceeded] })
        })
      })
    })
  )
}

const Refusal = Schema.Struct({
  constraint: Schema.Literal("usage_limits"),
  detail: Schema.fromJsonString(
    Schema.Struct({ quota: Schema.Literals(QUOTAS), limit: Schema.Int, used: Schema.Int })
  )
})

const decodeRefusal = Schema.decodeUnknownOption(Refusal)

/** Fails with `QuotaExceeded` where a quota refused a statement; other database errors are defects. */
export const quotaFailures = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  effect.pipe(
    Effect.catchIf(
      (error): error is Extract<E, SqlError.SqlError> => SqlError.isSqlError(error),
      (error) =>
        Option.match(decodeRefusal(error.reason.cause), {
          onNone: () => Effect.die(error),
          onSome: ({ detail }) => Effect.fail(new QuotaExceeded(detail))
        })
    ),
    databaseDefects
  )
