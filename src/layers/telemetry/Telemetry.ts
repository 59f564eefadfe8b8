import { Context, Effect, Layer, Metric } from "effect"
import { HttpClient } from "effect/http"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { metricsEnabled } from "../../services/operations/Metrics.ts"
import { tracingLayer } from "./Tracing.ts"

const RESOLUTION_MS = 20

const nothing = () => undefined

const observed = <State>(metric: Metric.Metric<number, State>, get: () => State) =>
  Effect.acquireRelease(
    Effect.map(
      Effect.context<never>(),
      (context: Context.Context<never>) =>
        Metric.registerUnsafe(metric, context, { get, update: nothing, modify: nothing })
    ),
    (registration) => Effect.sync(registration.remove)
  )

const gauge = (name: string, description: string, value: () => number) =>
  observed(Metric.gauge(name, { description }), () => ({ value: value() }))

const eventLoopDelay = Effect.acquireRelease(
  Effect.sync(() => {
    const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
    histogram.enable()
    return histogram
  }),
  (histogram) => Effect.sync(() => histogram.disable())
)

const cpuSeconds = () => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1e6
}

/** Metrics under the names of prom-client. The lag is since the last scrape. */
const processFiguresLayer = Layer.effectDiscard(Effect.gen(function*() {
  const delay = yield* eventLoopDelay
  yield* observed(
    Metric.counter("process_cpu_seconds_total", {
      description: "Processor time, user and system, in seconds",
      incremental: true
    }),
    () => ({ count: cpuSeconds(), incremental: true })
  )
  yield* gauge(
    "process_start_time_seconds",
    "When the process started, in seconds since 1970",
    () => performance.timeOrigin / 1000
  )
  yield* gauge("process_resident_memory_bytes", "Resident memory", () => process.memoryUsage.rss())
  yield* gauge("nodejs_heap_size_total_bytes", "Heap of V8", () => process.memoryUsage().heapTotal)
  yield* gauge("nodejs_heap_size_used_bytes", "Heap of V8 that is in use", () => process.memoryUsage().heapUsed)
  yield* gauge("nodejs_eventloop_lag_p99_seconds", "99th percentile of the event loop's lag", () => {
    const lag = delay.percentile(99) / 1e9
    delay.reset()
    return lag
  })
}))

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
  Layer.provide(tracingLayer, metricsLayer),
  metricsLayer,
  Layer.succeed(HttpClient.TracerPropagationEnabled, false)
)
