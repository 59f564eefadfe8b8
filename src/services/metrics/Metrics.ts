import { Config, Context, Effect, Layer, type Scope } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { Unavailable } from "../../schema/Errors.ts"
import { DatabasePool } from "./DatabasePool.ts"

const flag = (name: string) => Config.Boolean(name).pipe(Config.withDefault(true))

/** The master switch of metrics and traces. */
export const telemetryEnabled = flag("TELEMETRY_ENABLED")

/** Whether metrics are collected: `METRICS_ENABLED`, below the master switch. */
export const metricsEnabled = Config.all([telemetryEnabled, flag("METRICS_ENABLED")]).pipe(
  Config.map((switches) => switches.every((isOn) => isOn))
)

const off = () => Effect.fail(new Unavailable({ message: "Metrics are not collected" }))

/** Makes of the figures of this process those of all that share its port: its own, where it is alone. */
export const MetricsOfAll = Context.Reference<
  (own: Effect.Effect<string>) => Effect.Effect<Effect.Effect<string>, never, Scope.Scope>
>("route-planning-service/MetricsOfAll", { defaultValue: () => Effect.succeed })

/** What the service counts and measures; each figure is defined beside what it tells of. */
export class Metrics extends Context.Service<Metrics, {
  /** All figures in Prometheus' text format (version 0.0.4). Fails where metrics are switched off. */
  readonly text: Effect.Effect<string, Unavailable>
}>()("route-planning-service/Metrics") {
  static readonly layer = Layer.effect(
    Metrics,
    Effect.gen(function*() {
      const pool = yield* DatabasePool
      if (!(yield* metricsEnabled)) return Metrics.of({ text: Effect.suspend(off) })
      const ofAll = yield* MetricsOfAll
      return Metrics.of({ text: yield* ofAll(Effect.andThen(pool.probe, PrometheusMetrics.format())) })
    })
  ).pipe(Layer.provide(DatabasePool.layer))
}
