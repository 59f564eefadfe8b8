import { Effect } from "effect"

const pause = Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 20)))

/**
 * Ends when something is so. What makes it so takes real time, whatever clock the test has: more of it on a busy machine,
 * and no more than the test's timeout.
 */
export const until = <E, R>(condition: Effect.Effect<boolean, E, R>): Effect.Effect<void, E, R> =>
  Effect.flatMap(
    condition,
    (isTrue) => isTrue ? Effect.void : Effect.andThen(pause, Effect.suspend(() => until(condition)))
  )

/** Ends when a query finds nothing any more. */
export const untilNone = <E, R>(query: Effect.Effect<ReadonlyArray<unknown>, E, R>) =>
  until(Effect.map(query, (rows) => rows.length === 0))
