import { Config, Context, Effect, Layer, Option, Schema } from "effect"
import { Model } from "effect/schema"
import { SqlClient, SqlError, SqlSchema, type Statement } from "effect/sql"
import { QuotaExceeded } from "../../schema/DomainErrors.ts"
import { UserId } from "../../schema/Ids.ts"
import { type Quota, QUOTAS, Usage } from "../../schema/Usage.ts"
import { byteSize, whole } from "../settings/SettingTypes.ts"
import { databaseDefects } from "../sql/DatabaseDefects.ts"
import { tableOf } from "../sql/Tables.ts"
import { traced } from "../tracing/Traced.ts"

class LimitsRecord extends Model.Class<LimitsRecord>("LimitsRecord")({
  maxRoutes: Schema.Int,
  maxStoredBytes: Schema.Int,
  maxCollections: Schema.Int
}) {}

const limits = tableOf("usage_limits", LimitsRecord)

// A wrong counter, as after a restore without triggers, must not fail a profile or an export.
const usedAndLimit = (counter: string, limit: string) =>
  `json_build_object('used', greatest(0, least(${counter}, ${Number.MAX_SAFE_INTEGER})), 'limit', l.${limit})`

const MAX_INT4 = 2 ** 31 - 1

const USAGE = `json_build_object('routes', ${usedAndLimit("routes", "max_routes")},
  'storedBytes', ${usedAndLimit("stored_bytes", "max_stored_bytes")},
  'collections', ${usedAndLimit("collections", "max_collections")})`

/** Of `route_usage r`. */
export const TOTAL_ROUTES = `greatest(0, least(r.live_routes, ${MAX_INT4}))::int`
export const TOTAL_DISTANCE = "greatest(0, least(r.live_distance, 1e300))::float8"

/** The `Statistics` of an account, for its owner. */
const STATISTICS = `${TOTAL_ROUTES} AS "totalRoutes", ${TOTAL_DISTANCE} AS "totalDistance"`

/** Selects the `Usage` and `Statistics` of a user, for statements that read more of them. */
export const selectUsage = (sql: SqlClient.SqlClient, user: number | Statement.Fragment) =>
  sql`
    SELECT ${sql.literal(USAGE)} AS usage, ${sql.literal(STATISTICS)}
    FROM route_usage r JOIN collection_usage c USING (user_id) CROSS JOIN usage_limits l WHERE user_id = ${user}`

export type Addition = Readonly<Record<Quota, number>>

export const QUOTA_SETTINGS = {
  maxRoutes: whole(1, 1_000_000, "MAX_ROUTES_PER_USER").pipe(Config.withDefault(10000)),
  maxStoredBytes: byteSize("MAX_STORED_BYTES_PER_USER", "1 GiB"),
  maxCollections: whole(1, 1_000_000, "MAX_COLLECTIONS_PER_USER").pipe(Config.withDefault(1000))
}

/** Triggers count every row in its statement and refuse what exceeds a limit: exact under concurrency. */
export class Quotas extends Context.Service<Quotas, {
  readonly usage: (userId: UserId) => Effect.Effect<Usage>
  /** Fails unless the whole addition fits. Reserves nothing: concurrent writes may use the room. */
  readonly requireRoom: (userId: UserId, addition: Addition) => Effect.Effect<void, QuotaExceeded>
}>()("route-planning-service/Quotas") {
  static readonly layer = Layer.effect(
    Quotas,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient

      yield* sql`
        ${limits.insert(sql, yield* Config.all(QUOTA_SETTINGS))} ON CONFLICT (id) DO UPDATE
        SET max_routes = excluded.max_routes, max_stored_bytes = excluded.max_stored_bytes,
          max_collections = excluded.max_collections`

      const findUsage = SqlSchema.findOne({
        Request: UserId,
        Result: Schema.Struct({ usage: Usage }),
        execute: (id) => selectUsage(sql, id)
      })

      const usage = traced("Quotas.usage")(
        (userId: UserId) => Effect.map(findUsage(userId), ({ usage }) => usage),
        Effect.orDie
      )

      return Quotas.of({
        usage,
        requireRoom: traced("Quotas.requireRoom")(function*(userId, addition) {
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

/** `QuotaExceeded` where a statement was refused because an account is over one of its quotas; other database errors are defects. */
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
