import { Cause, Clock, type Config, Duration, Effect, Metric, Option } from "effect"

/** What a sweep did: rows deleted or derived again, and for how many milliseconds the oldest due one has been due. */
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
const rows = Metric.counter("sweep_rows_total", {
  description: "Rows that the sweep deleted or derived again",
  incremental: true
})
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

/**
 * One run of a sweep, measured. It is tried a second time at once: a connection that idled may be dead, and one that is
 * being opened while a test clock moves on times out.
 */
export const runSweep = <E, R>(name: string, sweep: Effect.Effect<Swept, E, R>): Effect.Effect<void, never, R> =>
  sweep.pipe(
    Effect.catchDefect(Effect.fail),
    Effect.retry({ times: 1 }),
    Effect.withSpan(`Sweeps.${name}`),
    Effect.flatMap((swept) => succeeded(name, swept)),
    Effect.catchCause((cause) => sweepFailed(name, cause))
  )

/** When to look again at rows that are still due after a run, or after a run that could not ask what is due. */
const RETRY_INTERVAL = Duration.minutes(1)

interface Schedule<R> {
  /** Rows that other processes write may be due earlier than what this one knows of. */
  readonly longestSleep: Config.Config<Duration.Duration>
  /** Never fails: see `runSweep`. */
  readonly run: Effect.Effect<void, never, R>
  /** When the first of all rows is due, now or later. */
  readonly earliestDue: Effect.Effect<Option.Option<Date>, unknown, R>
}

/** How long to sleep after a run that began at an instant. */
const sleepBetween = (
  { due, now, startedAt }: { readonly due: Option.Option<number>; readonly now: number; readonly startedAt: number },
  longest: Duration.Duration
): Duration.Duration => {
  if (Option.isNone(due)) return longest
  if (due.value <= startedAt) return Duration.min(RETRY_INTERVAL, longest)
  return Duration.min(Duration.millis(Math.max(0, due.value - now)), longest)
}

/**
 * Runs sweeps for as long as the process lives, which ends them between two of their transactions. Sleeps until the next
 * row is due, or for the longest sleep.
 */
export const scheduled = Effect.fnUntraced(function*<R>(
  { earliestDue, longestSleep, run }: Schedule<R>
) {
  const longest = yield* longestSleep

  const untilNext = (startedAt: number) =>
    earliestDue.pipe(
      Effect.map(Option.map((due) => due.getTime())),
      // Read after the query: a test clock may have moved on meanwhile.
      Effect.zipWith(Clock.currentTimeMillis, (due, now) => sleepBetween({ due, now, startedAt }, longest)),
      Effect.catchCause((cause) =>
        Effect.as(Effect.logError("sweeps do not know what is due next", cause), Duration.min(RETRY_INTERVAL, longest))
      )
    )

  yield* Clock.currentTimeMillis.pipe(
    Effect.tap(() => run),
    Effect.flatMap(untilNext),
    Effect.flatMap(Effect.sleep),
    Effect.forever,
    Effect.forkScoped
  )
})
