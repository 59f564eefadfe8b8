import { Config, Duration, Effect, Layer, Option } from "effect"
import { TOMBSTONE_RETENTION } from "../../schema/Change.ts"
import { runSweep, scheduled, sweepAccounts, type Swept, sweptAt } from "../retention/Sweeps.ts"
import { makeSharedTime } from "../time/SharedTime.ts"
import { changeNumbers } from "./ChangeNumbers.ts"

const BATCH = 100

const KEPT_MILLIS = Duration.toMillis(TOMBSTONE_RETENTION)

const LONGEST_SLEEP = Duration.hours(1)

const PENDING = "pending_changes"

const CHANGES = "changes"

/** An account whose changes are numbered or purged. */
const ONE: Swept = { rows: 1, lagMillis: 0 }

/** Numbers the changes of accounts that no client reads, and purges old deletions, an account in a transaction. */
export const changeSweepLayer = Layer.effectDiscard(Effect.gen(function*() {
  const numbers = yield* changeNumbers
  const sharedTime = yield* makeSharedTime

  const numberAll = Effect.flatMap(sharedTime, (now) =>
    sweepAccounts(
      PENDING,
      (skipped) => numbers.pendingAccounts({ skipped, limit: BATCH }),
      (id) => Effect.uninterruptible(Effect.as(numbers.number(id, new Date(now)), ONE))
    ))

  const purgeAll = Effect.flatMap(sharedTime, (now) => {
    const until = new Date(now - KEPT_MILLIS)
    return sweepAccounts(
      CHANGES,
      (skipped) => numbers.purgeableAccounts({ until, skipped, limit: BATCH }),
      (id) =>
        Effect.map(
          Effect.uninterruptible(numbers.purge(id, until)),
          (purged) => ({ ...ONE, lagMillis: sweptAt(now - KEPT_MILLIS, purged).lagMillis })
        )
    )
  })

  yield* scheduled({
    longestSleep: Config.succeed(LONGEST_SLEEP),
    run: Effect.andThen(runSweep(PENDING, numberAll), runSweep(CHANGES, purgeAll)),
    earliestDue: Effect.map(
      numbers.earliestDeletion(),
      ({ earliest }) =>
        Option.map(Option.fromNullishOr(earliest), (deletedAt) => new Date(deletedAt.getTime() + KEPT_MILLIS))
    )
  })
}))
