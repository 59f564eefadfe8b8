import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { type ProcessMemory, releaseWhenIdle } from "../../src/layers/process/MemoryRelease.ts"

const MIB = 2 ** 20

/** A process with figures that a test sets; what it releases leaves 150 MiB. */
const processOf = (figures: { busy: number; mebibytes: number; releases: number }): ProcessMemory => ({
  busyShare: () => figures.busy,
  residentBytes: () => figures.mebibytes * MIB,
  release: () => {
    figures.releases++
    figures.mebibytes = 150
  }
})

const watched = Effect.gen(function*() {
  const figures = { busy: 0, mebibytes: 150, releases: 0 }
  yield* Effect.forkScoped(releaseWhenIdle(processOf(figures)))
  yield* TestClock.adjust("10 seconds")
  return figures
})

describe("memory of a process", () => {
  it.effect("is released once, ten seconds after a load", () =>
    Effect.gen(function*() {
      const figures = yield* watched
      figures.busy = 0.5
      figures.mebibytes = 400
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(figures.releases, 0)
      figures.busy = 0.05
      yield* TestClock.adjust("9 seconds")
      assert.strictEqual(figures.releases, 0)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(figures.releases, 1)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(figures.releases, 1)
    }))

  it.effect("is not released in a pause of a load", () =>
    Effect.gen(function*() {
      const figures = yield* watched
      figures.mebibytes = 400
      for (let second = 0; second < 60; second++) {
        figures.busy = second % 10 === 0 ? 0.5 : 0
        yield* TestClock.adjust("1 second")
      }
      assert.strictEqual(figures.releases, 0)
    }))

  it.effect("is not released for little", () =>
    Effect.gen(function*() {
      const figures = yield* watched
      figures.mebibytes = 213
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(figures.releases, 0)
      figures.mebibytes = 214
      yield* TestClock.adjust("1 second")
      assert.strictEqual(figures.releases, 1)
    }))
})
