import { Config, Effect, type Exit, Layer, Metric, Option, Redacted, References, Tracer } from "effect"
import { HttpClient } from "effect/http"
import { OtlpResource } from "effect/observability"
import { hostname } from "node:os"
import { hostsOf } from "../../schema/DatabaseUrls.ts"
import { SERVICE_NAME } from "../../schema/ServiceName.ts"
import { build } from "../../services/operations/Build.ts"
import { atZero, countersBy } from "../../services/operations/Metrics.ts"
import { settings } from "../../services/operations/SettingsRegistry.ts"
import { onceAMinute } from "../Logging.ts"
import { collectorRequest, makeSpanQueue } from "./CollectorExport.ts"
import { spanEncoder, type TracedDatabase } from "./SpanExport.ts"

type SpanOptions = Parameters<Tracer.Tracer["span"]>[0]

type OnEnd = (span: Tracer.Span, endTime: bigint, exit: Exit.Exit<unknown, unknown>) => void

/** Spans that are not sampled end like the others, without a call of `onEnd`. */
class SampledSpan extends Tracer.NativeSpan {
  override readonly sampled: boolean
  readonly onEnd: OnEnd

  constructor(options: SpanOptions, isSampled: (traceId: string) => boolean, onEnd: OnEnd) {
    super(options)
    this.sampled = isSampled(this.traceId)
    this.onEnd = onEnd
  }

  override end(endTime: bigint, exit: Exit.Exit<unknown, unknown>) {
    if (this.status._tag === "Ended") return
    super.end(endTime, exit)
    if (this.sampled) this.onEnd(this, endTime, exit)
  }
}

interface Sampling {
  readonly sampler: string
  readonly ratio: number
}

const ratioOf = ({ ratio, sampler }: Sampling) => {
  if (sampler.endsWith("always_on")) return 1
  return sampler.endsWith("always_off") ? 0 : ratio
}

/** A span with a parent in this process is sampled as its parent is, and any other as `OTEL_TRACES_SAMPLER` says. */
export const samplingTracer = (sampling: Sampling, onEnd: OnEnd) => {
  const isParentBased = sampling.sampler.startsWith("parentbased_")
  const ratio = ratioOf(sampling)
  const isBelowRatio = (traceId: string) => parseInt(traceId.slice(-8), 16) < ratio * 2 ** 32
  return Tracer.make({
    span: (options) => {
      const isOfParent = Option.exists(options.parent, ({ _tag }) => isParentBased || _tag === "Span")
      return new SampledSpan(options, isOfParent ? () => options.sampled : isBelowRatio, onEnd)
    }
  })
}

/** A name among the attributes replaces the default name, as OpenTelemetry specifies. */
const resource = Effect.gen(function*() {
  const serviceName = yield* settings.OTEL_SERVICE_NAME
  const { version } = yield* build
  const attributes = Option.getOrElse(yield* settings.OTEL_RESOURCE_ATTRIBUTES, () => ({}))
  return OtlpResource.make({
    attributes: {
      "service.name": SERVICE_NAME,
      "service.version": version,
      "service.instance.id": `${hostname()}-${process.pid}`,
      ...attributes
    },
    serviceName: serviceName === SERVICE_NAME ? undefined : serviceName
  })
})

const SPANS = countersBy(
  "trace_spans_total",
  "result",
  ["exported", "lost"],
  "Spans that the collector took, or that were lost because it did not"
)

/** The log leaves out the cause of a failure, which may contain the collector's URL. */
const exportRecorder = Effect.gen(function*() {
  const warn = yield* onceAMinute(Effect.logWarning("collector unreachable, spans dropped"))
  yield* atZero(Object.values(SPANS))
  return (count: number, isTaken: boolean) =>
    isTaken ? Metric.update(SPANS.exported, count) : Effect.andThen(Metric.update(SPANS.lost, count), warn)
})

const POSTGRES_PORT = 5432

const tracesOf = (endpoint: URL) => {
  const url = new URL(endpoint)
  url.pathname = `${url.pathname.replace(/\/$/, "")}/v1/traces`
  return url
}

/** The server is left out where there are several: it is not known which one runs a statement. */
export const databaseOf = (url: Redacted.Redacted, hasReplicas: boolean): TracedDatabase => {
  const [first = "", ...others] = hostsOf(Redacted.value(url))
  const { hostname, pathname, port } = new URL(first)
  const isOne = others.length === 0 && !hasReplicas
  return { name: pathname.slice(1), ...(isOne ? { host: hostname, port: Number(port || POSTGRES_PORT) } : {}) }
}

const tracingLayer = Layer.unwrap(Effect.gen(function*() {
  const endpoint = yield* settings.OTEL_EXPORTER_OTLP_ENDPOINT
  if (Option.isNone(endpoint) || !(yield* settings.TELEMETRY_ENABLED)) {
    return Layer.succeed(References.TracerEnabled, false)
  }
  const sampling = { sampler: yield* settings.OTEL_TRACES_SAMPLER, ratio: yield* settings.OTEL_TRACES_SAMPLER_ARG }
  const headers = Option.getOrElse(yield* settings.OTEL_EXPORTER_OTLP_HEADERS, () => Redacted.make({}))
  const send = yield* collectorRequest({ url: tracesOf(endpoint.value), headers })
  const push = yield* makeSpanQueue(yield* resource, send, yield* exportRecorder)
  const hasReplicas = Option.isSome(yield* settings.DATABASE_READ_URL)
  const encode = spanEncoder(
    Option.map(yield* Config.option(settings.DATABASE_URL), (url) => databaseOf(url, hasReplicas))
  )
  return Layer.succeed(
    Tracer.Tracer,
    samplingTracer(sampling, (span, endTime, exit) => push(encode(span, endTime, exit)))
  )
}))

/** Each application has its own registry: tests run several in one process. */
export const metricsLayer = Layer.sync(Metric.MetricRegistry, () => new Map())

/** Trace ids are not sent to other services. */
export const telemetryLayer = Layer.merge(
  Layer.provideMerge(tracingLayer, metricsLayer),
  Layer.succeed(HttpClient.TracerPropagationEnabled, false)
)
