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
