import { Context, Option, Tracer } from "effect"

/** By what the lines of a request, its error and its spans are joined (W3C Trace Context: 32 and 16 hex digits). */
export interface TraceIds {
  readonly traceId: string
  readonly spanId: string
}

/** What stands for a span where tracing is off has no ids; the first span above it that has them counts. */
const realSpan = (span: Tracer.AnySpan): Option.Option<Tracer.AnySpan> => {
  if (!Context.get(span.annotations, Tracer.DisablePropagation)) return Option.some(span)
  return span._tag === "Span" ? Option.flatMap(span.parent, realSpan) : Option.none()
}

/** The ids of the span that a fiber with this context works in; none outside of all spans. */
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

/** The same; outside of all spans those of the process as a whole, since every line has ids. */
export const lineIdsOf = (context: Context.Context<never>): TraceIds =>
  Option.getOrElse(traceIdsOf(context), () => processIds)
