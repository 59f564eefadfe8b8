import { Duration, Effect, Option } from "effect"
import { TestClock } from "effect/testing"

const POLL_INTERVAL = Duration.millis(20)

const pause = (interval: Duration.Duration) =>
  Effect.promise(() => new Promise((resolve) => setTimeout(resolve, Duration.toMillis(interval))))

/** Ends when a condition is true. It waits in real time, whatever clock the test has, until the test's timeout. */
export const until = <E, R>(
  condition: Effect.Effect<boolean, E, R>,
  interval = POLL_INTERVAL
): Effect.Effect<void, E, R> =>
  Effect.flatMap(
    condition,
    (isTrue) => isTrue ? Effect.void : Effect.andThen(pause(interval), Effect.suspend(() => until(condition, interval)))
  )

/**
 * Ends when a sweep has made a condition true. A sweep that finds a row locked, or whose connection times out because
 * the clock advances while it opens, returns after a minute, which does not pass by itself.
 */
export const untilSwept = <E, R>(condition: Effect.Effect<boolean, E, R>) =>
  until(Effect.andThen(TestClock.adjust("1 minute"), condition))

/** Repeats a call until its value is as wanted, and returns that. */
export const untilFound = <A, E, R>(call: Effect.Effect<A, E, R>, isWanted: (value: A) => boolean) =>
  Effect.suspend(() => {
    const found: { value: Option.Option<A> } = { value: Option.none() }
    const condition = Effect.map(call, (value) => {
      found.value = Option.liftPredicate(value, isWanted)
      return Option.isSome(found.value)
    })
    return Effect.flatMap(until(condition), () => Effect.orDie(Effect.fromOption(found.value)))
  })

/** Returns the response to one of many calls at once, and repeats it if a busy machine refuses it with 503. */
export const served = <A extends { readonly status: number }, E, R>(call: Effect.Effect<A, E, R>) =>
  untilFound(call, ({ status }) => status !== 503)

/** Ends when a query finds nothing any more. */
export const untilNone = <E, R>(query: Effect.Effect<ReadonlyArray<unknown>, E, R>) =>
  until(Effect.map(query, (rows) => rows.length === 0))

/** Ends when a sweep has left nothing that a query finds. */
export const untilNoneSwept = <E, R>(query: Effect.Effect<ReadonlyArray<unknown>, E, R>) =>
  untilSwept(Effect.map(query, (rows) => rows.length === 0))

/**
 * Dies if the work takes longer. The time is counted in short timers one after the other, which a busy machine delays
 * as it delays the work: so the time grows with the load of the machine.
 */
export const within = (milliseconds: number) => <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.raceFirst(
    work,
    pause(POLL_INTERVAL).pipe(
      Effect.repeat({ times: Math.ceil(milliseconds / Duration.toMillis(POLL_INTERVAL)) - 1 }),
      Effect.andThen(Effect.die(new Error(`not within ${milliseconds} ms`)))
    )
  )
