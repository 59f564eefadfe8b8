import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Metric } from "effect"
import { threadId } from "node:worker_threads"
import { HeavyJob } from "../../src/services/admission/HeavyJob.ts"
import { HeavyWork, INLINE_BYTES } from "../../src/services/admission/HeavyWork.ts"
import { readManifest } from "../../src/services/archive/Lists.ts"
import { Overloaded } from "../../src/services/DomainErrors.ts"
import { readFile } from "../../src/services/routes/FileJobs.ts"
import { readNewRoute, readRoutePatch } from "../../src/services/routes/RouteJobs.ts"
import { joinMatches, measureShortTrace, readTrace } from "../../src/services/routing/EngineJobs.ts"
import { until } from "../support/Waiting.ts"
import {
  crash,
  eat,
  echo,
  environment,
  heldFile,
  lengthOf,
  lengthOfBody,
  nest,
  spin,
  thread,
  throwError,
  work
} from "../support/WildJobs.ts"

const LIMITS = {
  threads: 1,
  queue: 2,
  maxWait: Duration.minutes(1),
  maxDuration: Duration.minutes(1),
  maxHeapMiB: 64,
  maxIdle: Duration.minutes(1)
}

const long = INLINE_BYTES + 1

const withLimits = <A, E>(limits: Partial<typeof LIMITS>, test: Effect.Effect<A, E, HeavyWork>) =>
  Effect.provide(test, HeavyWork.layerOf({ ...LIMITS, ...limits }), { local: true }).pipe(
    Effect.provideService(Metric.MetricRegistry, new Map())
  )

const refusalOf = <A>(exit: Exit.Exit<A, Overloaded>) =>
  Exit.isFailure(exit) ? exit.cause.reasons.map((reason) => reason._tag === "Fail" ? reason.error : reason) : []

/** Asserts that a job is still done, by a thread that is well. */
const isWell = Effect.gen(function*() {
  const heavy = yield* HeavyWork
  assert.strictEqual(yield* heavy.run(lengthOf, new Uint8Array(5), long), 5)
})

/** Reads a figure of the metrics, in all or of one reason. */
const figure = (name: string, reason?: string) =>
  Effect.map(Metric.snapshot, (metrics) => {
    const metric = metrics.find(({ attributes, id }) => id === name && attributes?.["reason"] === reason)
    if (metric?.type === "Counter") return metric.state.count
    return metric?.type === "Gauge" ? metric.state.value : undefined
  })

/** A job waits so long for its thread, which a busy machine takes a while to make. */
const PATIENT = Duration.minutes(1)

