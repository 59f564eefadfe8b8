import { Context, Effect, Layer, Tracer } from "effect"

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
