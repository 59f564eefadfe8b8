import { Context, Duration, Effect, Layer, type Scope, Semaphore } from "effect"
import type { Transferable } from "node:worker_threads"
import { Overloaded } from "../DomainErrors.ts"
import type { HeavyJob } from "./HeavyJob.ts"
import { HeavyWork } from "./HeavyWork.ts"
import { AT_ONCE, Lanes } from "./Lanes.ts"

const MAX_WAIT = "2 seconds"

const RETRY_AFTER = Duration.seconds(30)

/** An archive has hundreds of jobs and two minutes; a file or a body has one job and ten seconds. */
const MAX_WAIT_FOR_THREAD = Duration.seconds(30)

const tooMany = () => Overloaded.retryAfter("archives", RETRY_AFTER)

/** Runs a piece of work in turn with other imports, queued without a timeout. Must not be nested. */
export type Turn = <A, E, R>(piece: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** Runs a job of `HeavyWork` in turn with other imports, queued for up to 30 seconds. Fails as `HeavyWork` does. */
export type RunJob = <I, O>(
  job: HeavyJob<I, O>,
  input: NoInfer<I>,
  bytes: number,
  transfer?: ReadonlyArray<Transferable>
) => Effect.Effect<O, Overloaded>

/** Pieces of work are queued first in, first out, so that a small archive does not wait for a large one. */
export class ImportTurns extends Context.Service<ImportTurns, {
  readonly run: RunJob
  /** Takes a slot until the scope closes. Fails with `Overloaded` when none is free in time. */
  readonly place: Effect.Effect<void, Overloaded, Scope.Scope>
  readonly turn: Turn
}>()("route-planning-service/ImportTurns") {
  static readonly layer = Layer.effect(
    ImportTurns,
    Effect.gen(function*() {
      const { imports } = yield* Lanes
      const heavy = yield* HeavyWork
      const places = yield* Semaphore.make(AT_ONCE.archives)
      const pieces = yield* Semaphore.make(AT_ONCE.archivePieces)
      return ImportTurns.of({
        run: (job, input, bytes, transfer) =>
          pieces.withPermit(
            Effect.andThen(Effect.yieldNow, heavy.run(job, input, bytes, transfer, MAX_WAIT_FOR_THREAD))
          ),
        place: places.takeScoped(1).pipe(
          Effect.timeoutOrElse({ duration: MAX_WAIT, orElse: () => Effect.fail(tooMany()) })
        ),
        turn: (piece) => {
          // Only a timeout of the share is retried, not a failure of the piece. The permit is passed on in the next
          // turn of the event loop: without a yield the same archive would take it again.
          const inShare = Effect.eventually(Effect.andThen(Effect.yieldNow, imports(Effect.result(piece))))
          return pieces.withPermit(Effect.flatMap(inShare, Effect.fromResult))
        }
      })
    })
  )
}
