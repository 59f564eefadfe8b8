import { Context, Duration, Effect, Layer, Metric, Option, Pool, Schema, Semaphore, Struct, UndefinedOr } from "effect"
import { getCompileCacheDir } from "node:module"
import { availableParallelism } from "node:os"
import { dirname } from "node:path"
import { type Transferable, Worker } from "node:worker_threads"
import { machineClock } from "../db/SharedTime.ts"
import { Overloaded } from "../DomainErrors.ts"
import { atZero, countersBy, during } from "../operations/Metrics.ts"
import type { HeavyJob, Order, Reply } from "./HeavyJob.ts"
import { waitingForOthers } from "./Lane.ts"

export interface HeavyLimits {
  readonly threads: number
  readonly queue: number
  readonly maxWait: Duration.Duration
  readonly maxDuration: Duration.Duration
  readonly maxHeapMiB: number
  readonly maxIdle: Duration.Duration
}

const DEFAULTS: HeavyLimits = {
  // One core stays free for requests.
  threads: Math.max(1, availableParallelism() - 1),
  queue: 8,
  maxWait: Duration.seconds(2),
  maxDuration: Duration.seconds(8),
  maxHeapMiB: 320,
  maxIdle: Duration.seconds(30)
}

/** Smaller work runs inline: 64 KiB take 1.4 ms, as the way to a thread and back. A thread costs 330 ms and 60 MiB. */
export const INLINE_BYTES = 65_536

const RETRY_AFTER = Duration.seconds(5)

const overloaded = (reason: Overloaded["reason"]) => Overloaded.retryAfter(reason, RETRY_AFTER)

const running = Metric.gauge("heavy_jobs_running", { description: "Jobs running in threads" })

const waiting = Metric.gauge("heavy_jobs_waiting", { description: "Jobs queued for a thread" })

const REASONS = { queue: "jobs", wait: "jobs", time: "job_time", memory: "job_memory" } as const

const REFUSALS = countersBy(
  "heavy_job_refusals_total",
  "reason",
  Struct.keys(REASONS),
  "Jobs that ended with 503, by the limit that they exceeded"
)

const refused = (limit: keyof typeof REASONS) =>
  Effect.andThen(Metric.update(REFUSALS[limit], 1), Effect.fail(overloaded(REASONS[limit])))

const threadDeaths = Metric.counter("heavy_thread_deaths_total", {
  description: "Threads that ended during a job",
  incremental: true
})

class ThreadDied extends Schema.TaggedError<ThreadDied>()("ThreadDied", { cause: Schema.Unknown }) {}

const died = ({ cause }: ThreadDied) =>
  Effect.andThen(
    Metric.update(threadDeaths, 1),
    cause instanceof Error && "code" in cause && cause.code === "ERR_WORKER_OUT_OF_MEMORY"
      ? refused("memory")
      : Effect.andThen(Effect.logError("thread ended during its work", cause), Effect.fail(overloaded("job_ended")))
  )

/** Compiling is half of what starting a thread costs, so threads share this directory of compiled modules. */
const COMPILE_CACHE = UndefinedOr.match(getCompileCacheDir(), {
  onUndefined: () => ({}),
  onDefined: (directory) => ({ NODE_COMPILE_CACHE: dirname(directory) })
})

/** The thread gets neither the environment of this process nor its secrets. */
const makeThread = (maxHeapMiB: number) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const worker = new Worker(new URL("./HeavyThread.ts", import.meta.url), {
        env: COMPILE_CACHE,
        execArgv: [],
        resourceLimits: { maxOldGenerationSizeMb: maxHeapMiB }
      })
      // Without a listener an error would end the process.
      worker.on("error", () => {}).unref()
      return worker
    }),
    (worker) => Effect.promise(() => worker.terminate())
  )

