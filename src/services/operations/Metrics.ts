import { Config, Context, Effect, Layer, Metric } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { MetricsDisabled } from "../DomainErrors.ts"
import { settings } from "../settings/Registry.ts"
import { DatabasePool } from "./DatabasePool.ts"

export const counterBy =
  <Value extends string>(name: string, attribute: string, description: string) => (value: Value) =>
    Metric.counter(name, { description, attributes: { [attribute]: value }, incremental: true })

export const during = (gauge: Metric.Gauge<number>, change = 1) => <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Metric.modify(gauge, change),
    () => work,
    () => Metric.modify(gauge, -change)
  )

export const metricsEnabled = Config.all([settings.TELEMETRY_ENABLED, settings.METRICS_ENABLED]).pipe(
  Config.map((switches) => switches.every((isOn) => isOn))
)

const off = () => Effect.fail(new MetricsDisabled())

export class Metrics extends Context.Service<Metrics, {
  /** Renders Prometheus' text format (version 0.0.4). */
  readonly text: Effect.Effect<string, MetricsDisabled>
}>()("route-planning-service/Metrics") {
  static readonly layer = Layer.effect(
    Metrics,
    Effect.gen(function*() {
      const pool = yield* DatabasePool
      if (!(yield* metricsEnabled)) return Metrics.of({ text: Effect.suspend(off) })
      return Metrics.of({ text: Effect.andThen(pool.probe, PrometheusMetrics.format()) })
    })
  ).pipe(Layer.provide(DatabasePool.layer))
}
