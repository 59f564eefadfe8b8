import { Config, Duration, Effect, Layer, Option } from "effect"
import { TOMBSTONE_RETENTION } from "../../schema/Change.ts"
import type { UserId } from "../../schema/Ids.ts"
import { runSweep, scheduled, sweepUntilShort, sweptAt } from "../retention/Sweeps.ts"
import { makeSharedTime } from "../time/SharedTime.ts"
import { changeNumbers } from "./ChangeNumbers.ts"

const BATCH = 100

const KEPT_MILLIS = Duration.toMillis(TOMBSTONE_RETENTION)

const LONGEST_SLEEP = Duration.hours(1)

const sweepAccounts = <E, E2>(
  found: Effect.Effect<ReadonlyArray<{ readonly id: UserId }>, E>,
  sweep: (id: UserId) => Effect.Effect<ReadonlyArray<Date>, E2>,
  now: number
) =>
  sweepUntilShort(
    Effect.flatMap(found, (due) =>
      Effect.map(
        Effect.forEach(due, ({ id }) => Effect.uninterruptible(sweep(id))),
        (swept) => ({
          rows: due.length,
          lagMillis: sweptAt(now - KEPT_MILLIS, swept.flat()).lagMillis
        })
      )),
    BATCH
  )

/** Numbers the changes of accounts that no client reads, and purges old deletions, an account in a transaction. */
export const changeSweepLayer = Layer.effectDiscard(Effect.gen(function*() {
  const numbers = yield* changeNumbers
  const sharedTime = yield* makeSharedTime

  const numberAll = Effect.flatMap(sharedTime, (now) =>
    sweepAccounts(
      numbers.pendingAccounts(BATCH),
      (id) => Effect.as(numbers.number(id, new Date(now)), []),
      now
    ))

  const purgeAll = Effect.flatMap(sharedTime, (now) => {
    const until = new Date(now - KEPT_MILLIS)
    return sweepAccounts(numbers.purgeableAccounts({ until, limit: BATCH }), (id) => numbers.purge(id, until), now)
  })

  yield* scheduled({
    longestSleep: Config.succeed(LONGEST_SLEEP),
    run: Effect.andThen(runSweep("pending_changes", numberAll), runSweep("changes", purgeAll)),
    earliestDue: Effect.map(
      numbers.earliestDeletion(),
      ({ earliest }) =>
        Option.map(Option.fromNullishOr(earliest), (deletedAt) => new Date(deletedAt.getTime() + KEPT_MILLIS))
    )
  })
}))
