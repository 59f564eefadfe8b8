import { Clock, Context, Duration, Effect, Exit, Metric, Option, Stream, Tracer } from "effect"
import {
  HttpBody,
  HttpEffect,
  HttpMethod,
  HttpServerError,
  HttpServerRequest,
  HttpServerResponse,
  HttpTraceContext
} from "effect/http"
import { during } from "../../services/Gauges.ts"
import { metricsEnabled } from "../../services/Metrics.ts"
import { templateOf } from "../RouteTemplates.ts"

/** What a request is to logs, metrics and traces: never what its path says. */
interface Labels {
  readonly method: string
  readonly route: string
}

const UNMATCHED = "unmatched"

const isProbe = (route: string) => route.startsWith("/health") || route === "/metrics"

/** Whatever is asked for, there are so many labels as the contract has paths (OpenTelemetry's HTTP conventions). */
const labelsOf = ({ method, url }: HttpServerRequest.HttpServerRequest): Labels => ({
  method: HttpMethod.isHttpMethod(method) ? method : "_OTHER",
  route: templateOf(method, url) ?? UNMATCHED
})

const active = Metric.gauge("http_server_active_requests", { description: "Requests that are being answered" })

const durations = (labels: Labels, status: number) =>
  Metric.histogram("http_server_request_duration_seconds", {
    description: "How long requests took, from their headers to the end of the answer",
    attributes: { ...labels, status: String(status) },
    boundaries: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
  })

/** One series for each answer that was ever given; to look it up is most of what it costs. */
const makeSeries = () => {
  const known = new Map<string, ReturnType<typeof durations>>()
  return (labels: Labels, status: number) => {
    const key = `${labels.method} ${labels.route} ${status}`
    const series = known.get(key) ?? durations(labels, status)
    known.set(key, series)
    return series
  }
}

/** A span that goes nowhere, for its ids. */
const idsOnly = (name: string, parent: Option.Option<Tracer.AnySpan>) =>
  Tracer.nativeTracer.span({
    name,
    parent,
    annotations: Context.empty(),
    links: [],
    startTime: 0n,
    kind: "server",
    root: Option.isNone(parent),
    sampled: false
  })

const spanOf = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest, { method, route }: Labels) {
  const parent = HttpTraceContext.w3c(request.headers)
  const name = route === UNMATCHED ? method : `${method} ${route}`
  const isTraced = (yield* Tracer.Tracer) !== Tracer.nativeTracer && !isProbe(route)
  if (!isTraced) return idsOnly(name, parent)
  return yield* Effect.makeSpan(name, {
    kind: "server",
    root: Option.isNone(parent),
    ...(Option.isSome(parent) ? { parent: parent.value } : {})
  })
})

const SERVER_ERROR = Exit.fail(new Error("server error"))

const endSpan = (span: Tracer.Span, { method, route }: Labels, status: number, now: bigint) => {
  if (!span.sampled) return
  span.attribute("http.request.method", method)
  if (route !== UNMATCHED) span.attribute("http.route", route)
  span.attribute("http.response.status_code", status)
  span.end(now, status >= 500 ? SERVER_ERROR : Exit.void)
}

/** Bytes of an answer's body; of one that is streamed those that were taken from it so far. */
interface Size {
  bytes: number
}

const counting = (response: HttpServerResponse.HttpServerResponse, size: Size) => {
  const { body } = response
  if (body._tag !== "Stream") {
    size.bytes = "contentLength" in body ? body.contentLength ?? 0 : 0
    return response
  }
  const stream = Stream.tap(body.stream, (chunk) => Effect.sync(() => size.bytes += chunk.length))
  return HttpServerResponse.setBody(response, HttpBody.stream(stream, body.contentType, body.contentLength))
}

const writeLine = ({ method, route }: Labels, status: number, nanoseconds: bigint, bytes: number) => {
  const durationMs = Math.round(Number(nanoseconds) / 1e4) / 100
  const line = isProbe(route) ? Effect.logDebug("request") : Effect.logInfo("request")
  return Effect.annotateLogs(line, { method, route, status, durationMs, bytes })
}

/**
 * Gives every request a trace, a line in the log and a place in the metrics, all by its method and the template of its
 * path. Stands around everything else, the sending of the answer included.
 */
export const requestTelemetry = Effect.map(metricsEnabled, (isMeasured) => {
  const series = makeSeries()

  const watched = <A extends HttpServerResponse.HttpServerResponse, E, R>(
    httpEffect: Effect.Effect<A, E, R>,
    request: HttpServerRequest.HttpServerRequest,
    labels: Labels,
    span: Tracer.Span
  ) =>
    Effect.gen(function*() {
      const started = yield* Clock.currentTimeNanos
      const size = { bytes: 0 }
      yield* HttpEffect.appendPreResponseHandler((_request, response) => Effect.succeed(counting(response, size)))
      const exit = yield* Effect.exit(Effect.withTracerEnabled(httpEffect, span.sampled))
      const { status } = HttpServerError.exitResponse(exit)
      const ended = yield* Clock.currentTimeNanos
      endSpan(span, labels, status, ended)
      if (isMeasured) {
        const seconds = Duration.toSeconds(Duration.nanos(ended - started))
        yield* Metric.update(series(labels, status), seconds)
      }
      yield* writeLine(labels, status, ended - started, request.method === "HEAD" ? 0 : size.bytes)
      return yield* exit
    }).pipe(Effect.provideService(Tracer.ParentSpan, span))

  return <A extends HttpServerResponse.HttpServerResponse, E, R>(httpEffect: Effect.Effect<A, E, R>) =>
    Effect.gen(function*() {
      const request = yield* HttpServerRequest.HttpServerRequest
      const labels = labelsOf(request)
      const work = watched(httpEffect, request, labels, yield* spanOf(request, labels))
      return yield* isMeasured ? during(active)(work) : work
    })
})
