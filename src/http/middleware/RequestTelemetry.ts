import { Clock, Context, Effect, Exit, Metric, Option, References, Stream, Tracer } from "effect"
import {
  HttpBody,
  HttpEffect,
  HttpMethod,
  HttpMiddleware,
  HttpServerError,
  HttpServerRequest,
  HttpServerResponse,
  HttpTraceContext
} from "effect/http"
import type { IpNetwork } from "effect/net"
import type { ServiceError } from "../../schema/Errors.ts"
import { EndedRequests } from "../../services/admission/Health.ts"
import { metricsEnabled } from "../../services/operations/Metrics.ts"
import { RequestNotes } from "../../services/operations/RequestNotes.ts"
import { settings } from "../../services/operations/SettingsRegistry.ts"
import { HEADERS } from "../api/Headers.ts"
import { addressSubjects, isFromPeerIn } from "../request/ClientAddress.ts"
import { isProbe, isQuickForm, isServed, operations, pageOperations, templateOf } from "../request/RouteTemplates.ts"
import { Refusal, TransportRules } from "./ErrorShape.ts"

/** Labels never contain the path, which may include a share token. */
interface Labels {
  readonly method: string
  readonly route: string
}

const UNMATCHED = "unmatched"

/** OpenTelemetry gives unknown methods this name. */
const OTHER = "_OTHER"

/** The known path templates bound the number of labels (OpenTelemetry's HTTP conventions). */
const labelsOf = ({ method, url }: HttpServerRequest.HttpServerRequest, isRefused: boolean): Labels => ({
  method: HttpMethod.isHttpMethod(method) ? method : OTHER,
  route: isRefused ? UNMATCHED : templateOf(method, url) ?? UNMATCHED
})

/** The series stay few whatever clients send: HEAD counts as GET, a method that a path does not have as unmatched. */
const countedAs = ({ method, route }: Labels): Labels => {
  const served = method === "HEAD" ? "GET" : method
  return isServed(served, route) ? { method: served, route } : { method, route: UNMATCHED }
}

/** A histogram has nine samples, so the pages with forms share one, and so do the methods of unmatched requests. */
const timedAs = ({ method, route }: Labels): Labels => {
  if (route === UNMATCHED) return { method: OTHER, route }
  return { method, route: isQuickForm(method, route) ? "pages" : route }
}

const active = Metric.gauge("http_server_active_requests", { description: "Requests in progress" })

const durations = (labels: Labels) =>
  Metric.histogram("http_server_request_duration_seconds", {
    description: "Duration of requests, from their headers to the end of the response",
    attributes: { ...labels },
    boundaries: [0.01, 0.05, 0.25, 0.5, 1, 2.5]
  })

/** A client that hung up is no failure of the service and no error of its own. */
const HUNG_UP = 499

const classOf = (status: number) => status === HUNG_UP ? String(HUNG_UP) : `${Math.floor(status / 100)}xx`

const requests = (labels: Labels, status: string) =>
  Metric.counter("http_server_requests_total", {
    description: "Requests that have ended, by the class of their status; 499 for a client that hung up",
    attributes: { ...labels, status },
    incremental: true
  })

/** The series of each operation and page exist from the start, so that the first failures are an increase. */
const CLASSES = ["2xx", "4xx", "5xx"]

const prepared = [
  ...[...operations, ...pageOperations].flatMap(([method, route]) =>
    CLASSES.map((status) => [{ method, route }, status] as const)
  ),
  ...["GET", "POST"].map((method) => [{ method, route: UNMATCHED }, "4xx"] as const)
]

const prepareCounters = Effect.forEach(
  prepared,
  ([labels, status]) => Metric.update(requests(labels, status), 0),
  { discard: true }
)

const seriesOf = (labels: Labels, status: string) => [durations(timedAs(labels)), requests(labels, status)] as const

const makeSeries = () => {
  const known = new Map<string, ReturnType<typeof seriesOf>>()
  return (labels: Labels, status: number) => {
    const key = `${labels.method} ${labels.route} ${classOf(status)}`
    const series = known.get(key) ?? seriesOf(countedAs(labels), classOf(status))
    known.set(key, series)
    return series
  }
}

const idsOnly = (name: string, parent: Option.Option<Tracer.AnySpan>, links: Array<Tracer.SpanLink>) =>
  Tracer.nativeTracer.span({
    name,
    parent,
    annotations: Context.empty(),
    links,
    startTime: 0n,
    kind: "server",
    root: Option.isNone(parent),
    sampled: false
  })

/** The parent comes only from trusted proxies; other traces become links. */
interface CallerTrace {
  readonly parent: Option.Option<Tracer.ExternalSpan>
  readonly links: Array<Tracer.SpanLink>
}

