import { assert, describe, it } from "@effect/vitest"
import { Config, Duration, Effect, Logger, Metric, Option, Ref } from "effect"
import { TestClock } from "effect/testing"
import { UserId } from "../../src/schema/Ids.ts"
import {
  deletionCutoffAt,
  nothingSwept,
  overdue,
  plus,
  runSweep,
  scheduled,
  sweepEach,
  sweepStates,
  sweepUntilShort,
  sweptAt,
  trashedAt
} from "../../src/services/db/Sweeps.ts"
import { spansOf } from "../support/Spans.ts"

const metricsOf = (sweep: string) =>
  Effect.map(
    Metric.snapshot,
    (all) =>
      Object.fromEntries(
        all.filter(({ attributes }) => attributes?.["sweep"] === sweep).map(({ id, state }) => [id, state])
      )
  )

/** The metrics are those of this effect alone, and what fails in it is not logged. */
const alone = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  effect.pipe(Effect.provide(Logger.layer([])), Effect.provideService(Metric.MetricRegistry, new Map()))

describe("a sweep", () => {
  it("has the rows of all its batches, and the lag of the oldest", () => {
    assert.deepStrictEqual(nothingSwept, { rows: 0, lagMillis: 0 })
    assert.deepStrictEqual(plus({ rows: 5, lagMillis: 30 }, { rows: 2, lagMillis: 70 }), { rows: 7, lagMillis: 70 })
    assert.deepStrictEqual(sweptAt(1000, [new Date(700), new Date(200)]), { rows: 2, lagMillis: 800 })
    assert.deepStrictEqual(sweptAt(1000, [new Date(2000)]), { rows: 1, lagMillis: 0 })
    assert.deepStrictEqual(sweptAt(1000, []), nothingSwept)
  })

  it.effect("takes batches until one is not full", () =>
    Effect.gen(function*() {
      const sweptIn = Effect.fnUntraced(function*(sizes: ReadonlyArray<number>) {
        const left = [...sizes]
        const pauses = yield* Ref.make(0)
        const batch = Effect.sync(() => ({ rows: left.shift() ?? 0, lagMillis: 1 }))
        const { rows } = yield* sweepUntilShort(batch, 3, Ref.update(pauses, (count) => count + 1))
        return [rows, yield* Ref.get(pauses), left.length]
      })
      assert.deepStrictEqual(yield* sweptIn([3, 3, 2, 3]), [8, 2, 1])
      assert.deepStrictEqual(yield* sweptIn([3, 0, 3]), [3, 1, 1])
      assert.deepStrictEqual(yield* sweptIn([2, 3]), [2, 0, 1])
    }))

  it.effect("that fails is logged in the span of its run", () =>
    Effect.gen(function*() {
      const names: Array<string> = []
      const failed = runSweep("things", Effect.fail("not now")).pipe(
        Effect.provide(Logger.layer([spansOf("sweep of things failed", names)]))
      )
      assert.isFalse(yield* alone(failed))
      assert.deepStrictEqual(names, ["Sweeps.things"])
    }))

  it.effect("of accounts tries each once, passes those that fail, and counts them", () =>
    alone(Effect.gen(function*() {
      const left = new Set([1, 2, 3, 4, 5].map((id) => UserId.make(id)))
      const tried: Array<number> = []
      const swept = yield* sweepEach(
        "accounts",
        (skipped: ReadonlyArray<UserId>) =>
          Effect.sync(() => [...left].filter((id) => !skipped.includes(id)).slice(0, 1).map((id) => ({ id }))),
        (id) =>
          Effect.suspend(() => {
            tried.push(id)
            if (id === 2 || id === 5) return Effect.fail("no")
            left.delete(id)
            return Effect.succeed({ rows: 1, lagMillis: 10 * id })
          })
      )
      assert.deepStrictEqual(tried, [1, 2, 3, 4, 5])
      assert.deepStrictEqual(swept, { rows: 3, lagMillis: 40 })
      assert.deepStrictEqual((yield* metricsOf("accounts"))["sweep_failures_total"], {
        count: 2,
        incremental: true
      })
    })))

  it.effect("reports its end, its rows and its lag in seconds, after an attempt that failed", () =>
    alone(Effect.gen(function*() {
      const attempts = yield* Ref.make(0)
      yield* TestClock.setTime(90_000)
      const isDone = yield* runSweep(
        "one",
        Effect.flatMap(
          Ref.updateAndGet(attempts, (count) => count + 1),
          (count) => count === 1 ? Effect.fail("once") : Effect.succeed({ rows: 7, lagMillis: 2500 })
        )
      )
      assert.isTrue(isDone)
      const metrics = yield* metricsOf("one")
      assert.deepStrictEqual(metrics["sweep_rows_total"], { count: 7, incremental: true })
      assert.deepStrictEqual(metrics["sweep_failures_total"], { count: 0, incremental: true })
      assert.deepStrictEqual(metrics["sweep_lag_seconds"], { value: 2.5 })
      assert.deepStrictEqual(metrics["sweep_last_run_timestamp_seconds"], { value: 90 })
      assert.deepStrictEqual(yield* sweepStates, [{ name: "one", lastRunAt: "1970-01-01T00:01:30.000Z" }])
    })))

  it.effect("that fails twice is one failure, and has not ended", () =>
    alone(Effect.gen(function*() {
      const attempts = yield* Ref.make(0)
      const failing = Effect.andThen(Ref.update(attempts, (count) => count + 1), Effect.die("always"))
      assert.isFalse(yield* runSweep("failing", failing))
      assert.strictEqual(yield* Ref.get(attempts), 2)
      const metrics = yield* metricsOf("failing")
      assert.deepStrictEqual(metrics["sweep_failures_total"], { count: 1, incremental: true })
      assert.deepStrictEqual(metrics["sweep_rows_total"], { count: 0, incremental: true })
      assert.isUndefined(metrics["sweep_last_run_timestamp_seconds"])
    })))
})

