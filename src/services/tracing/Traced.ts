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

/**
 * `Effect.fn` for methods that requests call: their span where the caller is traced, and elsewhere nothing but their name in
 * the stack of a failure. `Effect.fn` captures the stack of each call, which takes 17 microseconds, a third of what it
 * takes to write the response (`npm run bench:profile`).
 */
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
