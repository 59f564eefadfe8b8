import { Context, Duration, Effect, Layer, Metric, Option, Pool, Schema, Semaphore, UndefinedOr } from "effect"
import { getCompileCacheDir } from "node:module"
import { availableParallelism } from "node:os"
import { dirname } from "node:path"
import { type Transferable, Worker } from "node:worker_threads"
import { Overloaded } from "../DomainErrors.ts"
import { waitingForOthers } from "../limits/RunningRequests.ts"
import { during } from "../metrics/Gauges.ts"
import { traced } from "../tracing/Traced.ts"
import { prepared, refused, running, threadDeaths, waiting } from "./HeavyMetrics.ts"

/** Input and output must be structured-cloneable: the job runs in this thread or another. */
export interface HeavyJob<I, O> {
  readonly name: string
  /** Jobs of one share have a queue; those without a name share one. */
  readonly share?: string
  run(input: I): O | Promise<O>
  transferred?(output: O): ReadonlyArray<Transferable>
}

export interface HeavyLimits {
  readonly threads: number
  readonly queue: number
  readonly maxWait: Duration.Duration
  readonly maxDuration: Duration.Duration
  readonly maxHeapMiB: number
  readonly maxIdle: Duration.Duration
}

const defaultLimits = (): HeavyLimits => ({
  // One core stays free for requests.
  threads: Math.max(1, availableParallelism() - 1),
  queue: 8,
  maxWait: Duration.seconds(2),
  maxDuration: Duration.seconds(8),
  maxHeapMiB: 320,
  maxIdle: Duration.seconds(30)
})

/**
 * Smaller work runs inline: 64 KiB of a route take 1.4 ms, about as long as the way to a thread and back, and starting
 * a thread costs a third of a second of a core and 60 MiB.
 */
export const INLINE_BYTES = 65_536

/** In 32 MiB, decoding batches of an archive takes a quarter more processor time. */
const MAX_YOUNG_MIB = 64

export type Reply<O> = { readonly result: O } | { readonly error: unknown }

class OutOfMemory extends Schema.TaggedError<OutOfMemory>()("OutOfMemory", {}) {}

class ThreadDied extends Schema.TaggedError<ThreadDied>()("ThreadDied", { cause: Schema.Unknown }) {}

const RETRY_AFTER = Duration.seconds(5)

const overloaded = (reason: Overloaded["reason"]) => Overloaded.retryAfter(reason, RETRY_AFTER)

const died = ({ cause }: ThreadDied) =>
  Effect.andThen(
    Effect.logError("thread ended during its work", cause),
    Effect.fail(overloaded("job_ended"))
  )

const isOutOfMemory = (error: unknown) =>
  error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY"

const makeShare = ({ queue, threads }: HeavyLimits) => {
  const atOnce = Math.max(1, threads - 1)
  return { admission: Semaphore.makeUnsafe(atOnce + queue), turns: Semaphore.makeUnsafe(atOnce) }
}

const makeShares = (limits: HeavyLimits) => {
  const shares = new Map<string, ReturnType<typeof makeShare>>()
  return (name = "") => {
    const share = shares.get(name) ?? makeShare(limits)
    shares.set(name, share)
    return share
  }
}

/** Of the modules that a thread loads, where this process keeps one: compiling them is half of what its start costs. */
const COMPILE_CACHE = UndefinedOr.match(getCompileCacheDir(), {
  onUndefined: () => ({}),
  onDefined: (directory) => ({ NODE_COMPILE_CACHE: dirname(directory) })
})

/** Without the environment of this process, and its secrets. */
const threadOf = (entry: URL, { maxHeapMiB }: HeavyLimits) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const worker = new Worker(entry, {
        env: COMPILE_CACHE,
        execArgv: [],
        resourceLimits: { maxOldGenerationSizeMb: maxHeapMiB, maxYoungGenerationSizeMb: MAX_YOUNG_MIB }
      })
      // Without a listener an error would end the process.
      worker.on("error", () => {}).unref()
      return worker
    }),
    (worker) => Effect.promise(() => worker.terminate())
  )

