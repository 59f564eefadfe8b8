import { Cause, Clock, Config, type Duration, Effect, Metric } from "effect"
import { period } from "../SettingTypes.ts"

/** What a sweep did: rows that are gone, and for how many milliseconds the oldest due one, gone or not, has been due. */
export interface Swept {
  readonly rows: number
  readonly lagMillis: number
}

export const nothingSwept: Swept = { rows: 0, lagMillis: 0 }

/** Both together. */
export const plus = (one: Swept, other: Swept): Swept => ({
  rows: one.rows + other.rows,
  lagMillis: Math.max(one.lagMillis, other.lagMillis)
})

/** Rows that were due at these instants and went at `now`. */
export const sweptAt = (now: number, due: ReadonlyArray<Date>): Swept => ({
  rows: due.length,
  lagMillis: due.reduce((lag, instant) => Math.max(lag, now - instant.getTime()), 0)
})

const lastRun = Metric.gauge("sweep_last_run_timestamp_seconds", {
  description: "When the sweep last came to its end, in seconds since 1970"
})
const rows = Metric.counter("sweep_rows_total", { description: "Rows that the sweep deleted", incremental: true })
const lag = Metric.gauge("sweep_lag_seconds", {
  description: "For how long the oldest row that was due at the last run had been due"
})
const failures = Metric.counter("sweep_failures_total", { description: "Runs that failed", incremental: true })

const succeeded = Effect.fnUntraced(function*(sweep: string, swept: Swept) {
  const now = yield* Clock.currentTimeMillis
  yield* Metric.update(Metric.withAttributes(lastRun, { sweep }), now / 1000)
  yield* Metric.update(Metric.withAttributes(rows, { sweep }), swept.rows)
  yield* Metric.update(Metric.withAttributes(lag, { sweep }), swept.lagMillis / 1000)
  // A first failure is an increase only of a count that was there before.
  yield* Metric.update(Metric.withAttributes(failures, { sweep }), 0)
})

/** The failure of one sweep, or of one part of it: logged and counted, to be tried the next time. */
export const sweepFailed = (sweep: string, cause: Cause.Cause<unknown>): Effect.Effect<void> =>
  Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.andThen(
    Effect.logError(`the sweep of ${sweep} failed`, cause),
    Metric.update(Metric.withAttributes(failures, { sweep }), 1)
  )

/** One run of a sweep, measured. */
export const runSweep = <E, R>(name: string, sweep: Effect.Effect<Swept, E, R>): Effect.Effect<void, never, R> =>
  sweep.pipe(
    Effect.withSpan(`Sweeps.${name}`),
    Effect.flatMap((swept) => succeeded(name, swept)),
    Effect.catchCause((cause) => sweepFailed(name, cause))
  )

/**
 * Runs sweeps again and again for as long as the process lives, which ends them between two of their transactions, at an
 * interval that a setting may change.
 */
export const scheduled = Effect.fnUntraced(function*<R>(
  setting: string,
  fallback: Duration.Duration,
  sweeps: Effect.Effect<void, never, R>
) {
  const interval = yield* period(setting).pipe(Config.withDefault(fallback))
  yield* sweeps.pipe(Effect.andThen(Effect.sleep(interval)), Effect.forever, Effect.forkScoped)
})
