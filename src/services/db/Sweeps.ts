import { Cause, Clock, type Config, Duration, Effect, Layer, Metric, Option, Schema } from "effect"
import { SqlClient, SqlError, SqlSchema } from "effect/sql"
import {
  AUDIT_RETENTION,
  ENDED_LINKS_KEPT,
  ENDED_TOKENS_KEPT,
  GRACE_PERIOD,
  IDEMPOTENCY_RETENTION
} from "../../schema/Limits.ts"
import type { Trashed } from "../../schema/Resource.ts"
import { atZero } from "../operations/Metrics.ts"
import { settings } from "../operations/SettingsRegistry.ts"
import { isServerState, sqlStateOf } from "./DatabaseErrors.ts"
import { makeSharedTime } from "./SharedTime.ts"
import { DateColumn } from "./Tables.ts"

/** The oldest row was due for `lagMillis`. */
export interface Swept {
  readonly rows: number
  readonly lagMillis: number
}

export const nothingSwept: Swept = { rows: 0, lagMillis: 0 }

export const plus = (one: Swept, other: Swept): Swept => ({
  rows: one.rows + other.rows,
  lagMillis: Math.max(one.lagMillis, other.lagMillis)
})

export const sweptAt = (now: number, due: ReadonlyArray<Date>): Swept => ({
  rows: due.length,
  lagMillis: due.reduce((lag, instant) => Math.max(lag, now - instant.getTime()), 0)
})

/** Takes batch after batch, with `between` after each, until a batch has fewer than `size` rows. */
export const sweepUntilShort = <E, R>(
  batch: Effect.Effect<Swept, E, R>,
  size: number,
  between: Effect.Effect<void> = Effect.void
): Effect.Effect<Swept, E, R> =>
  Effect.flatMap(batch, (swept) =>
    swept.rows < size
      ? Effect.succeed(swept)
      : Effect.andThen(between, Effect.map(sweepUntilShort(batch, size, between), (rest) => plus(swept, rest))))

const lastRun = Metric.gauge("sweep_last_run_timestamp_seconds", {
  description: "End of the last run, in seconds since 1970"
})
const rows = Metric.counter("sweep_rows_total", {
  description: "Rows that the sweep deleted or derived again",
  incremental: true
})
const lag = Metric.gauge("sweep_lag_seconds", {
  description: "Age of the oldest due row at the last run"
})
const failures = Metric.counter("sweep_failures_total", { description: "Runs that failed", incremental: true })

const succeeded = Effect.fnUntraced(function*(sweep: string, swept: Swept) {
  const now = yield* Clock.currentTimeMillis
  yield* Metric.update(Metric.withAttributes(lastRun, { sweep }), now / 1000)
  yield* Metric.update(Metric.withAttributes(rows, { sweep }), swept.rows)
  yield* Metric.update(Metric.withAttributes(lag, { sweep }), swept.lagMillis / 1000)
})

/** Returns when each sweep of this process ended last, without those that have not run yet. */
export const sweepStates = Effect.map(
  Metric.snapshot,
  (all) =>
    all.flatMap(({ attributes, id, state }) =>
      id === lastRun.id && "value" in state
        ? [{ name: attributes?.["sweep"] ?? "", lastRunAt: new Date(Number(state.value) * 1000).toISOString() }]
        : []
    )
)

const sweepFailed = (sweep: string, cause: Cause.Cause<unknown>): Effect.Effect<void> =>
  Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.andThen(
    Effect.logError(`sweep of ${sweep} failed`, cause),
    Metric.update(Metric.withAttributes(failures, { sweep }), 1)
  )

/** Sweeps what `find` returns, one by one. One that fails is logged, skipped until the next run, and delays no other. */
export const sweepEach = <Id, E, R, R2>(
  sweep: string,
  find: (skipped: ReadonlyArray<Id>) => Effect.Effect<ReadonlyArray<{ readonly id: Id }>, E, R>,
  sweepOne: (id: Id) => Effect.Effect<Swept, unknown, R2>,
  skipped: ReadonlyArray<Id> = []
): Effect.Effect<Swept, E, R | R2> =>
  Effect.gen(function*() {
    const [done, failed] = yield* Effect.partition(yield* find(skipped), ({ id }) =>
      Effect.catchCause(
        sweepOne(id),
        (cause) => Effect.andThen(sweepFailed(sweep, cause), Effect.fail(id))
      ))
    const swept = done.reduce(plus, nothingSwept)
    if (failed.length === 0 && swept.rows === 0) return swept
    return plus(swept, yield* sweepEach(sweep, find, sweepOne, [...skipped, ...failed]))
  })

