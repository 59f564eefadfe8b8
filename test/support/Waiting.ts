import { Effect } from "effect"

const pause = Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 20)))

/**
 * Ends when a query finds nothing any more. What empties it takes real time, whatever clock the test has: more of it on a
 * busy machine, and no more than the test's timeout.
 */
export const untilNone = <E, R>(query: Effect.Effect<ReadonlyArray<unknown>, E, R>): Effect.Effect<void, E, R> =>
  Effect.flatMap(
    query,
    (rows) => rows.length === 0 ? Effect.void : Effect.andThen(pause, Effect.suspend(() => untilNone(query)))
  )
