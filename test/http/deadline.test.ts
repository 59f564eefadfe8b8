import { assert, describe, it } from "@effect/vitest"
import { Cause, Duration, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { within } from "../../src/http/middleware/Deadline.ts"
import { ResponseDeadline } from "../../src/http/request/RequestBodies.ts"

describe("a deadline", () => {
  it.effect("counts from the body on, however long a body may take", () =>
    Effect.gen(function*() {
      const work = Effect.gen(function*() {
        const deadline = yield* ResponseDeadline
        yield* deadline.pause
        yield* Effect.sleep("17 seconds")
        yield* deadline.begin
        return yield* Effect.never
      })
      const fiber = yield* Effect.forkChild(Effect.exit(within(work, Duration.seconds(5))))
      yield* TestClock.adjust("21900 millis")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("100 millis")
      const exit = yield* Fiber.join(fiber)
      assert.include(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", "did not respond in time")
    }))
})
