import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { traced } from "../../src/services/operations/Tracing.ts"

const double = traced("Numbers.double")(function*(number: number) {
  const span = yield* Effect.currentSpan
  return { doubled: 2 * (yield* Effect.succeed(number)), span: span.name }
})

const plain = traced("Numbers.plain")((number: number) => Effect.succeed(number), Effect.map((number) => number + 1))

const broken = traced("Numbers.broken")(function*(number: number) {
  return yield* Effect.die(new Error(`no ${number}`))
})

describe("a traced method", () => {
  it.effect("has no span of its own", () =>
    Effect.gen(function*() {
      const { doubled, span } = yield* Effect.withSpan(double(2), "caller")
      assert.deepStrictEqual([doubled, span], [4, "caller"])
    }))

  it.effect("may return an effect, and pass it on", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* plain(2), 3)
    }))

  it.effect("is named in the stack of its defect", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(broken(3))
      assert.match(
        Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "",
        /^Error: no 3\n[^]*\n    at Numbers\.broken$/
      )
    }))
})