/**
 * Retries once: an idle connection may be dead, and one that opens while a test clock advances times out. Returns
 * false if the retry failed too.
 */
export const runSweep = <E, R>(name: string, sweep: Effect.Effect<Swept, E, R>): Effect.Effect<boolean, never, R> =>
  atZero([rows, failures].map((counter) => Metric.withAttributes(counter, { sweep: name }))).pipe(
    Effect.andThen(sweep),
    Effect.catchDefect(Effect.fail),
    Effect.retry({ times: 1 }),
    Effect.tapCause((cause) => sweepFailed(name, cause)),
    Effect.withSpan(`Sweeps.${name}`),
    Effect.flatMap((swept) => Effect.as(succeeded(name, swept), true)),
    Effect.catchCause(() => Effect.succeed(false))
  )

/** A run leaves only rows that were locked or failed, and they are overdue. */
export const overdue = <E, R>(isDue: Effect.Effect<boolean, E, R>): Effect.Effect<Option.Option<Date>, E, R> =>
  Effect.map(isDue, (due) => due ? Option.some(new Date(0)) : Option.none())

const decodeEarliest = Schema.decodeUnknownEffect(
  Schema.Tuple([Schema.Struct({ earliest: Schema.OptionFromNullOr(DateColumn) })])
)

/** Reads the column `earliest` of the only row. */
export const earliestIn = <E, R>(rows: Effect.Effect<ReadonlyArray<unknown>, E, R>) =>
  Effect.map(Effect.flatMap(rows, decodeEarliest), ([{ earliest }]) => earliest)

const RETRY_INTERVAL = Duration.minutes(1)

interface Schedule<R> {
  /** Other processes may write rows that are due earlier. */
  readonly longestSleep: Config.Config<Duration.Duration>
  /** Returns false if it failed: it is run again after a minute then. */
  readonly run: Effect.Effect<boolean, never, R>
  readonly earliestDue: Effect.Effect<Option.Option<Date>, unknown, R>
}

/** Sleeps until the next row is due, at most for the longest sleep. Ends between two transactions. */
export const scheduled = Effect.fnUntraced(function*<R>(
  { earliestDue, longestSleep, run }: Schedule<R>
) {
  const longest = yield* longestSleep

  const dueAfter = (startedAt: number) =>
    earliestDue.pipe(
      Effect.map(Option.map((due) => due.getTime())),
      Effect.catchCause((cause) => Effect.as(Effect.logError("next due row unknown", cause), Option.some(startedAt)))
    )

  yield* Effect.gen(function*() {
    const startedAt = yield* Clock.currentTimeMillis
    const isDone = yield* run
    // A test clock may advance during the query: the sleep counts from its start.
    const askedAt = yield* Clock.currentTimeMillis
    const due = isDone ? yield* dueAfter(startedAt) : Option.some(startedAt)
    const latest = askedAt + Duration.toMillis(longest)
    const next = Option.match(due, {
      onNone: () => latest,
      onSome: (at) => Math.min(at <= startedAt ? askedAt + Duration.toMillis(RETRY_INTERVAL) : at, latest)
    })
    yield* Effect.sleep(Math.max(0, next - (yield* Clock.currentTimeMillis)))
  }).pipe(Effect.forever, Effect.forkScoped)
})

/** Rows that were deleted before this instant are erased and cannot be restored. */
export const deletionCutoffAt = (now: number) => new Date(now - Duration.toMillis(GRACE_PERIOD))

/** Uses the clock of this process; erasure uses the shared time. */
export const deletionCutoff = Effect.map(Clock.currentTimeMillis, deletionCutoffAt)

export const erasureDueAt = (deletedAt: Date) => new Date(deletedAt.getTime() + Duration.toMillis(GRACE_PERIOD))

export const trashedAt = (deletedAt: Date): Trashed => ({
  deletedAt: deletedAt.toISOString(),
  purgedAt: erasureDueAt(deletedAt).toISOString()
})

/** One statement erases this many rows: with the longest lines or the most members it stays below its timeout. */
export const PURGED_AT_ONCE = 100

interface Expiring {
  readonly table: string
  readonly key: string
  readonly column: string
  readonly kept: Duration.Duration
}

const TRASH = { key: "id", column: "deleted_at", kept: GRACE_PERIOD }

/** Rows that expire in one minute are deleted together at its end. */
const STEP = Duration.toMillis(Duration.minutes(1))

const EXPIRED = { column: "expires_at", kept: Duration.zero }

