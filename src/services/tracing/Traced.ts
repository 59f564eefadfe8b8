import { Cause, Context, Effect, References } from "effect"
import { types } from "node:util"

const spanOf = (name: string) => {
  const frame = Context.make(Cause.StackTrace, { name, stack: () => undefined, parent: undefined })
  const withSpan = Effect.withSpan(name, undefined, { captureStackTrace: false })
  return <A, E, R>(method: Effect.Effect<A, E, R>) => {
    const named = Effect.catchCause(method, (cause) => Effect.failCause(Cause.annotate(cause, frame)))
    return Effect.withFiber((fiber) => fiber.getRef(References.TracerEnabled) ? withSpan(named) : named)
  }
}

/** `Effect.fn` without the stack of each call (decision 0015): a span where traced, a name in the stack of a defect. */
export const traced = (name: string) =>
  new Proxy(Effect.fn(name), {
    apply: (_make, self, [body, ...pipeables]) =>
      Reflect.apply(Effect.fnUntraced, self, [
        types.isGeneratorFunction(body) ? body : function*(...parameters: ReadonlyArray<unknown>) {
          return yield* body(...parameters)
        },
        ...pipeables,
        spanOf(name)
      ])
  })
