import { Config, Context, Effect, Layer } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { MetricsDisabled } from "../DomainErrors.ts"
import { DatabasePool } from "./DatabasePool.ts"

const flag = (name: string) => Config.Boolean(name).pipe(Config.withDefault(true))

export const telemetryEnabled = flag("TELEMETRY_ENABLED")

export const metricsSwitch = flag("METRICS_ENABLED")

export const metricsEnabled = Config.all([telemetryEnabled, metricsSwitch]).pipe(
  Config.map((switches) => switches.every((isOn) => isOn))
)

const off = () => Effect.fail(new MetricsDisabled())

export class Metrics extends Context.Service<Metrics, {
  /** In Prometheus' text format (version 0.0.4). */
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
