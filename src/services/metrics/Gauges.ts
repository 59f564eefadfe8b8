import { Effect, Metric } from "effect"

export const during = (gauge: Metric.Gauge<number>, change = 1) => <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Metric.modify(gauge, change),
    () => work,
    () => Metric.modify(gauge, -change)
  )
