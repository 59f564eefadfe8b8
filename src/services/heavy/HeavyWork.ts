import { Context, Duration, Effect, Layer, Metric, Option, Pool, Schema, Semaphore } from "effect"
import { availableParallelism } from "node:os"
import { type Transferable, Worker } from "node:worker_threads"
import { Unavailable } from "../../schema/Errors.ts"
import { waitingForOthers } from "../limits/RunningRequests.ts"
import { during } from "../metrics/Gauges.ts"
import { prepared, refused, running, threadDeaths, waiting } from "./HeavyMetrics.ts"

/**
 * Work that takes longer than a request may hold up others. It runs in this thread or in another by its name, so what goes
 * in and comes out is data (the structured clone algorithm).
 */
export interface HeavyJob<I, O> {
  readonly name: string
  /** Jobs of one share queue together, apart from those of others; those that name none are one share. */
  readonly share?: string
  run(input: I): O | Promise<O>
  /** What of its output a thread hands over: it is not copied, and gone from the thread. */
  transferred?(output: O): ReadonlyArray<Transferable>
}

/** How much heavy work there may be at once, and how much each piece of it may take. */
export interface HeavyLimits {
  readonly threads: number
  /** How many jobs of one share may be pending. */
  readonly queue: number
  readonly maxWait: Duration.Duration
  readonly maxDuration: Duration.Duration
  readonly maxHeapMiB: number
  /** A thread without work is ended after so long. */
  readonly maxIdle: Duration.Duration
}

const defaultLimits = (): HeavyLimits => ({
  // One core is left for everybody else.
  threads: Math.max(1, availableParallelism() - 1),
  queue: 8,
  maxWait: Duration.seconds(2),
  maxDuration: Duration.seconds(8),
  maxHeapMiB: 320,
  maxIdle: Duration.seconds(30)
})

/**
 * Work on so many bytes is done at once: 64 KiB of a route take 1.4 ms, about as long as the way to a thread and back, and a
 * thread that has to be started takes half a second of a core and 60 MiB.
 */
export const INLINE_BYTES = 65_536

/** Decoding batches of an archive takes a quarter more processor time in a young generation of 32 MiB. */
const MAX_YOUNG_MIB = 64

/** What a thread sends back: the result of a job, or what it threw. */
export type Reply<O> = { readonly result: O } | { readonly error: unknown }

class OutOfMemory extends Schema.TaggedError<OutOfMemory>()("OutOfMemory", {}) {}

/** A thread that ended, by an uncaught exception or by itself, before it had replied. */
class ThreadDied extends Schema.TaggedError<ThreadDied>()("ThreadDied", { cause: Schema.Unknown }) {}

const RETRY_AFTER = Duration.seconds(5)

const busy = () => Unavailable.retryAfter("Too much work of this kind is pending: try again", RETRY_AFTER)

const tooMuch = (what: string) =>
  Unavailable.retryAfter(`The request takes more ${what} than one request may have`, RETRY_AFTER)

const died = ({ cause }: ThreadDied) =>
  Effect.andThen(
    Effect.logError("a thread ended during its work", cause),
    Effect.fail(Unavailable.retryAfter("The work ended before it was done: try again", RETRY_AFTER))
  )

const isOutOfMemory = (error: unknown) =>
  error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY"

/** What the jobs of one share have: a queue of their own, and a number of threads that leaves one to the other shares. */
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

/** A thread for as long as the scope lives. It has no settings of this process, and with them no secrets. */
const threadOf = (entry: URL, { maxHeapMiB }: HeavyLimits) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const worker = new Worker(entry, {
        env: {},
        execArgv: [],
        resourceLimits: { maxOldGenerationSizeMb: maxHeapMiB, maxYoungGenerationSizeMb: MAX_YOUNG_MIB }
      })
      // A job that waits for a reply has listeners of its own; without one an error would end the process.
      worker.on("error", () => {}).unref()
      return worker
    }),
    (worker) => Effect.promise(() => worker.terminate())
  )

/**
 * Has a thread do a job, and waits for its reply or its end. What cannot be cloned, on the way there or back, is an error of
 * the job: the thread goes on.
 */
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

/** A pool of threads for work that would hold up this one. They are started when there is work. */
export class HeavyWork extends Context.Service<HeavyWork, {
  /**
   * Does a job: here where it is short, else in a thread. What is transferred is gone from this thread. `Unavailable`,
   * with the seconds to wait, when too many jobs are pending or this one has waited too long, when it takes more memory or
   * time than a job may have, and when its thread exits. A job that throws, or whose input or result cannot be cloned, is a
   * defect. Interrupted, it ends at once.
   */
  readonly run: <I, O>(
    job: HeavyJob<I, O>,
    input: I,
    bytes: number,
    transfer?: ReadonlyArray<Transferable>,
    /** How long the job may be queued, where that is not what others have (2 seconds). */
    maxWait?: Duration.Duration
  ) => Effect.Effect<O, Unavailable>
}>()("route-planning-service/HeavyWork") {
  /** `entry` is a module that serves jobs by `serveJobs`. */
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

        // With a turn first, so that of each share no more than its part is in the queue of the pool.
        const threadFor = (share: string | undefined, maxWait: Duration.Duration) =>
          shareOf(share).turns.takeScoped(1).pipe(
            Effect.andThen(Pool.get(pool)),
            Effect.timeoutOrElse({ duration: maxWait, orElse: () => refused("wait", busy()) }),
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
              orElse: () => refused("time", tooMuch("time"))
            }),
            Effect.catchTags({ OutOfMemory: () => refused("memory", tooMuch("memory")), ThreadDied: died }),
            // A thread that has not replied is still at work, or dead.
            Effect.onError(() => Pool.invalidate(pool, worker)),
            during(running)
          )
        }, Effect.scoped)

        return HeavyWork.of({
          run: Effect.fn("HeavyWork.run")(function*(job, input, bytes, transfer = [], maxWait = limits.maxWait) {
            if (bytes <= INLINE_BYTES) return yield* Effect.promise(async () => job.run(input))
            const { admission } = shareOf(job.share)
            const reply = yield* waitingForOthers(inThread(job, input, transfer, maxWait)).pipe(
              Semaphore.withPermitsIfAvailable(admission, 1)
            )
            if (Option.isNone(reply)) return yield* refused("queue", busy())
            return "error" in reply.value ? yield* Effect.die(reply.value.error) : reply.value.result
          })
        })
      })
    )
}
