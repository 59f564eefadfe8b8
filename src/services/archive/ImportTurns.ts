import { Duration, Effect, Semaphore } from "effect"
import type { Transferable } from "node:worker_threads"
import { Unavailable } from "../../schema/Errors.ts"
import { type HeavyJob, HeavyWork } from "../heavy/HeavyWork.ts"
import { Bulkheads } from "../limits/Bulkheads.ts"

/** Archives that are worked on at once. Of each no more is in memory than a line and a batch, some 20 MiB at the most. */
const MAX_AT_ONCE = 8

/**
 * Pieces of work, of all archives, that run or queue for the share of imports at once. The rest queue here, without a
 * timeout.
 */
const PIECES_AT_ONCE = 2

const MAX_WAIT = "2 seconds"

const RETRY_AFTER_SECONDS = 30

/** An archive has hundreds of jobs and two minutes, where a file or a body has one job and ten seconds. */
const MAX_WAIT_FOR_THREAD = Duration.seconds(30)

const tooMany = new Unavailable({
  message: "Other archives are being imported: try again later",
  details: { retryAfterSeconds: RETRY_AFTER_SECONDS }
})

/** Takes turns with other imports over a piece of work, which is queued without a timeout. Not to be nested. */
export type Turn = <A, E, R>(piece: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * Does a job of `HeavyWork`, in turns with other imports, whose place in the queue for a thread lasts for 30 seconds. Fails
 * as `HeavyWork` does: an import that cannot be checked ends before anything of it is written.
 */
export type RunJob = <I, O>(
  job: HeavyJob<I, O>,
  input: I,
  bytes: number,
  transfer?: ReadonlyArray<Transferable>
) => Effect.Effect<O, Unavailable>

/**
 * Shares the process between imports. A large archive is many pieces of work, and first come is first served for each of
 * them, so that a small one beside it is imported soon. An account imports one archive at a time, so accounts take turns.
 * What runs has the share of imports of `Bulkheads`, beside imports of files.
 */
export const importTurns = Effect.gen(function*() {
  const { imports } = yield* Bulkheads
  const heavy = yield* HeavyWork
  const places = yield* Semaphore.make(MAX_AT_ONCE)
  const pieces = yield* Semaphore.make(PIECES_AT_ONCE)
  const turn: Turn = (piece) => {
    // Only the share may fail here: what the piece itself fails with is no reason to do it again. The share is given to who
    // queues for it in the next turn of the event loop: without a yield an archive's next piece would have it again before.
    const inShare = Effect.eventually(Effect.andThen(Effect.yieldNow, imports(Effect.result(piece))))
    return pieces.withPermits(1)(Effect.flatMap(inShare, Effect.fromResult))
  }
  const run: RunJob = (job, input, bytes, transfer) =>
    pieces.withPermits(1)(Effect.andThen(Effect.yieldNow, heavy.run(job, input, bytes, transfer, MAX_WAIT_FOR_THREAD)))
  return {
    run,
    /** A place among the archives that are worked on, until the scope closes. `Unavailable` when none gets free in time. */
    place: places.takeScoped(1).pipe(
      Effect.timeoutOrElse({ duration: MAX_WAIT, orElse: () => Effect.fail(tooMany) })
    ),
    turn
  }
})
