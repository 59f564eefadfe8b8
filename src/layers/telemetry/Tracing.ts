import { layerTracerProvider } from "@effect/opentelemetry/NodeSdk"
import { layerTracer, make } from "@effect/opentelemetry/OtelTracer"
import { layerFromEnv, Resource } from "@effect/opentelemetry/Resource"
import type { Attributes } from "@opentelemetry/api"
import { resourceFromAttributes } from "@opentelemetry/resources"
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler
} from "@opentelemetry/sdk-trace-base"
import {
  ATTR_DB_NAMESPACE,
  ATTR_SERVER_ADDRESS,
  ATTR_SERVER_PORT,
  ATTR_SERVICE_NAME
} from "@opentelemetry/semantic-conventions"
import { Effect, Layer, Metric, Option, Tracer } from "effect"
import { SERVICE_NAME } from "../../schema/ServiceName.ts"
import { counterBy } from "../../services/operations/Metrics.ts"
import type { SamplerName } from "../../services/settings/Registry.ts"
import { onceAMinute } from "../Logging.ts"
import { collectorExporter, EXPORT_TIMEOUT_MS } from "./CollectorExport.ts"
import { redacting } from "./SpanExport.ts"
import type { TraceSettings } from "./TraceSettings.ts"

const MAX_PENDING = 2048

const SHUTDOWN_TIMEOUT = "2 seconds"

const SAMPLERS: Readonly<Record<SamplerName, (ratio: number) => Sampler>> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (ratio) => new TraceIdRatioBasedSampler(ratio),
  parentbased_always_on: () => new ParentBasedSampler({ root: new AlwaysOnSampler() }),
  parentbased_always_off: () => new ParentBasedSampler({ root: new AlwaysOffSampler() }),
  parentbased_traceidratio: (ratio) => new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) })
}

const resourceLayer = Layer.effect(
  Resource,
  Effect.map(
    Resource,
    (resource) => resourceFromAttributes({ [ATTR_SERVICE_NAME]: SERVICE_NAME }).merge(resource)
  )
).pipe(Layer.provide(layerFromEnv()))

const spans = counterBy<"exported" | "lost">(
  "trace_spans_total",
  "result",
  "Spans that the collector took, or that were lost because it did not"
)

const EXPORTED = spans("exported")
const LOST = spans("lost")

/** Does not log the cause of a failure, which may contain the URL of the collector. */
const exportRecorder = Effect.gen(function*() {
  const context = yield* Effect.context<never>()
  const warn = yield* onceAMinute(Effect.logWarning("collector unreachable, spans dropped"))
  yield* Effect.forEach([EXPORTED, LOST], (counter) => Metric.update(counter, 0), { discard: true })
  return (count: number, isTaken: boolean) =>
    void Effect.runForkWith(context)(
      isTaken ? Metric.update(EXPORTED, count) : Effect.andThen(Metric.update(LOST, count), warn)
    )
})

const databaseAttributes = ({ database }: TraceSettings): Attributes =>
  Option.match(database, {
    onNone: () => ({}),
    onSome: ({ host, name, port }) => ({
      [ATTR_DB_NAMESPACE]: name,
      [ATTR_SERVER_ADDRESS]: host,
      [ATTR_SERVER_PORT]: port
    })
  })

/** Leaves out the SDK's own context, which costs work at each step of a fiber and which nothing reads. */
const tracerLayer = Layer.effect(Tracer.Tracer, Effect.map(make, ({ span }) => Tracer.make({ span })))

export const tracingLayer = (settings: TraceSettings) =>
  Layer.unwrap(Effect.map(exportRecorder, (record) => {
    const exporter = redacting(collectorExporter(settings), databaseAttributes(settings), record)
    const processor = new BatchSpanProcessor(exporter, {
      maxQueueSize: MAX_PENDING,
      exportTimeoutMillis: EXPORT_TIMEOUT_MS
    })
    return tracerLayer.pipe(
      Layer.provide(layerTracer),
      Layer.provide(layerTracerProvider(processor, {
        sampler: SAMPLERS[settings.sampler](settings.ratio),
        shutdownTimeout: SHUTDOWN_TIMEOUT
      })),
      Layer.provide(resourceLayer)
    )
  }))
