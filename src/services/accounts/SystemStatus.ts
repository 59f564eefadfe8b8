import { Config, Context, DateTime, Duration, Effect, Layer, Option, Redacted, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { SystemStatus as Status } from "../../schema/Admin.ts"
import { CounterState } from "../admission/RateLimits.ts"
import { ReadReplicas } from "../db/ReadReplicas.ts"
import { deletionCutoff, sweepStates } from "../db/Sweeps.ts"
import { DateColumn } from "../db/Tables.ts"
import { isErasureDue } from "../identity/Users.ts"
import { build } from "../operations/Build.ts"
import { Warnings } from "../operations/Metrics.ts"
import { registry, settings } from "../operations/SettingsRegistry.ts"
import { RoutingEngine } from "../routing/Engine.ts"
import { IdentityProvider } from "./Provider.ts"

const STATUS_TIMEOUT = Duration.millis(500)

const isSecret = (value: unknown): boolean => Array.isArray(value) ? value.some(isSecret) : Redacted.isRedacted(value)

/** A URL may have a key in the parts that are left out. */
const shownValue = (value: unknown, text: string) => value instanceof URL ? value.origin + value.pathname : text

/** Returns the settings that are given and differ from their defaults, as they are written, without secrets. */
const changedSettings = Effect.forEach(registry, ({ given, name, otherwise }) =>
  Effect.gen(function*() {
    const value = Option.getOrUndefined(yield* given)
    const text = Option.getOrElse(yield* Config.option(Config.String(name)), () => otherwise)
    return value === undefined || isSecret(value) || text === otherwise
      ? []
      : [{ name, value: shownValue(value, text) }]
  })).pipe(Effect.map((settings) => settings.flat()))

const wayToMail = Config.map(
  Config.all([settings.EMAIL_API_KEY, settings.SMTP_URL]),
  ([key, server]) => {
    if (Option.isSome(key)) return "provider"
    return Option.isSome(server) ? "smtp" : "standard-output"
  }
)

export class SystemStatus extends Context.Service<SystemStatus, {
  /** Never fails: a part that cannot be reached is away. */
  readonly get: Effect.Effect<Status>
}>()("route-planning-service/SystemStatus") {
  static readonly layer = Layer.effect(
    SystemStatus,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const engine = yield* RoutingEngine
      const { status: providers } = yield* IdentityProvider
      const counters = yield* CounterState
      const grafana = yield* settings.GRAFANA_URLS
      const replicas = yield* ReadReplicas
      const sentBy = yield* wayToMail
      const warnings = yield* Warnings
      const changed = yield* changedSettings
      const startedAt = (yield* DateTime.nowAsDate).toISOString()
      const service = { ...yield* build, node: process.version, startedAt }

      const ask = SqlSchema.findOne({
        Request: Schema.Struct({ now: Schema.Date, cutoff: Schema.Date }),
        Result: StateRow,
        execute: ({ cutoff, now }) =>
          sql`
            SELECT current_setting('server_version') AS version, o.*, d.* FROM
              (SELECT count(*)::int AS waiting, (count(*) FILTER (WHERE attempts > 1))::int AS failing,
                min(created_at) AS "oldestMail" FROM outbox
                WHERE expires_at > ${now}) o,
              (SELECT count(*)::int AS pending, (count(*) FILTER (WHERE ${isErasureDue(sql, cutoff)}))::int AS due,
                min(deletion_requested_at) FILTER (WHERE ${isErasureDue(sql, cutoff)}) AS "oldestDue"
                FROM users WHERE deletion_requested_at IS NOT NULL) d`
      })

      const tables = SqlSchema.findAll({
        Request: Schema.Void,
        Result: TableRow,
        execute: () =>
          sql`
            SELECT relname AS name, pg_total_relation_size(oid)::bigint AS bytes FROM pg_class
            WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace ORDER BY bytes DESC, relname`
      })

      const database = Effect.gen(function*() {
        const cutoff = yield* deletionCutoff
        const now = yield* DateTime.nowAsDate
        const [took, row] = yield* Effect.timed(ask({ now, cutoff }))
        return {
          database: {
            status: "ok" as const,
            version: row.version,
            latencyMillis: Duration.toMillis(took),
            tables: yield* tables()
          },
          outbox: { waiting: row.waiting, failing: row.failing, oldestSeconds: secondsSince(row.oldestMail, now) },
          deletions: { pending: row.pending, due: row.due, lagSeconds: secondsSince(row.oldestDue, cutoff) }
        }
      }).pipe(Effect.timeout(STATUS_TIMEOUT), Effect.option, Effect.map(Option.getOrElse(() => databaseAway)))

      return SystemStatus.of({
        get: Effect.gen(function*() {
          const [parts, routingEngine, identityProviders] = yield* Effect.all(
            [database, engine.status, providers],
            { concurrency: "unbounded" }
          )
          return {
            service,
            ...parts,
            outbox: { sentBy, ...parts.outbox },
            replicas: yield* replicas.states,
            routingEngine,
            identityProviders,
            rateLimits: { counters: yield* counters.get },
            sweeps: yield* sweepStates,
            settings: changed,
            warnings: yield* warnings.all,
            grafana
          }
        })
      })
    })
  )
}

const StateRow = Schema.Struct({
  version: Schema.String,
  waiting: Schema.Int,
  failing: Schema.Int,
  oldestMail: Schema.NullOr(DateColumn),
  pending: Schema.Int,
  due: Schema.Int,
  oldestDue: Schema.NullOr(DateColumn)
})

const TableRow = Schema.Struct({ name: Schema.String, bytes: Schema.Int })

const databaseAway = {
  database: { status: "away" as const, tables: [] },
  outbox: { waiting: 0, failing: 0, oldestSeconds: 0 },
  deletions: { pending: 0, due: 0, lagSeconds: 0 }
}

const secondsSince = (instant: Date | null, now: Date) =>
  instant === null ? 0 : (now.getTime() - instant.getTime()) / 1000