describe("heavy work", () => {
  it.live("is done here where it is short, else in a thread, and what is transferred is gone", () =>
    withLimits(
      {},
      Effect.gen(function*() {
        const heavy = yield* HeavyWork
        const bytes = new Uint8Array(INLINE_BYTES)
        assert.strictEqual(yield* heavy.run(lengthOf, bytes, bytes.length, [bytes.buffer]), INLINE_BYTES)
        assert.strictEqual(bytes.length, INLINE_BYTES)
        assert.strictEqual(yield* heavy.run(thread, null, INLINE_BYTES), threadId)
        assert.notStrictEqual(yield* heavy.run(thread, null, long), threadId)
        assert.strictEqual(yield* heavy.run(lengthOf, bytes, long, [bytes.buffer]), INLINE_BYTES)
        assert.strictEqual(bytes.length, 0)
      })
    ))

  it.live("is done without the environment of the process, but finds the modules that were compiled before", () =>
    withLimits(
      {},
      Effect.gen(function*() {
        const heavy = yield* HeavyWork
        assert.deepStrictEqual(yield* heavy.run(environment, null, long), ["NODE_COMPILE_CACHE"])
      })
    ))

  it.live("that throws is a defect of its own request, and the thread goes on", () =>
    withLimits(
      {},
      Effect.gen(function*() {
        const heavy = yield* HeavyWork
        const exit = yield* Effect.exit(heavy.run(throwError, "no", long))
        assert.match(String(Exit.isFailure(exit) ? exit.cause : ""), /no/)
        yield* isWell
      })
    ))

  it.live("that its module does not make where it is loaded is a defect that names both", () =>
    withLimits(
      {},
      Effect.gen(function*() {
        const heavy = yield* HeavyWork
        const late = new HeavyJob<null, null>(crash.module, { name: "late", run: () => null })
        const exit = yield* Effect.exit(heavy.run(late, null, long))
        assert.match(String(Exit.isFailure(exit) ? exit.cause : ""), /WildJobs\.ts makes no job "late"/)
        yield* isWell
      })
    ))

  it.live("whose input or result cannot be cloned is a defect of its own request, and the thread goes on", () =>
    withLimits(
      {},
      Effect.gen(function*() {
        const heavy = yield* HeavyWork
        const unreadable = yield* Effect.exit(heavy.run(nest, 10_000, long))
        assert.match(String(Exit.isFailure(unreadable) ? unreadable.cause : ""), /Maximum call stack size exceeded/)
        const unsendable = yield* Effect.exit(heavy.run(echo, () => 1, long))
        assert.match(String(Exit.isFailure(unsendable) ? unsendable.cause : ""), /could not be cloned/)
        yield* isWell
        assert.strictEqual(yield* figure("heavy_thread_deaths_total"), 0)
      })
    ))

  it.live("that ends its thread is 503 with seconds to wait for its own request, and the next has another thread", () =>
    withLimits(
      {},
      Effect.gen(function*() {
        const heavy = yield* HeavyWork
        const [exit] = yield* Effect.all([Effect.exit(heavy.run(crash, null, long)), isWell], { concurrency: 2 })
        const [error] = refusalOf(exit)
        assert.instanceOf(error, Overloaded)
        assert.deepInclude(error, { reason: "job_ended", retryAfterSeconds: 5 })
        assert.strictEqual(yield* figure("heavy_thread_deaths_total"), 1)
        yield* isWell
      })
    ))

  it.live("that runs out of memory is 503 with Retry-After, and affects no other work", () =>
    withLimits(
      {},
      Effect.gen(function*() {
        const heavy = yield* HeavyWork
        const [exit] = yield* Effect.all([Effect.exit(heavy.run(eat, null, long)), isWell], { concurrency: 2 })
        const [error] = refusalOf(exit)
        assert.instanceOf(error, Overloaded)
        assert.deepInclude(error, { reason: "job_memory", retryAfterSeconds: 5 })
        assert.strictEqual(yield* figure("heavy_job_refusals_total", "memory"), 1)
        assert.strictEqual(yield* figure("heavy_thread_deaths_total"), 1)
        yield* isWell
      })
    ))

  it.live("that takes too long is 503 with seconds to wait, and its thread is ended", () =>
    withLimits(
      { maxDuration: Duration.seconds(2) },
      Effect.gen(function*() {
        const heavy = yield* HeavyWork
        const [error] = refusalOf(yield* Effect.exit(heavy.run(spin, null, long)))
        assert.deepInclude(error, { reason: "job_time", retryAfterSeconds: 5 })
        assert.strictEqual(yield* figure("heavy_job_refusals_total", "time"), 1)
        // On a busy machine the next thread may take longer than a job to start.
        yield* Effect.eventually(isWell)
      })
    ))

  it.live("that waits too long for its turn is 503 with seconds to wait", () =>
    withLimits(
      { maxWait: Duration.millis(50) },
      Effect.gen(function*() {
        const heavy = yield* HeavyWork
        const spinning = heavy.run(spin, null, long, [], PATIENT)
        const first = yield* Effect.forkChild(spinning, { startImmediately: true })
        const [error] = refusalOf(yield* Effect.exit(heavy.run(lengthOf, new Uint8Array(1), long)))
        assert.deepInclude(error, { reason: "jobs", retryAfterSeconds: 5 })
        assert.strictEqual(yield* figure("heavy_job_refusals_total", "wait"), 1)
        yield* Fiber.interrupt(first)
      })
    ))

  it.live("may be queued for longer than others by an option", () =>
    withLimits(
      { maxWait: Duration.millis(50) },
      Effect.gen(function*() {
        const heavy = yield* HeavyWork
        const working = heavy.run(work, 200, long, [], PATIENT)
        const first = yield* Effect.forkChild(working, { startImmediately: true })
        const patient = heavy.run(lengthOf, new Uint8Array(5), long, [], PATIENT)
        assert.strictEqual(yield* patient, 5)
        assert.strictEqual(yield* Fiber.join(first), 200)
      })
    ))

  it.live.each([1, 2])("beyond a full queue is 503 at once, with %i thread(s)", (threads) =>
    withLimits(
      { threads },
      Effect.gen(function*() {
        const heavy = yield* HeavyWork
        const pending = yield* Effect.forEach(
          [1, 2, 3],
          () => Effect.forkChild(heavy.run(spin, null, long), { startImmediately: true })
        )
        const [error] = refusalOf(yield* Effect.exit(heavy.run(lengthOf, new Uint8Array(1), long)))
        assert.deepInclude(error, { reason: "jobs", retryAfterSeconds: 5 })
        assert.strictEqual(yield* figure("heavy_job_refusals_total", "queue"), 1)
        yield* until(Effect.map(figure("heavy_jobs_running"), (jobs) => jobs === 1))
        assert.strictEqual(yield* figure("heavy_jobs_waiting"), 2)
        yield* Fiber.interruptAll(pending)
        yield* isWell
        assert.deepStrictEqual([yield* figure("heavy_jobs_running"), yield* figure("heavy_jobs_waiting")], [0, 0])
      })
    ))

  it("of bodies, of files, of traces and of archives has a share each", () => {
    const jobs = [readNewRoute, readRoutePatch, readTrace, readFile, measureShortTrace, joinMatches, readManifest]
    assert.deepStrictEqual(
      jobs.map(({ share }) => share),
      ["bodies", "bodies", "bodies", "files", "traces", "traces", "archives"]
    )
  })

  it.live("of one share leaves the queue and the next free thread to the others", () =>
    withLimits(
      { queue: 8 },
      Effect.gen(function*() {
        const heavy = yield* HeavyWork
        const gate = new Int32Array(new SharedArrayBuffer(4))
        const done: Array<string> = []
        const add = (name: string) => Effect.sync(() => done.push(name))
        const begun = <A, E>(name: string, work: Effect.Effect<A, E>) =>
          Effect.forkChild(Effect.tap(work, add(name)), { startImmediately: true })
        const pending = yield* Effect.forEach(
          Array.from({ length: 9 }),
          () => begun("file", heavy.run(heldFile, gate, long))
        )
        const [error] = refusalOf(yield* Effect.exit(heavy.run(heldFile, gate, long)))
        assert.deepInclude(error, { reason: "jobs" })
        const body = yield* begun("body", heavy.run(lengthOfBody, new Uint8Array(1), long))
        Atomics.store(gate, 0, 1)
        Atomics.notify(gate, 0)
        yield* Fiber.join(body)
        yield* Fiber.joinAll(pending)
        assert.strictEqual(done.indexOf("body"), 1)
        assert.lengthOf(done, 10)
      })
    ))

  it.live("that is interrupted leaves its thread and its place in the queue to others", () =>
    withLimits(
      { queue: 0 },
      Effect.gen(function*() {
        const heavy = yield* HeavyWork
        for (const _ of [1, 2, 3]) {
          const running = yield* Effect.forkChild(heavy.run(spin, null, long), { startImmediately: true })
          yield* Fiber.interrupt(running)
        }
        yield* isWell
      })
    ))
})
