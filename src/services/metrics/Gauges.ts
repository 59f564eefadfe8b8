import { Effect, Metric } from "effect"

/** Moves a gauge by a number (one up, if none is said) for as long as the work takes. */
export const during = (gauge: Metric.Gauge<number>, change = 1) => <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Metric.modify(gauge, change),
    () => work,
    () => Metric.modify(gauge, -change)
  )
