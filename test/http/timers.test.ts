import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Duration, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { within } from "../../src/http/middleware/Deadline.ts"
import { timersOf } from "../../src/http/middleware/Timers.ts"
import { ResponseDeadline } from "../../src/http/request/BodyArrival.ts"

const makeRecorder = Effect.map(Clock.Clock, (clock) => {
  const expired: Array<string> = []
  const timers = timersOf(clock)
  const now = () => clock.currentTimeMillisUnsafe()
  const enterUntil = (name: string, left: () => number) => {
    const timer = { left, expire: () => void expired.push(`${name} ${now()}`) }
    timers.enter(timer)
    return () => timers.leave(timer)
  }
  return {
    expired,
    enter: (name: string, milliseconds: number) => {
      const due = now() + milliseconds
      return enterUntil(name, () => due - now())
    },
    enterUntil,
    now
  }
})

describe("a deadline", () => {
  it.effect("counts from the body on, however long a body may take", () =>
    Effect.gen(function*() {
      const work = Effect.gen(function*() {
        const deadline = yield* ResponseDeadline
        yield* deadline.awaitBody(30_000)
        yield* Effect.sleep("100 millis")
        yield* deadline.begin
        return yield* Effect.never
      })
      const fiber = yield* Effect.forkChild(Effect.exit(within(work, Duration.seconds(5))))
      yield* TestClock.adjust("5 seconds")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("100 millis")
      const exit = yield* Fiber.join(fiber)
      assert.include(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", "did not respond in time")
    }))
})

describe("timers", () => {
  it.effect("are called in the order in which they are due, whenever they were entered", () =>
    Effect.gen(function*() {
      const { enter, expired } = yield* makeRecorder
      enter("late", 5000)
      enter("early", 1000)
      yield* TestClock.adjust("500 millis")
      enter("earliest", 100)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(expired, ["earliest 600", "early 1000", "late 5000"])
    }))

  it.effect("are not called after they were taken back, and others are", () =>
    Effect.gen(function*() {
      const { enter, expired } = yield* makeRecorder
      const takeBack = enter("first", 1000)
      enter("second", 2000)
      takeBack()
      takeBack()
      yield* TestClock.adjust("10 seconds")
      enter("third", 1000)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(expired, ["second 2000", "third 11000"])
    }))

  it.effect("are called in time after all others were taken back, whenever those were due", () =>
    Effect.gen(function*() {
      const { enter, expired } = yield* makeRecorder
      enter("first", 5000)()
      enter("second", 1000)
      yield* TestClock.adjust("2 seconds")
      enter("third", 2000)()
      enter("fourth", 4000)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(expired, ["second 1000", "fourth 6000"])
    }))

  it.effect("keep no process waiting for none of them", () =>
    Effect.gen(function*() {
      const sleeping = new Set<symbol>()
      const sleep = () => {
        const sleeper = Symbol()
        return Effect.callback<never>(() => {
          sleeping.add(sleeper)
          return Effect.sync(() => sleeping.delete(sleeper))
        })
      }
      const timers = timersOf({ ...(yield* Clock.Clock), sleep })
      const timer = { left: () => 1000, expire: () => undefined }
      timers.enter(timer)
      yield* Effect.yieldNow
      timers.rest()
      assert.strictEqual(sleeping.size, 1)
      timers.leave(timer)
      timers.rest()
      assert.strictEqual(sleeping.size, 0)
      timers.enter(timer)
      yield* Effect.yieldNow
      assert.strictEqual(sleeping.size, 1)
    }))

  it.effect("may be put off meanwhile", () =>
    Effect.gen(function*() {
      const { enterUntil, expired, now } = yield* makeRecorder
      const state = { due: 1000 }
      enterUntil("slow", () => Math.min(state.due - now(), 500))
      yield* TestClock.adjust("900 millis")
      state.due = 3000
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(expired, ["slow 3000"])
    }))
})
