import { Effect, Semaphore } from "effect"
import { Unavailable } from "../../schema/Errors.ts"

/** Archives that are worked on at once. Of each no more is in memory than a line and a batch, some 20 MiB at the most. */
const MAX_AT_ONCE = 8

/** Pieces of work, of all archives, at once: as many connections of the database's pool they use. */
const PIECES_AT_ONCE = 2

const MAX_WAIT = "2 seconds"

const RETRY_AFTER_SECONDS = 30

const tooMany = new Unavailable({
  message: "Other archives are being imported: try again later",
  details: { retryAfterSeconds: RETRY_AFTER_SECONDS }
})

/** Takes turns with other imports over a piece of work. */
export type Turn = <A, E, R>(piece: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * Shares the process between imports. A large archive is many pieces of work, and first come is first served for each of
 * them, so that a small one beside it is imported soon. An account imports one archive at a time, so accounts take turns.
 */
export const importTurns = Effect.gen(function*() {
  const places = yield* Semaphore.make(MAX_AT_ONCE)
  const pieces = yield* Semaphore.make(PIECES_AT_ONCE)
  const turn: Turn = (piece) => pieces.withPermits(1)(piece)
  return {
    /** A place among the archives that are worked on, until the scope closes. `Unavailable` when none gets free in time. */
    place: places.takeScoped(1).pipe(
      Effect.timeoutOrElse({ duration: MAX_WAIT, orElse: () => Effect.fail(tooMany) })
    ),
    turn
  }
})
