import { Context, DateTime, Duration, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import manifest from "../../../package.json" with { type: "json" }
import { type SystemStatus as Status } from "../../schema/Admin.ts"
import { isErasureDue } from "../identity/AccountState.ts"
import { CounterState } from "../limits/RateCounters.ts"
import { deletionCutoff } from "../retention/DeletionCutoff.ts"
import { RoutingEngine } from "../routing/RoutingEngine.ts"
import { settings } from "../settings/Registry.ts"
import { DateColumn } from "../sql/Columns.ts"

const STATUS_TIMEOUT = Duration.millis(500)

export class SystemStatus extends Context.Service<SystemStatus, {
  /** Never fails: a part that cannot be reached is away. */
  readonly get: Effect.Effect<Status>
}>()("route-planning-service/SystemStatus") {
  static readonly layer = Layer.effect(
    SystemStatus,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const engine = yield* RoutingEngine
      const counters = yield* CounterState
      const grafana = yield* settings.GRAFANA_URLS
      const startedAt = (yield* DateTime.nowAsDate).toISOString()

      const ask = SqlSchema.findOne({
        Request: Schema.Struct({ now: Schema.Date, cutoff: Schema.Date }),
        Result: StateRow,
        execute: ({ cutoff, now }) =>
          sql`
            SELECT current_setting('server_version') AS version, o.*, d.* FROM
              (SELECT count(*)::int AS waiting, min(created_at) AS "oldestMail" FROM outbox
                WHERE expires_at > ${now}) o,
              (SELECT count(*)::int AS pending, (count(*) FILTER (WHERE ${isErasureDue(sql, cutoff)}))::int AS due,
                min(deletion_requested_at) FILTER (WHERE ${isErasureDue(sql, cutoff)}) AS "oldestDue"
                FROM users WHERE deletion_requested_at IS NOT NULL) d`
      })

      const database = Effect.gen(function*() {
        const cutoff = yield* deletionCutoff
        const now = yield* DateTime.nowAsDate
        const [took, row] = yield* Effect.timed(ask({ now, cutoff }))
        return {
          database: { status: "ok" as const, version: row.version, latencyMillis: Duration.toMillis(took) },
          outbox: { waiting: row.waiting, oldestSeconds: secondsSince(row.oldestMail, now) },
          deletions: { pending: row.pending, due: row.due, lagSeconds: secondsSince(row.oldestDue, cutoff) }
        }
      }).pipe(Effect.timeout(STATUS_TIMEOUT), Effect.option, Effect.map(Option.getOrElse(() => databaseAway)))

      return SystemStatus.of({
        get: Effect.gen(function*() {
          const [parts, routingEngine] = yield* Effect.all([database, engine.status], { concurrency: 2 })
          return {
            service: { version: manifest.version, node: process.version, startedAt },
            ...parts,
            routingEngine,
            rateLimits: { counters: yield* counters.get },
            grafana
          }
        }).pipe(Effect.withSpan("SystemStatus.get"))
      })
    })
  )
}

const StateRow = Schema.Struct({
  version: Schema.String,
  waiting: Schema.Int,
  oldestMail: Schema.NullOr(DateColumn),
  pending: Schema.Int,
  due: Schema.Int,
  oldestDue: Schema.NullOr(DateColumn)
})

const databaseAway = {
  database: { status: "away" as const },
  outbox: { waiting: 0, oldestSeconds: 0 },
  deletions: { pending: 0, due: 0, lagSeconds: 0 }
}

const secondsSince = (instant: Date | null, now: Date) =>
  instant === null ? 0 : (now.getTime() - instant.getTime()) / 1000
