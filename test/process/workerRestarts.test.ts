import { assert, it } from "@effect/vitest"
import { Duration } from "effect"
import { backOff } from "../../src/layers/process/Workers.ts"

const delays = (wasKilled: boolean, hasServed: boolean) =>
  Array.from({ length: 10 }, (_, recent) => Duration.toMillis(backOff({ recent, wasKilled, hasServed })))

it("a worker that was killed is replaced at once, however often", () => {
  for (const hasServed of [true, false]) assert.deepStrictEqual(new Set(delays(true, hasServed)), new Set([100]))
})

it("a worker that ended by itself is replaced later each time, and later still where it never served", () => {
  assert.deepStrictEqual(delays(false, true), [100, 200, 400, 800, ...Array.from({ length: 6 }, () => 1000)])
  assert.deepStrictEqual(delays(false, false), [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000])
})
