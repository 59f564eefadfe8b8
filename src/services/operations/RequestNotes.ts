import { Context, Option, Tracer } from "effect"

interface TraceIds {
  readonly traceId: string
  readonly spanId: string
}

/** Skips spans without ids, which replace those that tracing omits. */
const realSpan = (span: Tracer.AnySpan): Option.Option<Tracer.AnySpan> => {
  if (!Context.get(span.annotations, Tracer.DisablePropagation)) return Option.some(span)
  return span._tag === "Span" ? Option.flatMap(span.parent, realSpan) : Option.none()
}

export const traceIdsOf = (context: Context.Context<never>): Option.Option<TraceIds> =>
  Option.flatMap(Context.getOption(context, Tracer.ParentSpan), realSpan)

const processIds = Tracer.nativeTracer.span({
  name: "process",
  parent: Option.none(),
  annotations: Context.empty(),
  links: [],
  startTime: 0n,
  kind: "internal",
  root: true,
  sampled: false
})

/** The process has ids outside of all spans, since every log line has ids. */
export const lineIdsOf = (context: Context.Context<never>): TraceIds =>
  Option.getOrElse(traceIdsOf(context), () => processIds)

/** Code that learns a fact about a request writes it here, for the log line and the span. */
export interface RequestNotes {
  /** The trace id is `X-Request-Id` of the response. */
  readonly id: string
  caller?: {
    readonly idHash: string
    readonly session?: string
    readonly token?: number
  }
  /** `code` and `details.reason` are those of the error that was rendered last. */
  error?: { readonly code: string; readonly reason?: string }
  /** The response hides these facts. */
  fault?: {
    readonly limit?: string
    readonly sqlState?: string
    /** The cause is the kind of failure, such as `UpstreamAway`. */
    readonly cause?: string
  }
}

/** Each request has one object. Work outside of requests shares one that nobody reads. */
export const RequestNotes = Context.Reference<RequestNotes>("route-planning-service/RequestNotes", {
  defaultValue: () => ({ id: "" })
})
