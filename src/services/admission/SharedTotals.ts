import { Cache, Duration, Effect, Exit, Fiber } from "effect"
import type { SqlError } from "effect/sql"
import { Overloaded } from "../DomainErrors.ts"
import { Lanes, LONGEST_COUNT } from "./Lanes.ts"

const MAX_KEPT = 1000

const late = Effect.suspend(() => Effect.fail(Overloaded.retryAfter("totals", LONGEST_COUNT)))

/**
 * Counts what strangers list, in a share of the connections of its own (`Lanes`): equal counts that run at once are one,
 * and a total is kept since its count began for `keptFor`. Fails with `Overloaded` after a second; a count that runs goes
 * on, for the next one who asks.
 */
export const sharedTotals = Effect.fnUntraced(function*(
  count: (key: string) => Effect.Effect<number, SqlError.SqlError>,
  keptFor: Duration.Duration
) {
  const { totals } = yield* Lanes
  const scope = yield* Effect.scope

  const counts = yield* Cache.makeWith(
    (key: string) => Effect.timed(totals(count(key))),
    {
      capacity: MAX_KEPT,
      timeToLive: (exit) => Exit.isSuccess(exit) ? Duration.subtract(keptFor, exit.value[0]) : Duration.zero
    }
  )

  // Without a fiber that stays, the cache would interrupt the count with the last caller that leaves.
  return (key: string) =>
    Effect.forkIn(Cache.get(counts, key), scope).pipe(
      Effect.flatMap(Fiber.join),
      Effect.timeoutOrElse({ duration: LONGEST_COUNT, orElse: () => late }),
      Effect.map(([, total]) => total)
    )
})
