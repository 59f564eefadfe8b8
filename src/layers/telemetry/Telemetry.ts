import { Effect, Layer, Metric, Option, References } from "effect"
import { HttpClient } from "effect/http"
import { metricsEnabled } from "../../services/metrics/Metrics.ts"
import { processFiguresLayer } from "../../services/metrics/ProcessFigures.ts"
import { traceSettings } from "./TraceSettings.ts"

/** The SDK is loaded only where it is used. */
const tracesLayer = Layer.unwrap(
  Effect.flatMap(traceSettings, (settings) =>
    Option.isNone(settings)
      ? Effect.succeed(Layer.succeed(References.TracerEnabled, false))
      : Effect.map(Effect.promise(() => import("./Tracing.ts")), ({ tracingLayer }) => tracingLayer(settings.value)))
)

/** Keeps nothing. */
class NoRegistry<V> extends Map<string, V> {
  override set() {
    return this
  }
}

/** The figures of this application: not those of another in the same process, and none where they are switched off. */
const metricsLayer = Layer.unwrap(
  Effect.map(metricsEnabled, (isEnabled) =>
    isEnabled
      ? Layer.provideMerge(processFiguresLayer, Layer.sync(Metric.MetricRegistry, () => new Map()))
      : Layer.sync(Metric.MetricRegistry, () => new NoRegistry()))
)

/** Traces and metrics. What we call is told of no trace, unless it is our own. */
export const telemetryLayer = Layer.mergeAll(
  Layer.provide(tracesLayer, metricsLayer),
  metricsLayer,
  Layer.succeed(HttpClient.TracerPropagationEnabled, false)
)
