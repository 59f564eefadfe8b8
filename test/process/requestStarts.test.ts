import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { setImmediate as nextIteration } from "node:timers/promises"
import { makeRequestStarts } from "../../src/layers/RequestStarts.ts"

/** Longer than the slice of an iteration. */
const LONG = 8

const workFor = (millis: number) => {
  const until = performance.now() + millis
  while (performance.now() < until);
}

const startsOf = (durations: ReadonlyArray<number>) => {
  const seen = { waiting: 0, started: new Array<number>() }
  const starts = makeRequestStarts((change) => void (seen.waiting += change))
  durations.forEach((millis, index) =>
    starts.add(() => {
      seen.started.push(index)
      workFor(millis)
    })
  )
  return { seen, starts }
}

it.live("requests that use the slice of an iteration start in it, the others in order, each slice in an iteration", () =>
  Effect.gen(function*() {
    const { seen, starts } = startsOf([LONG, LONG, 0, 0, LONG, 0])
    const iterations = new Array<readonly [started: number, waiting: number]>()
    for (let n = 0; n < 4; n++) {
      iterations.push([seen.started.length, seen.waiting])
      yield* Effect.promise(() => nextIteration())
    }
    assert.deepStrictEqual(iterations, [[1, 5], [2, 4], [5, 1], [6, 0]])
    assert.deepStrictEqual(seen.started, [0, 1, 2, 3, 4, 5])
    assert.isTrue(starts.isFree())
  }))

it.live("a request starts at once where there is room in the slice", () =>
  Effect.sync(() => {
    const { seen, starts } = startsOf([0, 0])
    assert.deepStrictEqual(seen.started, [0, 1])
    assert.isTrue(starts.isFree())
    starts.add(() => workFor(LONG))
    assert.isFalse(starts.isFree())
  }))