const ALL: ReadonlyArray<Expiring> = [
  { table: "routes", ...TRASH },
  { table: "collections", ...TRASH },
  { table: "sessions", key: "id", ...EXPIRED },
  { table: "share_links", key: "id", ...EXPIRED },
  { table: "sign_ups", key: "id", ...EXPIRED },
  { table: "mail_quotas", key: "recipient", ...EXPIRED },
  // Expired links are kept for a while, so that the response says why they are refused.
  { table: "email_tokens", key: "token_hash", column: "expires_at", kept: ENDED_LINKS_KEPT },
  { table: "personal_access_tokens", key: "id", column: "expires_at", kept: ENDED_TOKENS_KEPT },
  { table: "revoked_tokens", key: "token_hash", column: "revoked_at", kept: ENDED_TOKENS_KEPT },
  { table: "idempotency_keys", key: "ctid", column: "created_at", kept: IDEMPOTENCY_RETENTION },
  { table: "audit_events", key: "id", column: "created_at", kept: AUDIT_RETENTION }
]

/** The statement failed on a row, which the others of its batch need not share. */
const isRefusal = (error: unknown) =>
  SqlError.isSqlError(error) && sqlStateOf(error.reason.cause) !== undefined && !isServerState(error.reason)

const dueAt = ({ kept }: Expiring, instant: Date) =>
  Math.ceil((instant.getTime() + Duration.toMillis(kept)) / STEP) * STEP

export const purgeLayer = Layer.effectDiscard(Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const sharedTime = yield* makeSharedTime

  const Due = { table: Schema.String, key: Schema.String, column: Schema.String, until: Schema.Date }

  const deleteBatch = SqlSchema.findAll({
    Request: Schema.Struct({ ...Due, only: Schema.UndefinedOr(Schema.String) }),
    Result: Schema.Struct({ due: DateColumn }),
    execute: ({ column, key, only, table, until }) =>
      sql`
        DELETE FROM ${sql(table)} WHERE ${sql(key)} IN (
          SELECT ${sql(key)} FROM ${sql(table)} WHERE ${sql(column)} <= ${until}
            AND ${only === undefined ? sql`true` : sql`${sql(key)} = ${only}`}
          LIMIT ${PURGED_AT_ONCE} FOR UPDATE SKIP LOCKED
        ) RETURNING ${sql(column)} AS due`
  })

  const findBatch = SqlSchema.findAll({
    Request: Schema.Struct({ ...Due, skipped: Schema.Array(Schema.String) }),
    Result: Schema.Struct({ id: Schema.String }),
    execute: ({ column, key, skipped, table, until }) =>
      sql`
        SELECT ${sql(key)}::text AS id FROM ${sql(table)}
        WHERE ${sql(column)} <= ${until} AND ${sql(key)}::text <> ALL(${skipped}) LIMIT ${PURGED_AT_ONCE}`
  })

  const deleted = (expiring: Expiring, until: Date, only?: string) =>
    deleteBatch({ ...expiring, until, only }).pipe(
      Effect.uninterruptible,
      Effect.map((rows) => sweptAt(until.getTime(), rows.map(({ due }) => due)))
    )

  const purge = (expiring: Expiring, until: Date) =>
    sweepUntilShort(deleted(expiring, until), PURGED_AT_ONCE).pipe(
      Effect.catchIf(isRefusal, () =>
        sweepEach(
          expiring.table,
          (skipped: ReadonlyArray<string>) => findBatch({ ...expiring, until, skipped }),
          (id) => deleted(expiring, until, id)
        ))
    )

  const purgeDue = (expiring: Expiring) =>
    Effect.flatMap(sharedTime, (now) => purge(expiring, new Date(now - Duration.toMillis(expiring.kept))))

  const purgeAll = Effect.map(
    Effect.forEach(ALL, (expiring) => runSweep(expiring.table, purgeDue(expiring))),
    (done) => done.every(Boolean)
  )

  const earliestDue = Effect.forEach(ALL, (expiring) =>
    Effect.map(
      earliestIn(sql`SELECT min(${sql(expiring.column)}) AS earliest FROM ${sql(expiring.table)}`),
      Option.map((earliest) => dueAt(expiring, earliest))
    )).pipe(
      Effect.map((instants) => instants.flatMap(Option.toArray)),
      Effect.map((instants) => instants.length === 0 ? Option.none() : Option.some(new Date(Math.min(...instants))))
    )

  yield* scheduled({
    longestSleep: settings.PURGE_SWEEP_INTERVAL,
    run: purgeAll,
    earliestDue
  })
}))
