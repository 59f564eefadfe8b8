import { Cause, Context, Effect, Option, Tracer } from "effect"
import { types } from "node:util"

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

const namedInStack = (name: string) => {
  const frame = Context.make(Cause.StackTrace, { name, stack: () => undefined, parent: undefined })
  return <A, E, R>(method: Effect.Effect<A, E, R>) =>
    Effect.catchCause(method, (cause) => Effect.failCause(Cause.annotate(cause, frame)))
}

type Traceable = Effect.Effect<unknown, unknown, unknown>

type Generating = (...parameters: ReadonlyArray<unknown>) => Generator<Traceable, unknown, never>

type Returning = (...parameters: ReadonlyArray<unknown>) => Traceable

const isGenerating = (body: Generating | Returning): body is Generating => types.isGeneratorFunction(body)

/** `Effect.fn` without a span and without the stack of each call (decision 0015): the stack of a defect has the name. */
export const traced = (name: string): Effect.fn.Traced => {
  const named = namedInStack(name)
  const make = (
    body: Generating | Returning,
    ...pipeables: ReadonlyArray<(effect: Traceable, ...parameters: ReadonlyArray<unknown>) => Traceable>
  ): Returning => {
    const method = isGenerating(body)
      ? Effect.fnUntraced(body)
      : (...parameters: ReadonlyArray<unknown>) => Effect.suspend(() => body(...parameters))
    return (...parameters) =>
      named(pipeables.reduce((effect, pipeable) => pipeable(effect, ...parameters), method(...parameters)))
  }
  // The compiler compares no implementation with overloads that are generic.
  return make as Effect.fn.Traced
}
