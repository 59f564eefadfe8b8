import { Layer, Metric } from "effect"
import { HttpClient } from "effect/http"
import { tracingLayer } from "./Tracing.ts"

/** Each application has its own registry: tests run several in one process. */
export const metricsLayer = Layer.sync(Metric.MetricRegistry, () => new Map())

/** Trace ids are not sent to other services. */
export const telemetryLayer = Layer.merge(
  Layer.provideMerge(tracingLayer, metricsLayer),
  Layer.succeed(HttpClient.TracerPropagationEnabled, false)
)
