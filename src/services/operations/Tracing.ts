import { Cause, Context, Effect, Option, References, Tracer } from "effect"
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

const spanOf = (name: string) => {
  const frame = Context.make(Cause.StackTrace, { name, stack: () => undefined, parent: undefined })
  const withSpan = Effect.withSpan(name, undefined, { captureStackTrace: false })
  return <A, E, R>(method: Effect.Effect<A, E, R>) => {
    const named = Effect.catchCause(method, (cause) => Effect.failCause(Cause.annotate(cause, frame)))
    return Effect.withFiber((fiber) => fiber.getRef(References.TracerEnabled) ? withSpan(named) : named)
  }
}

type Traceable = Effect.Effect<unknown, unknown, unknown>

type Generating = (...parameters: ReadonlyArray<unknown>) => Generator<Traceable, unknown, never>

type Returning = (...parameters: ReadonlyArray<unknown>) => Traceable

const isGenerating = (body: Generating | Returning): body is Generating => types.isGeneratorFunction(body)

/** `Effect.fn` without the stack of each call (decision 0015): a span if traced, a name in the stack of a defect. */
export const traced = (name: string): Effect.fn.Traced => {
  const inSpan = spanOf(name)
  const make = (
    body: Generating | Returning,
    ...pipeables: ReadonlyArray<(effect: Traceable, ...parameters: ReadonlyArray<unknown>) => Traceable>
  ): Returning => {
    const method = isGenerating(body)
      ? Effect.fnUntraced(body)
      : (...parameters: ReadonlyArray<unknown>) => Effect.suspend(() => body(...parameters))
    return (...parameters) =>
      inSpan(pipeables.reduce((effect, pipeable) => pipeable(effect, ...parameters), method(...parameters)))
  }
  // The compiler compares no implementation with overloads that are generic.
  return make as Effect.fn.Traced
}