/** Untrusted trace ids could control sampling and join unrelated requests. */
const callerTraceOf = (
  request: HttpServerRequest.HttpServerRequest,
  trusted: ReadonlyArray<IpNetwork.IpNetwork>
): CallerTrace => {
  const named = HttpTraceContext.w3c(request.headers)
  if (Option.isNone(named) || isFromPeerIn(request, trusted)) return { parent: named, links: [] }
  return { parent: Option.none(), links: [{ span: named.value, attributes: {} }] }
}

const beginSpan = (
  { links, parent }: CallerTrace,
  { method, route }: Labels,
  isTraced: boolean
) => {
  const verb = method === OTHER ? "HTTP" : method
  const name = route === UNMATCHED ? verb : `${verb} ${route}`
  return isTraced && !isProbe(route)
    ? Effect.makeSpan(
      name,
      Option.isSome(parent) ? { kind: "server", parent: parent.value, links } : { kind: "server", root: true, links }
    )
    : Effect.succeed(idsOnly(name, parent, links))
}

/** Adds everything that the work of a request needs in one change of its context. */
const forWork = <R>(context: Context.Context<R>, { notes, refusal, span }: Watch): Context.Context<R> => {
  const watched = Context.add(Context.add(context, Tracer.ParentSpan, span), RequestNotes, notes)
  const isLeftOut = !span.sampled && Context.get(context, References.TracerEnabled)
  const traced = isLeftOut ? Context.add(watched, References.TracerEnabled, false) : watched
  return refusal === undefined ? traced : Context.add(traced, Refusal, refusal)
}

