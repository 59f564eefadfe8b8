import { Context, Effect, Layer, Logger, Tracer } from "effect"

/** Counts spans by their names, and exports none. */
export class Spans extends Context.Service<Spans, {
  readonly count: (name: string) => Effect.Effect<number>
}>()("test/Spans") {
  static readonly layer = Layer.effectContext(Effect.sync(() => {
    const names: Array<string> = []
    const tracer = Tracer.make({
      span: (options) => {
        names.push(options.name)
        return Tracer.nativeTracer.span(options)
      }
    })
    return Context.make(Tracer.Tracer, tracer).pipe(
      Context.add(Spans, { count: (name) => Effect.sync(() => names.filter((other) => other === name).length) })
    )
  }))
}

/** Adds the name of the span in which each line with a message was logged. */
export const spansOf = (message: string, names: Array<string>) =>
  Logger.make((line) => {
    const span = Context.getOrUndefined(line.fiber.context, Tracer.ParentSpan)
    if (String(line.message).startsWith(message)) names.push(span?._tag === "Span" ? span.name : "none")
  })