/** What cannot be cloned is an error of the job; the thread continues. */
const ask = <I, O>(worker: Worker, { name }: HeavyJob<I, O>, input: I, transfer: ReadonlyArray<Transferable>) =>
  Effect.callback<Reply<O>, OutOfMemory | ThreadDied>((resume) => {
    const onMessage = (reply: Reply<O>) => end(Effect.succeed(reply))
    const onUnreadable = (error: unknown) => end(Effect.succeed({ error }))
    const onError = (cause: unknown) =>
      end(Effect.fail(isOutOfMemory(cause) ? new OutOfMemory() : new ThreadDied({ cause })))
    const onExit = (code: number) => onError(new Error(`a thread ended with code ${code}`))
    const forget = () =>
      void worker.off("message", onMessage).off("messageerror", onUnreadable).off("error", onError).off("exit", onExit)
    const end = (exit: Effect.Effect<Reply<O>, OutOfMemory | ThreadDied>) => {
      forget()
      resume(exit)
    }
    worker.on("message", onMessage).on("messageerror", onUnreadable).on("error", onError).on("exit", onExit)
    try {
      worker.postMessage({ name, input }, transfer)
    } catch (error) {
      onUnreadable(error)
    }
    return Effect.sync(forget)
  })

export class HeavyWork extends Context.Service<HeavyWork, {
  /**
   * Short jobs run here, others in a thread. Transferred objects are gone from this thread. `Overloaded` when the
   * queue is full, after a timeout, above the memory limit, and when the thread exits. A job that throws, and input or
   * a result that cannot be cloned, is a defect. An interruption ends the job at once.
   */
  readonly run: <I, O>(
    job: HeavyJob<I, O>,
    input: NoInfer<I>,
    bytes: number,
    transfer?: ReadonlyArray<Transferable>,
    maxWait?: Duration.Duration
  ) => Effect.Effect<O, Overloaded>
}>()("route-planning-service/HeavyWork") {
  static readonly layerOf = (entry: URL, limits: HeavyLimits = defaultLimits()) =>
    Layer.effect(
      HeavyWork,
      Effect.gen(function*() {
        const pool = yield* Pool.makeWithTTL({
          acquire: threadOf(entry, limits),
          min: 0,
          max: limits.threads,
          timeToLive: limits.maxIdle
        })
        const shareOf = makeShares(limits)

        yield* prepared

        // The turn comes first, so that no share fills the queue of the pool.
        const threadFor = (share: string | undefined, maxWait: Duration.Duration) =>
          shareOf(share).turns.takeScoped(1).pipe(
            Effect.andThen(Pool.get(pool)),
            Effect.timeoutOrElse({ duration: maxWait, orElse: () => refused("wait", overloaded("jobs")) }),
            during(waiting)
          )

        const inThread = Effect.fnUntraced(function*<I, O>(
          job: HeavyJob<I, O>,
          input: I,
          transfer: ReadonlyArray<Transferable>,
          maxWait: Duration.Duration
        ) {
          const worker = yield* threadFor(job.share, maxWait)
          return yield* ask(worker, job, input, transfer).pipe(
            Effect.tapErrorTag(["OutOfMemory", "ThreadDied"], () => Metric.update(threadDeaths, 1)),
            Effect.timeoutOrElse({
              duration: limits.maxDuration,
              orElse: () => refused("time", overloaded("job_time"))
            }),
            Effect.catchTags({ OutOfMemory: () => refused("memory", overloaded("job_memory")), ThreadDied: died }),
            // A thread without a reply is still busy, or dead.
            Effect.onError(() => Pool.invalidate(pool, worker)),
            during(running)
          )
        }, Effect.scoped)

        return HeavyWork.of({
          run: traced("HeavyWork.run")(function*(job, input, bytes, transfer = [], maxWait = limits.maxWait) {
            if (bytes <= INLINE_BYTES) return yield* Effect.promise(async () => job.run(input))
            const { admission } = shareOf(job.share)
            const reply = yield* waitingForOthers(inThread(job, input, transfer, maxWait)).pipe(
              Semaphore.withPermitsIfAvailable(admission, 1)
            )
            if (Option.isNone(reply)) return yield* refused("queue", overloaded("jobs"))
            return "error" in reply.value ? yield* Effect.die(reply.value.error) : reply.value.result
          })
        })
      })
    )
}
