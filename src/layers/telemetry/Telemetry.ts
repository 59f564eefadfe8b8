import { Effect, Layer, Metric, Option, References } from "effect"
import { HttpClient } from "effect/http"
import { metricsEnabled } from "../../services/operations/Metrics.ts"
import { processFiguresLayer } from "../../services/operations/ProcessFigures.ts"
import { traceSettings } from "./TraceSettings.ts"
import { tracingLayer } from "./Tracing.ts"

const tracesLayer = Layer.unwrap(
  Effect.map(
    traceSettings,
    (settings) =>
      Option.match(settings, { onNone: () => Layer.succeed(References.TracerEnabled, false), onSome: tracingLayer })
  )
)

/** A registry of this application alone: tests run several in one process. */
export const metricsLayer = Layer.unwrap(
  Effect.map(metricsEnabled, (isEnabled) =>
    Layer.provideMerge(
      isEnabled ? processFiguresLayer : Layer.empty,
      Layer.sync(Metric.MetricRegistry, () => new Map())
    ))
)

/** Trace ids are not sent to other services. */
export const telemetryLayer = Layer.mergeAll(
  Layer.provide(tracesLayer, metricsLayer),
  metricsLayer,
  Layer.succeed(HttpClient.TracerPropagationEnabled, false)
)