describe("the schedule of a sweep", () => {
  /** Returns the minutes of the first three hours in which it ran, where a row is due in so many minutes or unknown. */
  const runsWith = (
    earliestDue: (runs: number) => Effect.Effect<Option.Option<Date>, unknown>,
    failing: ReadonlyArray<number> = []
  ) =>
    Effect.gen(function*() {
      const runs: Array<number> = []
      const started = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      yield* scheduled({
        longestSleep: Config.succeed(Duration.hours(1)),
        run: Effect.clockWith((clock) =>
          Effect.map(clock.currentTimeMillis, (now) => !failing.includes(runs.push((now - started) / 60_000)))
        ),
        earliestDue: Effect.suspend(() => earliestDue(runs.length))
      })
      yield* TestClock.adjust("3 hours")
      return runs
    }).pipe(Effect.scoped, alone)

  const dueAt = (minutes: number) => Effect.succeedSome(new Date(60_000 * minutes))

  it.effect("waits for the next row, at most for the longest sleep", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* runsWith(() => Effect.succeedNone), [0, 60, 120, 180])
    }))

  it.effect("runs when the next row is due", () =>
    Effect.gen(function*() {
      const due = [dueAt(10), dueAt(1000)]
      assert.deepStrictEqual(yield* runsWith((runs) => due[runs - 1] ?? Effect.succeedNone), [0, 10, 70, 130])
    }))

  it.effect("runs again after a minute where rows are overdue, or unknown", () =>
    Effect.gen(function*() {
      const due = [dueAt(0), Effect.fail("away"), overdue(Effect.succeed(true))]
      assert.deepStrictEqual(yield* runsWith((runs) => due[runs - 1] ?? dueAt(500)), [0, 1, 2, 3, 63, 123])
    }))

  it.effect("runs again after a minute where a run failed, though nothing is known to be due", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* runsWith(() => Effect.succeedNone, [1, 2]), [0, 1, 2, 62, 122])
    }))

  it.effect("has nothing overdue where nothing is due", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* overdue(Effect.succeed(true)), Option.some(new Date(0)))
      assert.deepStrictEqual(yield* overdue(Effect.succeed(false)), Option.none())
    }))
})

describe("what was deleted", () => {
  it("is erased after thirty days", () => {
    assert.deepStrictEqual(trashedAt(new Date(0)), {
      deletedAt: "1970-01-01T00:00:00.000Z",
      purgedAt: "1970-01-31T00:00:00.000Z"
    })
    assert.deepStrictEqual(deletionCutoffAt(Date.UTC(1970, 0, 31)), new Date(0))
  })
})
