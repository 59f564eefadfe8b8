import { Clock, Duration, Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"

/** A clock that is off by more than this is one that somebody has set, and is believed. */
const MAX_SKEW = Duration.hours(1)

/**
 * The time by which what was deleted is erased, in milliseconds, the same for all processes of a database: its own clock, so
 * that a process whose clock is ahead erases nothing early, and one whose clock is behind does not date a deletion back.
 */
export const makeSharedTime = Effect.map(SqlClient.SqlClient, (sql) => {
  const find = SqlSchema.findOne({
    Request: Schema.Void,
    Result: Schema.Struct({ now: Schema.Date }),
    execute: () => sql`SELECT date_trunc('milliseconds', clock_timestamp()) AS now`
  })
  return find().pipe(
    Effect.zipWith(Clock.currentTimeMillis, ({ now }, own) => {
      const shared = now.getTime()
      return Math.abs(shared - own) < Duration.toMillis(MAX_SKEW) ? shared : own
    }),
    Effect.orDie
  )
})