const within = <A, E, R>(watch: Watch, work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.updateContext(work, (context: Context.Context<R>) => forWork(context, watch))

const SERVER_ERROR = Exit.fail("responded with a server error")

const endSpan = (
  { labels: { method, route }, notes, span }: Watch,
  scheme: string,
  status: number,
  clock: Clock.Clock
) => {
  if (!span.sampled) return
  span.attribute("url.scheme", scheme)
  span.attribute("http.request.method", method)
  if (route !== UNMATCHED) span.attribute("http.route", route)
  span.attribute("http.response.status_code", status)
  if (status >= 500) span.attribute("error.type", String(status))
  if (notes.caller !== undefined) span.attribute("enduser.pseudo.id", notes.caller.idHash)
  if (status >= 400) {
    for (const [name, value] of Object.entries({ ...notes.error, ...notes.fault })) span.attribute(`app.${name}`, value)
  }
  span.end(clock.currentTimeNanosUnsafe(), status >= 500 ? SERVER_ERROR : Exit.void)
}

/** A stream counts the bytes that have been read so far. */
interface Size {
  bytes: number
}

const counting = (
  { method }: HttpServerRequest.HttpServerRequest,
  response: HttpServerResponse.HttpServerResponse,
  size: Size
) => {
  const { body } = response
  if (method === "HEAD") return response
  if (body._tag !== "Stream") {
    size.bytes = "contentLength" in body ? body.contentLength ?? 0 : 0
    return response
  }
  const stream = Stream.tap(body.stream, (chunk) => Effect.sync(() => size.bytes += chunk.length))
  return HttpServerResponse.setBody(response, HttpBody.stream(stream, body.contentType, body.contentLength))
}

interface Watch {
  readonly labels: Labels
  readonly notes: RequestNotes
  /** The log names a client by this address, or by its network if addresses are not logged. */
  readonly client: string
  /** A trusted proxy sends this id in `X-Request-Id`. */
  readonly said: { readonly callerRequestId?: string }
  readonly span: Tracer.Span
  /** The time is monotonic, in nanoseconds: a clock that is set meanwhile changes no duration. */
  readonly started: bigint
  readonly size: Size
  readonly refusal: ServiceError | undefined
}

const writeLine = ({ client, labels, notes, said, size }: Watch, status: number, nanoseconds: number) => {
  const durationMs = Math.round(nanoseconds / 1e4) / 100
  const problem = status < 400 ? {} : { ...notes.error, ...notes.fault }
  const fields = { ...labels, status, durationMs, bytes: size.bytes, client, ...said, ...notes.caller, ...problem }
  return isProbe(labels.route) ? Effect.logDebug("request", fields) : Effect.logInfo("request", fields)
}

const clientNaming = Effect.map(
  settings.LOG_CLIENT_ADDRESS,
  (isAddress) => (request: Pick<HttpServerRequest.HttpServerRequest, "remoteAddress">) =>
    isAddress ? Option.getOrElse(request.remoteAddress, () => "unknown") : addressSubjects(request).cidr
)

/** Returns the span of a request that no handler sees. */
export const refusedSpan = () => idsOnly("HTTP", Option.none(), [])

interface Refused {
  readonly error: ServiceError
  readonly bytes: number
  readonly remoteAddress: Option.Option<string>
}

/** Logs and counts a request that Node's parser refused, without its path. */
export const recordRefusal = Effect.gen(function*() {
  const isMeasured = yield* metricsEnabled
  const clientOf = yield* clientNaming
  return Effect.fnUntraced(function*({ bytes, error: { code, statusCode: status }, remoteAddress }: Refused) {
    const labels = { method: OTHER, route: UNMATCHED }
    if (isMeasured) yield* Metric.update(requests(labels, classOf(status)), 1)
    yield* Effect.logInfo("request", {
      ...labels,
      status,
      durationMs: 0,
      bytes,
      client: clientOf({ remoteAddress }),
      code
    })
  })
})

/** An id of another form is ignored, since it goes into the log. */
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/

const saidBy = (request: HttpServerRequest.HttpServerRequest, trusted: ReadonlyArray<IpNetwork.IpNetwork>) => {
  const id = request.headers[HEADERS.requestId.key]
  return id !== undefined && REQUEST_ID.test(id) && isFromPeerIn(request, trusted) ? { callerRequestId: id } : {}
}

/** Gets the id of each request before its work begins, for a response that no middleware makes. */
export const RequestBegun = Context.Reference<(request: HttpServerRequest.HttpServerRequest, id: string) => void>(
  "route-planning-service/RequestBegun",
  { defaultValue: () => () => undefined }
)

/** The client is the one that a trusted proxy names, for all that follows. */
const forwardedFrom = (trusted: ReadonlyArray<IpNetwork.IpNetwork>) =>
  trusted.length === 0
    ? <A>(httpEffect: A) => httpEffect
    : HttpMiddleware.xForwardedHeaders({ trustedProxies: trusted })

/** Traces, logs and measures every request until its response is sent, outside of all other middleware. */
export const requestTelemetry = Effect.gen(function*() {
  const isMeasured = yield* metricsEnabled
  const trusted = yield* settings.TRUSTED_PROXIES
  const scheme = (yield* settings.BASE_URL).protocol.slice(0, -1)
  const faultOf = yield* TransportRules
  const forwarded = forwardedFrom(trusted)
  const hasBegun = yield* RequestBegun
  const clientOf = yield* clientNaming
  const series = makeSeries()
  if (isMeasured) yield* prepareCounters
  const ended = yield* EndedRequests

  const begin = Effect.contextWith((context: Context.Context<HttpServerRequest.HttpServerRequest>) => {
    const request = Context.get(context, HttpServerRequest.HttpServerRequest)
    const refusal = faultOf(request)
    const labels = labelsOf(request, refusal !== undefined)
    const size = { bytes: 0 }
    HttpEffect.appendPreResponseHandlerUnsafe(
      context,
      (_request, response) => Effect.succeed(counting(request, response, size))
    )
    if (isMeasured) active.modifyUnsafe(1, context)
    const callerTrace = callerTraceOf(request, trusted)
    const beginning = beginSpan(callerTrace, labels, Context.get(context, References.TracerEnabled))
    const started = Context.get(context, Clock.Clock).monotonicTimeNanosUnsafe()
    return Effect.map(beginning, (span): Watch => {
      hasBegun(request, span.traceId)
      const client = clientOf(request)
      return {
        labels,
        size,
        span,
        started,
        refusal,
        client,
        said: saidBy(request, trusted),
        notes: { id: span.traceId }
      }
    })
  })

  const end = <E>(watch: Watch, exit: Exit.Exit<HttpServerResponse.HttpServerResponse, E>) =>
    Effect.contextWith((context: Context.Context<never>) => {
      const clock = Context.get(context, Clock.Clock)
      const nanoseconds = Number(clock.monotonicTimeNanosUnsafe() - watch.started)
      const { status } = HttpServerError.exitResponse(exit)
      endSpan(watch, scheme, status, clock)
      ended.count += 1
      if (isMeasured) {
        active.modifyUnsafe(-1, context)
        const [duration, count] = series(watch.labels, status)
        duration.updateUnsafe(nanoseconds / 1e9, context)
        count.updateUnsafe(1, context)
      }
      return Effect.andThen(writeLine(watch, status, nanoseconds), exit)
    })

  // Only the work is interruptible, so `end` always follows `begin`.
  return <A extends HttpServerResponse.HttpServerResponse, E, R>(httpEffect: Effect.Effect<A, E, R>) =>
    forwarded(
      Effect.flatMap(
        begin,
        (watch) => within(watch, Effect.flatMap(Effect.exit(httpEffect), (exit) => end(watch, exit)))
      )
    )
})
