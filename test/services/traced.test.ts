import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Tracer } from "effect"
import { traced } from "../../src/services/operations/Tracing.ts"

const double = traced("Numbers.double")(function*(number: number) {
  const span = yield* Effect.option(Effect.currentSpan)
  return { doubled: 2 * (yield* Effect.succeed(number)), span: span._tag === "Some" ? span.value.name : undefined }
})

const plain = traced("Numbers.plain")((number: number) => Effect.succeed(number), Effect.map((number) => number + 1))

const broken = traced("Numbers.broken")(function*(number: number) {
  return yield* Effect.die(new Error(`no ${number}`))
})

describe("a traced method", () => {
  it.effect("has a span of its name, in that of its caller", () =>
    Effect.gen(function*() {
      const began: Array<Tracer.Span> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = Tracer.nativeTracer.span(options)
          began.push(span)
          return span
        }
      })
      const { doubled, span } = yield* double(2).pipe(Effect.withSpan("caller"), Effect.withTracer(tracer))
      assert.deepStrictEqual([doubled, span], [4, "Numbers.double"])
      assert.deepStrictEqual(began.map(({ name }) => name), ["caller", "Numbers.double"])
      assert.strictEqual(began[1]?.parent._tag === "Some" ? began[1].parent.value.spanId : undefined, began[0]?.spanId)
      assert.strictEqual(began[1]?.status._tag, "Ended")
    }))

  it.effect("has none where its caller is not traced", () =>
    Effect.gen(function*() {
      const { doubled, span } = yield* Effect.withTracerEnabled(double(2), false)
      assert.deepStrictEqual([doubled, span], [4, undefined])
    }))

  it.effect("may return an effect, and pass it on", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* plain(2), 3)
    }))

  it.effect("is named in the stack of its defect, traced or not", () =>
    Effect.gen(function*() {
      for (const isTraced of [true, false]) {
        const exit = yield* Effect.exit(Effect.withTracerEnabled(broken(3), isTraced))
        assert.match(
          Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "",
          /^Error: no 3\n[^]*\n    at Numbers\.broken$/
        )
      }
    }))
})