/** Data that cannot be cloned is an error of the job; the thread continues. */
const ask = <O>(worker: Worker, order: Order, transfer: ReadonlyArray<Transferable>) =>
  Effect.callback<Reply<O>, ThreadDied>((resume) => {
    const onMessage = (reply: Reply<O>) => end(Effect.succeed(reply))
    const onUnreadable = (error: unknown) => end(Effect.succeed({ error }))
    const onError = (cause: unknown) => end(Effect.fail(new ThreadDied({ cause })))
    const onExit = (code: number) => onError(new Error(`a thread ended with code ${code}`))
    const forget = () =>
      void worker.off("message", onMessage).off("messageerror", onUnreadable).off("error", onError).off("exit", onExit)
    const end = (exit: Effect.Effect<Reply<O>, ThreadDied>) => {
      forget()
      resume(exit)
    }
    worker.on("message", onMessage).on("messageerror", onUnreadable).on("error", onError).on("exit", onExit)
    try {
      worker.postMessage(order, transfer)
    } catch (error) {
      onUnreadable(error)
    }
    return Effect.sync(forget)
  })

const makeShare = ({ queue, threads }: HeavyLimits) => {
  const atOnce = Math.max(1, threads - 1)
  return { admission: Semaphore.makeUnsafe(atOnce + queue), turns: Semaphore.makeUnsafe(atOnce) }
}

export class HeavyWork extends Context.Service<HeavyWork, {
  /**
   * Runs short jobs here, others in a thread. Transferred objects are gone from this thread. Fails with `Overloaded`
   * when the queue is full, after a timeout, above the memory limit, and when the thread exits. A job that throws, and
   * input or a result that cannot be cloned, is a defect. An interruption ends the job at once.
   */
  readonly run: <I, O>(
    job: HeavyJob<I, O>,
    input: NoInfer<I>,
    bytes: number,
    transfer?: ReadonlyArray<Transferable>,
    maxWait?: Duration.Duration
  ) => Effect.Effect<O, Overloaded>
}>()("route-planning-service/HeavyWork") {
  static readonly layerOf = (limits: HeavyLimits) =>
    Layer.effect(
      HeavyWork,
      Effect.gen(function*() {
        const threads = yield* Pool.makeWithTTL({
          acquire: makeThread(limits.maxHeapMiB),
          min: 0,
          max: limits.threads,
          timeToLive: limits.maxIdle
        })
        const shares = new Map<string, ReturnType<typeof makeShare>>()
        const shareOf = (name: string) => {
          const share = shares.get(name) ?? makeShare(limits)
          shares.set(name, share)
          return share
        }

        yield* atZero([running, waiting, threadDeaths, ...Object.values(REFUSALS)])

        const inThread = Effect.fnUntraced(function*<O>(
          order: Order,
          turns: Semaphore.Semaphore,
          transfer: ReadonlyArray<Transferable>,
          maxWait: Duration.Duration
        ) {
          // The turn comes first, so that no share fills the queue of the pool.
          const worker = yield* Effect.andThen(turns.takeScoped(1), Pool.get(threads)).pipe(
            Effect.timeoutOrElse({ duration: maxWait, orElse: () => refused("wait") }),
            during(waiting)
          )
          return yield* ask<O>(worker, order, transfer).pipe(
            Effect.timeoutOrElse({ duration: limits.maxDuration, orElse: () => refused("time") }),
            Effect.catchTag("ThreadDied", died),
            // A thread without a reply is still busy, or dead.
            Effect.onError(() => Pool.invalidate(threads, worker)),
            during(running)
          )
        }, Effect.scoped)

        return HeavyWork.of({
          run: Effect.fnUntraced(function*<I, O>(
            job: HeavyJob<I, O>,
            input: NoInfer<I>,
            bytes: number,
            transfer: ReadonlyArray<Transferable> = [],
            maxWait = limits.maxWait
          ) {
            if (bytes <= INLINE_BYTES) return yield* Effect.promise(async () => job.run(input))
            const { module, name } = job
            const { admission, turns } = shareOf(job.share)
            const reply = yield* waitingForOthers(inThread<O>({ module, name, input }, turns, transfer, maxWait)).pipe(
              Semaphore.withPermitsIfAvailable(admission, 1),
              Effect.withSpan(`HeavyWork.${name}`, {}, { captureStackTrace: false })
            )
            if (Option.isNone(reply)) return yield* refused("queue")
            return "error" in reply.value ? yield* Effect.die(reply.value.error) : reply.value.result
          })
        })
      })
    )

  static readonly layer = HeavyWork.layerOf(DEFAULTS).pipe(Layer.provide(machineClock))
}
